/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/proc.h"
#include "record/running/sideband.h"

enum { TEXT_LIMIT = 64 * 1024 * 1024, NAME_MAX_BYTES = 4096 };

static void add_kernel_map(struct rec_sideband *s, uint64_t start, uint64_t len, uint64_t pgoff,
			   const char *name)
{
	size_t at = rec_sideband_begin(s, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	rec_sideband_u32(s, PERF_NO_TASK);
	rec_sideband_u32(s, 0);
	rec_sideband_u64(s, start);
	rec_sideband_u64(s, len);
	rec_sideband_u64(s, pgoff);
	rec_sideband_text(s, name, strlen(name));
	rec_sideband_end(s, at, PERF_NO_TASK, 0);
}

/* Address of the first symbol of that name; 0: hidden (kptr_restrict) or missing. */
static uint64_t find_symbol(const char *kallsyms, const char *name)
{
	size_t len = strlen(name);
	const char *at = kallsyms;

	while ((at = strstr(at, name))) {
		const char *line = at;

		while (line > kallsyms && line[-1] != '\n')
			line--;
		if (at[-1] == ' ' && (at[len] == '\n' || at[len] == '\0'))
			return strtoull(line, NULL, 16);
		at += len;
	}
	return 0;
}

/* "name size uses by state address": one line of /proc/modules. */
static void add_module(struct rec_sideband *s, const char *line)
{
	char name[128], path[512];
	unsigned long long size, addr;

	if (sscanf(line, "%100s %llu %*s %*s %*s 0x%llx", name, &size, &addr) != 3 || !addr)
		return;
	snprintf(path, sizeof(path), "[%s]", name);
	add_kernel_map(s, addr, size, 0, path);
}

static void add_modules(struct rec_sideband *s)
{
	const char *line, *end;

	buf_clear(&s->text);
	if (os_read_into("/proc/modules", TEXT_LIMIT, &s->text) <= 0)
		return;
	for (line = buf_cstr(&s->text); (end = strchr(line, '\n')); line = end + 1)
		add_module(s, line);
}

void rec_sideband_kernel(struct rec_sideband *s)
{
	const char *reference = "_text", *kallsyms;
	uint64_t start, end;
	char name[64];

	if (!s->options->no_build_ids)
		rec_put_kernel_build_id(&s->out);
	buf_clear(&s->text);
	if (os_read_into("/proc/kallsyms", TEXT_LIMIT, &s->text) <= 0)
		return;
	kallsyms = buf_cstr(&s->text);
	start = find_symbol(kallsyms, reference);
	if (!start) {
		reference = "_stext";
		start = find_symbol(kallsyms, reference);
	}
	end = find_symbol(kallsyms, "_etext");
	if (!start)
		return;
	/* The name carries the symbol by which readers see how far the kernel was moved. */
	snprintf(name, sizeof(name), "[kernel.kallsyms]%s", reference);
	add_kernel_map(s, start, (end > start ? end : UINT64_MAX) - start, start, name);
	rec_sideband_made(s, kallsyms);
	add_modules(s);
}

static void add_id_index(struct rec_sideband *s, const struct rec_counters *c)
{
	enum { PER_RECORD = 2000, ENTRY = 32 };
	struct buf entries = {0};
	size_t nr = 0;

	vec_for_each (&c->list, e) {
		for (size_t i = 0; i < c->nr_places; i++) {
			int cpu = c->target->cpus.data[i / c->target->tids.nr];
			int tid = c->target->tids.data[i % c->target->tids.nr];
			const uint64_t entry[4] = {e->ids[i], i / c->target->tids.nr,
						   (uint64_t)(int64_t)cpu, (uint64_t)(int64_t)tid};

			if (e->fds[i] >= 0)
				buf_add(&entries, entry, sizeof(entry));
		}
	}
	for (size_t from = 0; from < entries.nr / ENTRY; from += nr) {
		size_t at = rec_sideband_begin(s, PERF_RECORD_ID_INDEX, 0);

		nr = entries.nr / ENTRY - from;
		if (nr > PER_RECORD)
			nr = PER_RECORD;
		rec_sideband_u64(s, nr);
		buf_add(&s->out, entries.data + from * ENTRY, nr * ENTRY);
		rec_sideband_end_plain(s, at);
	}
	s->out.is_failed |= entries.is_failed;
	buf_done(&entries);
}

static void add_name(struct rec_sideband *s, const struct perf_evsel *e)
{
	enum { UPDATE_NAME = 2 };
	size_t at = rec_sideband_begin(s, PERF_RECORD_EVENT_UPDATE, 0);

	rec_sideband_u64(s, UPDATE_NAME);
	rec_sideband_u64(s, e->ids[0]);
	rec_sideband_text(s, e->name, strnlen(e->name, NAME_MAX_BYTES));
	rec_sideband_end_plain(s, at);
}

void rec_sideband_events(struct rec_sideband *s, const struct rec_counters *c,
			 const struct perf_evlist *l)
{
	add_id_index(s, c);
	for (size_t i = 0; i < l->evsels.nr; i++)
		if (l->evsels.data[i]->nr_ids)
			add_name(s, l->evsels.data[i]);
}
