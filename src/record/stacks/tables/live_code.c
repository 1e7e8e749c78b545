/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/live_code.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "os/file.h"
#include "os/file_time.h"
#include "os/proc.h"
#include "os/proc_map.h"
#include "record/running/file_build_id.h"

enum {
	PATH_BYTES = 4096 + 64,
	MAX_IMAGE = 256 * 1024 * 1024, /* of a file put together from memory */
	CHUNK = 64 * 1024,
};

bool live_code_is_anonymous(const char *name)
{
	return (name[0] == '[' && strcmp(name, "[vdso]") != 0) || !strncmp(name, "//anon", 6) ||
	       !strncmp(name, "/dev/zero", 9) || !strncmp(name, "anon_inode:", 11) || !name[0];
}

static bool is_same_file(const char *path, const struct live_mapping *m)
{
	struct os_file_id id;
	uint8_t build_id[20];

	if (m->build_id)
		return rec_file_build_id(path, build_id) == m->nr_build_id &&
		       !memcmp(build_id, m->build_id, m->nr_build_id);
	return !os_file_id(path, &id) && m->ino && id.ino == m->ino;
}

static bool may_be_it(const char *path, const struct live_mapping *m)
{
	struct os_file_identity id;

	if (!m->mtime_ns)
		return os_exists(path);
	return !os_file_identity(path, &id) && id.size == m->size && id.mtime_ns == m->mtime_ns;
}

/* Opened once: /proc/PID/map_files may come to mean another file, and then this one again. */
static const struct unw_code *by_path(struct unw_store *store, const char *path,
				      const struct live_mapping *m)
{
	const struct unw_code *code = NULL;
	int fd = os_open_regular(path);
	char opened[64];

	if (fd < 0)
		return NULL;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	if (may_be_it(opened, m))
		code = unw_store_get_file(store, opened);
	os_close(fd);
	return code;
}

/* The file's bytes as far as this process has them mapped, at their offsets: program headers and
 * what they point to are, section headers mostly not. */
struct image {
	struct buf bytes;
	int fd;
};

static void add_mapped(struct image *i, const struct proc_map *map)
{
	uint64_t size = map->end - map->start;

	if (map->end < map->start || !range_fits(map->offset, size, MAX_IMAGE))
		return;
	if (i->bytes.nr < map->offset + size)
		buf_fill(&i->bytes, '\0', map->offset + size - i->bytes.nr);
	if (i->bytes.is_failed)
		return;
	for (uint64_t at = 0; at < size; at += CHUNK) {
		size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

		os_read_at(i->fd, i->bytes.data + map->offset + at, n, map->start + at);
	}
}

static void gather(struct image *i, const struct live_mapping *m, struct buf *text)
{
	size_t len = strlen(m->name);
	const char *at = buf_cstr(text);
	struct proc_map map;

	while (proc_map_next(&at, &map))
		if (map.prot & PROC_MAP_R && !(map.prot & PROC_MAP_W) && map.name_bytes == len &&
		    !memcmp(map.name, m->name, len))
			add_mapped(i, &map);
}

static const struct unw_code *from_memory(struct unw_store *store, const struct live_mapping *m)
{
	const struct unw_code *code = NULL;
	struct buf text = {0};
	struct image i = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/mem", os_proc_living(m->pid));
	i.fd = os_open_read(path);
	if (i.fd >= 0 && proc_maps_read(m->pid, &text))
		gather(&i, m, &text);
	if (i.bytes.nr > 4 && !memcmp(i.bytes.data, "\177ELF", 4))
		code = unw_store_get_copy(store, i.bytes.data, i.bytes.nr);
	os_close(i.fd);
	buf_done(&text);
	buf_done(&i.bytes);
	return code;
}

const struct unw_code *live_code_find(struct unw_store *store, const struct live_mapping *m)
{
	const struct unw_code *code;
	char path[PATH_BYTES];
	bool is_other;

	if (!strcmp(m->name, "[vdso]"))
		return unw_store_get_vdso(store);
	if (live_code_is_anonymous(m->name))
		return NULL;
	proc_map_file(path, m->pid, m->start, m->end);
	code = by_path(store, path, m);
	if (code)
		return code;
	is_other = os_exists(path);
	snprintf(path, sizeof(path), "/proc/%u/root%s", m->pid, m->name);
	if (m->name[0] == '/' && is_same_file(path, m) && (code = by_path(store, path, m)))
		return code;
	if (m->name[0] == '/' && is_same_file(m->name, m) && (code = by_path(store, m->name, m)))
		return code;
	/* What memory holds now says nothing of a file that must be a certain one. */
	return m->mtime_ns && is_other ? NULL : from_memory(store, m);
}

/* The line of the mapping that holds m->start. */
static bool find_line(struct buf *text, const struct live_mapping *m, struct proc_map *ret)
{
	const char *at = buf_cstr(text);

	while (proc_map_next(&at, ret))
		if (ret->start <= m->start && m->start < ret->end)
			return true;
	return false;
}

const struct unw_code *live_code_of_mapping(struct unw_store *store, const struct live_mapping *m)
{
	const struct unw_code *code = NULL;
	struct live_mapping named = *m;
	char path[PATH_BYTES], name[4096];
	struct proc_map line;
	struct buf text = {0};

	proc_map_file(path, m->pid, m->start, m->end);
	code = by_path(store, path, m);
	if (code)
		return code;
	if (proc_maps_read(m->pid, &text) && find_line(&text, m, &line) &&
	    line.name_bytes < sizeof(name)) {
		memcpy(name, line.name, line.name_bytes);
		name[line.name_bytes] = '\0';
		named.name = name;
		named.ino = line.ino;
		named.start = line.start;
		named.end = line.end;
		code = live_code_find(store, &named);
	}
	buf_done(&text);
	return code;
}
