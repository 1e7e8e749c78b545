/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "image/dso_priv.h"
#include "os/caps.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/proc_map.h"

enum { MAX_TRIES = 16384 }; /* of a store: a recording may name any number of files */

static const char deleted[] = " (deleted)"; /* the kernel adds it to the path */

bool dso_is_deleted(const struct dso *d)
{
	size_t len = strlen(d->path), suffix_bytes = sizeof(deleted) - 1;

	return len > suffix_bytes && !strcmp(d->path + len - suffix_bytes, deleted);
}

/** Not of another machine, nor where all files are said to lie in another place. */
static bool may_ask_process(const struct dso *d)
{
	const struct dso_store_opts *o = &d->store->opts;

	return d->pid && !d->guest && !o->no_proc_root && !(o->symfs && o->symfs[0]);
}

/** A kernel thread, or one that has ended: not what a recording without namespaces is of. */
static bool has_no_memory(uint32_t pid)
{
	clew_auto(buf_done) struct buf text = {0};

	return !proc_maps_read(pid, &text) || !text.nr;
}

static enum dso_where find_out(const struct dso *d)
{
	const struct dso_store *s = d->store;
	uint64_t now;

	if (!may_ask_process(d))
		return DSO_HERE;
	now = os_mnt_ns(d->pid);
	if (!now || (d->mnt_ns_ino && d->mnt_ns_ino != now)) /* or another has its pid by now */
		return d->mnt_ns_ino && d->mnt_ns_ino != s->own_mnt_ns ? DSO_ELSEWHERE_ENDED
								       : DSO_HERE;
	if (now == s->own_mnt_ns && os_is_own_root(d->pid))
		return DSO_HERE;
	if (!d->mnt_ns_ino && has_no_memory(d->pid))
		return DSO_HERE;
	return os_has_openat2() ? DSO_ELSEWHERE : DSO_ELSEWHERE_CLOSED;
}

enum dso_where dso_where(struct dso *d)
{
	if (d->where == DSO_WHERE_UNKNOWN)
		d->where = find_out(d);
	return d->where;
}

void dso_proc_root(struct dso *d, struct buf *ret)
{
	if (dso_where(d) == DSO_ELSEWHERE)
		buf_printf(ret, "/proc/%u/root", d->pid);
}

static bool is_inode_of(const struct proc_map *m, const struct dso *d)
{
	return d->ino && m->ino == d->ino && m->maj == d->maj && m->min == d->min;
}

bool dso_is_mapped_file(const struct dso *d, const struct dso_file *f)
{
	clew_auto(buf_done) struct buf text = {0};
	struct proc_map m;

	if (!d->ino || !f->map.data || !proc_maps_read((uint32_t)os_pid(), &text))
		return false;
	for (const char *at = buf_cstr(&text); proc_map_next(&at, &m);) {
		if (m.start == (uintptr_t)f->map.data)
			return is_inode_of(&m, d);
	}
	return false;
}

static bool has_name(const struct proc_map *m, const struct dso *d)
{
	size_t len = strlen(d->path), more = m->name_bytes - len;

	if (m->name_bytes < len || memcmp(m->name, d->path, len) != 0)
		return false;
	return !more || (more == sizeof(deleted) - 1 && !memcmp(m->name + len, deleted, more));
}

/** By inode, if the recording has it; else a build id has to prove it, and a name says where to
 * look first: a renamed directory changes it. */
static bool may_be_mapping_of(const struct proc_map *m, const struct dso *d, bool by_name)
{
	if (!m->ino || d->ino)
		return is_inode_of(m, d);
	if (by_name)
		return has_name(m, d);
	return d->build_id.size && m->prot & PROC_MAP_X;
}

static bool open_mapping(const struct dso *d, const struct proc_map *m, struct dso_file *ret)
{
	char path[PROC_MAP_FILE_BYTES];
	struct dso_build_id id;

	proc_map_file(path, d->pid, m->start, m->end);
	if (dso_file_open(ret, path))
		return false;
	id = dso_file_build_id(ret);
	if (!d->build_id.size || dso_same_build_id(&id, &d->build_id))
		return true;
	dso_file_done(ret);
	return false;
}

static bool search_maps(const struct dso *d, const char *maps, bool by_name, struct dso_file *ret)
{
	struct dso_store *s = d->store;
	struct proc_map m;

	while (proc_map_next(&maps, &m) && s->nr_tries < MAX_TRIES) {
		if (!may_be_mapping_of(&m, d, by_name))
			continue;
		s->nr_tries++;
		if (open_mapping(d, &m, ret))
			return true;
	}
	return false;
}

bool dso_file_open_mapped(struct dso_file *ret, struct dso *d)
{
	clew_auto(buf_done) struct buf text = {0};

	if (!may_ask_process(d) || dso_where(d) == DSO_ELSEWHERE_ENDED ||
	    d->store->nr_tries++ >= MAX_TRIES || !proc_maps_read(d->pid, &text))
		return false;
	return search_maps(d, buf_cstr(&text), true, ret) ||
	       search_maps(d, buf_cstr(&text), false, ret);
}

uint32_t dso_jit_owner(const struct dso *d)
{
	uint32_t uid;

	if (d->store->opts.force)
		return OS_ANY_OWNER;
	return d->pid && !d->store->opts.no_proc_root && os_process_uid((int)d->pid, &uid) ? uid
											   : 0;
}
