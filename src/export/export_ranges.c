/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/export_tables.h"

/* Where binaries were mapped, and which of them is the program. */

/* The program is what the first process that calls exec() maps first: the kernel maps it before its
 * loader. */
static void note_main(struct export_tables *t, const struct perf_mmap *m, uint32_t path)
{
	if (!t->exec_pid || m->pid != t->exec_pid || t->main_path)
		return;
	t->main_path = path;
}

static enum clew_err take_mmap(struct export_tables *t, const struct perf_mmap *m)
{
	struct export_range r = {m->start, m->start + m->len, m->pgoff};
	uint32_t path;

	if (m->is_data || !m->len || r.end < r.start || m->pid == UINT32_MAX)
		return CLEW_OK; /* pid: the kernel's own */
	path = export_text_add(t, m->filename);
	if (path == EXPORT_NONE)
		return CLEW_NO_MEMORY;
	note_main(t, m, path);
	if (map_u64_get(&t->range_of, path))
		return CLEW_OK;
	return map_u64_put(&t->range_of, path, t->ranges.nr) && vec_push(&t->ranges, r)
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

enum clew_err export_take_record(struct export_tables *t, const struct perf_record *r)
{
	struct perf_mmap m;
	struct perf_comm c;

	if (r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2)
		return perf_mmap_parse(r, &m) == CLEW_OK ? take_mmap(t, &m) : CLEW_OK;
	if (r->type == PERF_RECORD_COMM && !t->exec_pid && perf_comm_parse(r, &c) == CLEW_OK &&
	    c.is_exec)
		t->exec_pid = c.pid;
	return CLEW_OK;
}

void export_set_ranges(struct export_tables *t)
{
	vec_for_each (&t->binaries, b) {
		enum dso_kind kind = dso_kind(b->dso);
		uint64_t *at = map_u64_get(&t->range_of, b->path);

		/* Elsewhere an address is that at run time. */
		if (!at || (kind != DSO_USER && kind != DSO_VDSO))
			continue;
		b->has_range = true;
		b->range = t->ranges.data[*at];
	}
}

uint32_t export_main_binary(const struct export_tables *t)
{
	uint32_t most = EXPORT_NONE;

	for (uint32_t i = 0; i < t->binaries.nr; i++) {
		const struct export_binary *b = &t->binaries.data[i];

		if (t->main_path && b->path == t->main_path)
			return i;
		if (most == EXPORT_NONE || b->nr > t->binaries.data[most].nr)
			most = i;
	}
	return most;
}
