/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_who_facts.h"

#include <string.h>

#include "perfdata/record_put.h"

/* The body: magic, u32 kind, u32 bytes of an entry, entries. A later version may lengthen entries
 * and add kinds. */
static const char magic[8] = "CLEWWHO";

enum kind { RECORDER = 1, ENABLED = 2, TASKS = 3 };

enum {
	RECORDER_BYTES = 32,
	ENABLED_BYTES = 16,
	TASK_BYTES = 24,
	TOTALS_BYTES = 8,      /* before the entries of TASKS */
	ENTRIES_BYTES = 65000, /* in one record */
	/* More threads than a kernel has ids, more CPUs than any. */
	MAX_TASKS = 1 << 22,
	MAX_ENABLED = 1 << 16,
};

static enum clew_err take_recorder(struct perf_who_facts *f, struct bytes b, bool swap)
{
	uint32_t recorder = load_u32(b.pos, swap), proc = load_u32(b.pos + 4, swap),
		 ids = load_u32(b.pos + 8, swap);

	if (recorder > PERF_WHO_NAMESPACE_OTHER || proc > PERF_WHO_NAMESPACE_OTHER ||
	    ids > PERF_WHO_PROCFS_OMITTED)
		return CLEW_BAD_FILE;
	f->has_recorder = true;
	f->recorder = (enum perf_who_namespace)recorder;
	f->proc = (enum perf_who_namespace)proc;
	f->ids = (enum perf_who_procfs)ids;
	f->recorder_local = load_u32(b.pos + 12, swap);
	f->recorder_procfs = load_u32(b.pos + 16, swap);
	f->pid_ns = load_u64(b.pos + 24, swap);
	return CLEW_OK;
}

static enum clew_err take_enabled(struct perf_who_facts *f, struct bytes b, uint32_t entry_bytes,
				  bool swap)
{
	for (struct bytes e; bytes_take(&b, entry_bytes, &e);) {
		struct perf_who_enabled one = {load_u32(e.pos, swap), load_u64(e.pos + 8, swap)};

		if (f->enabled.nr >= MAX_ENABLED)
			return CLEW_BAD_FILE;
		if (!vec_push(&f->enabled, one))
			return CLEW_NO_MEMORY;
	}
	return bytes_left(&b) ? CLEW_BAD_FILE : CLEW_OK;
}

static enum clew_err take_tasks(struct perf_who_facts *f, struct bytes b, uint32_t entry_bytes,
				bool swap)
{
	if (!bytes_u32(&b, swap, &f->nr_translated) || !bytes_u32(&b, swap, &f->nr_omitted))
		return CLEW_BAD_FILE;
	for (struct bytes e; bytes_take(&b, entry_bytes, &e);) {
		struct perf_who_task one = {load_u32(e.pos, swap), load_u32(e.pos + 4, swap),
					    load_u32(e.pos + 8, swap), load_u32(e.pos + 12, swap),
					    load_u64(e.pos + 16, swap)};

		if (f->tasks.nr >= MAX_TASKS)
			return CLEW_BAD_FILE;
		if (!vec_push(&f->tasks, one))
			return CLEW_NO_MEMORY;
	}
	return bytes_left(&b) ? CLEW_BAD_FILE : CLEW_OK;
}

enum clew_err perf_who_facts_take(struct perf_who_facts *f, const struct perf_record *r)
{
	struct bytes b = perf_record_body(r), word;
	uint32_t kind, entry_bytes;

	if (r->type != PERF_RECORD_HEADER_EVENT_TYPE || !bytes_take(&b, sizeof(magic), &word) ||
	    memcmp(word.pos, magic, sizeof(magic)) != 0)
		return CLEW_END;
	if (!bytes_u32(&b, r->swap, &kind) || !bytes_u32(&b, r->swap, &entry_bytes))
		return CLEW_BAD_FILE;
	switch (kind) {
	case RECORDER:
		return entry_bytes < RECORDER_BYTES || bytes_left(&b) < RECORDER_BYTES
			     ? CLEW_BAD_FILE
			     : take_recorder(f, b, r->swap);
	case ENABLED:
		return entry_bytes < ENABLED_BYTES ? CLEW_BAD_FILE
						   : take_enabled(f, b, entry_bytes, r->swap);
	case TASKS:
		return entry_bytes < TASK_BYTES ? CLEW_BAD_FILE
						: take_tasks(f, b, entry_bytes, r->swap);
	default:
		return CLEW_UNSUPPORTED;
	}
}

uint32_t perf_who_facts_root(const struct perf_who_facts *f, uint32_t local)
{
	if (!f->has_recorder || !local)
		return 0;
	if (f->recorder == PERF_WHO_NAMESPACE_INITIAL)
		return local;
	if (f->proc != PERF_WHO_NAMESPACE_INITIAL)
		return 0;
	vec_for_each (&f->tasks, t)
		if (t->local == local)
			return t->procfs;
	return 0;
}

void perf_who_facts_done(struct perf_who_facts *f)
{
	vec_done(&f->tasks);
	vec_done(&f->enabled);
}

/* @return where the record starts. */
static size_t begin(struct buf *b, enum kind kind, uint32_t entry_bytes)
{
	size_t at = perf_record_begin(b, PERF_RECORD_HEADER_EVENT_TYPE, 0);

	buf_add(b, magic, sizeof(magic));
	buf_u32(b, kind);
	buf_u32(b, entry_bytes);
	return at;
}

void perf_put_who_recorder(struct buf *b, const struct perf_who_facts *f)
{
	size_t at = begin(b, RECORDER, RECORDER_BYTES);

	buf_u32(b, f->recorder);
	buf_u32(b, f->proc);
	buf_u32(b, f->ids);
	buf_u32(b, f->recorder_local);
	buf_u32(b, f->recorder_procfs);
	buf_u32(b, 0);
	buf_u64(b, f->pid_ns);
	perf_record_end(b, at);
}

void perf_put_who_enabled(struct buf *b, const struct perf_who_enabled *e, size_t nr)
{
	for (size_t i = 0; i < nr;) {
		size_t at = begin(b, ENABLED, ENABLED_BYTES),
		       to = i + ENTRIES_BYTES / ENABLED_BYTES;

		for (; i < nr && i < to; i++) {
			buf_u32(b, e[i].cpu);
			buf_u32(b, 0);
			buf_u64(b, e[i].ns);
		}
		perf_record_end(b, at);
	}
}

static void put_task(struct buf *b, const struct perf_who_task *t)
{
	buf_u32(b, t->procfs);
	buf_u32(b, t->local);
	buf_u32(b, t->inner);
	buf_u32(b, t->depth);
	buf_u64(b, t->pid_ns);
}

void perf_put_who_tasks(struct buf *b, const struct perf_who_facts *f)
{
	size_t i = 0;

	do {
		size_t at = begin(b, TASKS, TASK_BYTES),
		       to = i + (ENTRIES_BYTES - TOTALS_BYTES) / TASK_BYTES;

		buf_u32(b, f->nr_translated);
		buf_u32(b, f->nr_omitted);
		for (; i < f->tasks.nr && i < to; i++)
			put_task(b, &f->tasks.data[i]);
		perf_record_end(b, at);
	} while (i < f->tasks.nr);
}
