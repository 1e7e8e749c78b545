/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "image/dso_priv.h"

bool dso_build_id_path(const char *prefix, const struct dso_build_id *id, const char *tail,
		       struct buf *ret)
{
	if (!prefix || id->size < 2)
		return false;
	buf_printf(ret, "%s/.build-id/%02x/", prefix, id->bytes[0]);
	for (size_t i = 1; i < id->size; i++)
		buf_printf(ret, "%02x", id->bytes[i]);
	buf_str(ret, tail);
	return true;
}

static const char *or_default(const char *s, const char *otherwise)
{
	return s ? s : otherwise;
}

/** The directory part of the dso's path, its last slash included. */
static int dir_bytes(const struct dso *d)
{
	const char *slash = strrchr(d->path, '/');

	return slash ? (int)(slash - d->path) + 1 : 0;
}

void dso_take_debuglink(struct dso *d, const struct dso_file *f)
{
	const char *name;

	d->link_name = NULL;
	if (elf_file_debuglink(&f->elf, &name, &d->link_crc) && !strchr(name, '/'))
		d->link_name = dso_keep(d->store, name);
}

static bool no_usr_path(struct dso *d, const char *root, const char *symfs, const char *debug_dir,
			struct buf *ret)
{
	if (strncmp(d->path, "/usr/", 5) != 0)
		return false;
	buf_printf(ret, "%s%s%s%s", root, symfs, debug_dir, d->path + 4);
	return true;
}

bool dso_place_path(struct dso *d, enum dso_place place, const char *root,
		    const struct dso_build_id *id, struct buf *ret)
{
	const struct dso_store_opts *o = &d->store->opts;
	const char *symfs = or_default(d->guest && o->guest_mount ? o->guest_mount : o->symfs, "");
	const char *debug_dir = or_default(o->debug_dir, "/usr/lib/debug");
	int dir = dir_bytes(d);

	switch (place) {
	case DSO_AT_DEBUGLINK:
	case DSO_AT_DEBUGLINK_SUBDIR:
	case DSO_AT_DEBUGLINK_DEBUG:
		buf_printf(ret, "%s%s%s%.*s%s%s", root, symfs,
			   place == DSO_AT_DEBUGLINK_DEBUG ? debug_dir : "", dir, d->path,
			   place == DSO_AT_DEBUGLINK_SUBDIR ? ".debug/" : "",
			   d->link_name ? d->link_name : "");
		return d->link_name;
	case DSO_AT_CACHE:
		return dso_build_id_path(o->buildid_dir, id, "/elf", ret);
	case DSO_AT_CACHE_DEBUG:
		return dso_build_id_path(o->buildid_dir, id, "/debug", ret);
	case DSO_AT_DEBUG_PATH:
		buf_printf(ret, "%s%s%s%s.debug", root, symfs, debug_dir, d->path);
		return true;
	case DSO_AT_DEBUG_PATH_PLAIN:
		buf_printf(ret, "%s%s%s%s", root, symfs, debug_dir, d->path);
		return true;
	case DSO_AT_BUILD_ID:
		buf_printf(ret, "%s%s", root, symfs);
		return dso_build_id_path(debug_dir, id, ".debug", ret);
	case DSO_AT_ITSELF:
		buf_printf(ret, "%s%s%s", root, symfs, d->path);
		return true;
	case DSO_AT_SUBDIR:
		buf_printf(ret, "%s%s%.*s.debug/%s", root, symfs, dir, d->path, d->path + dir);
		return true;
	case DSO_AT_DEBUG_PATH_NO_USR:
		return no_usr_path(d, root, symfs, debug_dir, ret);
	case DSO_NR_PLACES:
		break;
	}
	return false;
}
