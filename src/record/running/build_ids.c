/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/build_ids.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "elf/elf_file.h"
#include "os/pid_view.h"
#include "os/proc.h"
#include "os/proc_map.h"
#include "perfdata/perf_features_write.h"
#include "record/running/file_build_id.h"

static const char kernel_notes[] = "/sys/kernel/notes", kernel_name[] = "[kernel.kallsyms]";

enum { MAX_ID = 20, NOTES_LIMIT = 1 << 20, PATH_BYTES = 4096 + 64 };

void rec_build_ids_add(struct rec_build_ids *b, bool is_kernel, const uint8_t *id, size_t id_bytes,
		       const char *filename)
{
	uint64_t key = hash_two(hash_bytes(id, id_bytes), hash_bytes(filename, strlen(filename)));

	if (map_u64_get(&b->seen, key) || !map_u64_put(&b->seen, key, 1))
		return;
	perf_put_build_id(&b->section, 0, is_kernel, -1, id, id_bytes, filename);
	b->nr++;
}

static bool is_file_of(const char *path, const struct perf_mmap *m)
{
	struct os_file_id id;

	return m->ino && !os_file_id(path, &id) && id.ino == m->ino && id.maj == m->maj &&
	       id.min == m->min;
}

/** Where others see other files than we do, a name says little: what is mapped, else the file of
 * that device and inode. */
static size_t find_id(const struct perf_mmap *m, uint8_t ret[MAX_ID])
{
	uint32_t procfs = os_pid_procfs(m->pid);
	char path[PATH_BYTES];
	size_t n;

	proc_map_file(path, procfs, m->start, m->start + m->len);
	n = rec_file_build_id(path, ret);
	if (n)
		return n;
	snprintf(path, sizeof(path), "/proc/%u/root%s", procfs, m->filename);
	if (is_file_of(path, m))
		return rec_file_build_id(path, ret);
	return is_file_of(m->filename, m) ? rec_file_build_id(m->filename, ret) : 0;
}

void rec_build_ids_add_mapped(struct rec_build_ids *b, const struct perf_mmap *m)
{
	uint64_t inode = hash_two(m->ino, (uint64_t)m->maj << 32 | m->min);
	uint64_t key = hash_two(hash_bytes(m->filename, strlen(m->filename)), inode);
	uint8_t id[MAX_ID];
	size_t n;

	if (map_u64_get(&b->seen, key) || !map_u64_put(&b->seen, key, 1))
		return;
	n = find_id(m, id);
	if (n)
		rec_build_ids_add(b, false, id, n, m->filename);
}

static size_t read_notes_file(const char *path, uint8_t ret[MAX_ID])
{
	struct buf notes = {0};
	size_t n = 0;

	if (os_read_into(path, NOTES_LIMIT, &notes) > 0)
		n = elf_notes_build_id(bytes_of(notes.data, notes.nr), false, ret);
	buf_done(&notes);
	return n;
}

static void add_notes_file(struct rec_build_ids *b, const char *path, const char *name)
{
	uint8_t id[MAX_ID];
	size_t n = read_notes_file(path, id);

	if (n)
		rec_build_ids_add(b, true, id, n, name);
}

void rec_put_kernel_build_id(struct buf *b)
{
	uint8_t id[MAX_ID];
	size_t n = read_notes_file(kernel_notes, id);

	if (n)
		perf_put_build_id(b, PERF_RECORD_HEADER_BUILD_ID, true, -1, id, n, kernel_name);
}

void rec_build_ids_add_kernel(struct rec_build_ids *b)
{
	struct os_dir *d = os_dir_open("/sys/module", NULL);
	const char *module;

	add_notes_file(b, kernel_notes, kernel_name);
	while (d && (module = os_dir_next(d))) {
		char path[512], name[300];

		/* Built-in modules have a directory too, but no notes. */
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
		snprintf(name, sizeof(name), "[%s]", module);
		add_notes_file(b, path, name);
	}
	os_dir_close(d);
}

void rec_build_ids_add_vdso(struct rec_build_ids *b)
{
	const void *elf;
	size_t size, n;
	uint8_t id[MAX_ID];

	if (!os_own_vdso(&elf, &size))
		return;
	n = rec_elf_build_id(elf, size, id);
	if (n)
		rec_build_ids_add(b, false, id, n, "[vdso]");
}

void rec_build_ids_done(struct rec_build_ids *b)
{
	map_u64_done(&b->seen);
	buf_done(&b->section);
}
