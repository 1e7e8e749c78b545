/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/dso_priv.h"

/*
 * Without a build id in the recording: device, inode and its generation say which file was mapped,
 * and a file that was changed after the recording ended is no longer that one. All of it compares
 * on one machine only, and in the folder that the process itself saw.
 */

/** Files elsewhere were copied: inodes and times are those of the copy. */
static const char *why_incomparable(const struct dso *d)
{
	const struct dso_store_opts *o = &d->store->opts;

	if (d->guest)
		return "no build id was recorded, and inodes of a guest do not compare";
	if (o->symfs && o->symfs[0])
		return "no build id was recorded, and below --symfs are other inodes";
	if (o->no_proc_root || (d->store->host.is_known && !d->store->host.is_same))
		return "no build id was recorded, and the inode is of another machine";
	return NULL;
}

static bool is_device(const struct dso *d, const struct os_file_node *n)
{
	return n->maj == d->maj && n->min == d->min;
}

static bool is_inode(const struct dso *d, const struct os_file_node *n)
{
	return n->ino == d->ino && is_device(d, n);
}

/** stat(2) may say something else than the kernel's records: mapped, the file has what they have.
 */
static bool is_inode_when_mapped(const struct dso *d, const char *path)
{
	clew_auto(dso_file_done) struct dso_file f = {0};

	return !dso_file_open(&f, path) && dso_is_mapped_file(d, &f);
}

static bool is_other_generation(const struct dso *d, const struct os_file_node *n)
{
	return d->ino_generation && n->has_generation && n->generation != d->ino_generation;
}

enum dso_identity dso_identify(struct dso *d, const char *path, const char **ret_why)
{
	uint64_t until = d->store->opts.recorded_ns;
	struct os_file_node n;

	*ret_why = why_incomparable(d);
	if (*ret_why || os_file_node(path, &n))
		return DSO_IS_UNCHECKED;
	*ret_why = "the file was changed after it was recorded";
	if (until && n.mtime_ns > until)
		return DSO_IS_OTHER;
	*ret_why = "neither a build id nor an inode was recorded";
	if (!d->ino)
		return DSO_IS_UNCHECKED;
	if (!is_inode(d, &n)) {
		*ret_why = "no build id was recorded, and its file system has other inodes in "
			   "records";
		if (is_inode_when_mapped(d, path))
			return DSO_IS_RECORDED;
		if (n.has_other_dev)
			return DSO_IS_UNCHECKED;
		*ret_why = "no build id was recorded, its inode is on another device, and the "
			   "recording does not name its machine";
		if (!d->store->host.is_known && !is_device(d, &n))
			return DSO_IS_UNCHECKED;
		*ret_why = "another file than the recorded one: its inode differs";
		return DSO_IS_OTHER;
	}
	*ret_why = "another file than the recorded one: its inode was used again";
	return is_other_generation(d, &n) ? DSO_IS_OTHER : DSO_IS_RECORDED;
}
