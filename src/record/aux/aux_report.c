/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_report.h"

#include <stdio.h>

static void name_of(const struct aux_area *a, char *ret, size_t size)
{
	if (a->ring->cpu >= 0)
		snprintf(ret, size, "CPU %d", a->ring->cpu);
	else
		snprintf(ret, size, "thread %d", a->ring->tid);
}

static void report_one(const struct aux_area *a, const struct rec_ui *ui)
{
	const struct rec_aux_seen *s = &a->ring->aux_seen;
	uint64_t unseen = a->bytes > s->bytes ? a->bytes - s->bytes : 0;
	char name[32];

	name_of(a, name, sizeof(name));
	rec_say(ui, REC_NOTE,
		"trace of %s: %llu bytes; %llu AUX records: %llu truncated, %llu partial, %llu with "
		"collisions, %llu overwriting, %llu of unknown kind; restarted %llu times; %llu "
		"bytes without a record",
		name, (unsigned long long)a->bytes, (unsigned long long)s->nr,
		(unsigned long long)s->nr_truncated, (unsigned long long)s->nr_partial,
		(unsigned long long)s->nr_collision, (unsigned long long)s->nr_overwrite,
		(unsigned long long)s->nr_unknown, (unsigned long long)a->nr_restarts,
		(unsigned long long)(a->ring->ring.is_aux_overwrite ? 0 : unseen));
}

static void warn_gaps(const struct aux_area *a, const struct rec_ui *ui)
{
	const struct rec_aux_seen *s = &a->ring->aux_seen;
	char name[32];

	if (!s->nr_truncated)
		return;
	name_of(a, name, sizeof(name));
	rec_say(ui, REC_WARNING,
		"trace of %s is missing where its buffer was full: %llu times, first at %llu.%09llu, "
		"for %llu.%03llu ms at most%s; a larger buffer (-m ,SIZE), filters or aux-action make "
		"it fit",
		name, (unsigned long long)s->nr_truncated,
		(unsigned long long)s->first_gap_ns / 1000000000,
		(unsigned long long)s->first_gap_ns % 1000000000,
		(unsigned long long)s->gap_ns / 1000000,
		(unsigned long long)s->gap_ns / 1000 % 1000,
		s->truncated_ns ? " (and the last time to the end)" : "");
}

static void warn_offline(const struct aux_area *a, const struct rec_ui *ui)
{
	const struct aux_offline *o = &a->offline;

	if (!o->nr)
		return;
	rec_say(ui, REC_WARNING,
		"trace of CPU %d is missing where it was offline: %llu times, first at "
		"%llu.%09llu, for about %llu ms%s; what ran there until its trace continued is not "
		"recorded",
		a->ring->cpu, (unsigned long long)o->nr,
		(unsigned long long)o->first_ns / 1000000000,
		(unsigned long long)o->first_ns % 1000000000,
		(unsigned long long)o->sum_ns / 1000000,
		o->since_ns ? " (and the last time to the end)" : "");
}

/* A trace unit or sink that another recording has: each attempt ends at once, with nothing. */
static bool is_refused_sink(const struct aux_areas *l)
{
	uint64_t nr_truncated = 0;

	vec_for_each (l, a) {
		if (a->bytes || a->ring->aux_seen.bytes)
			return false;
		nr_truncated += a->ring->aux_seen.nr_truncated;
	}
	return nr_truncated;
}

void aux_report(const struct aux_areas *l, const struct rec_ui *ui, bool is_verbose)
{
	if (is_refused_sink(l))
		rec_say(ui, REC_WARNING,
			"the hardware ended each attempt to trace at once: another recording may be "
			"using the trace unit or its sink");
	vec_for_each (l, a) {
		if (a->bytes)
			warn_gaps(a, ui);
		warn_offline(a, ui);
		if (is_verbose)
			report_one(a, ui);
	}
}

static void report_window(const struct aux_area *a, const struct rec_ui *ui)
{
	const struct aux_span *s = &a->span;
	char name[32];

	name_of(a, name, sizeof(name));
	rec_say(ui, REC_NOTE, "  %s: %llu bytes, %s %llu.%09llu to %llu.%09llu", name,
		(unsigned long long)a->window_bytes,
		s->from_ns ? "complete from" : "from an unknown time,",
		(unsigned long long)s->from_ns / 1000000000,
		(unsigned long long)s->from_ns % 1000000000,
		(unsigned long long)s->to_ns / 1000000000,
		(unsigned long long)s->to_ns % 1000000000);
}

void aux_report_snapshot(const struct aux_areas *l, uint64_t number, uint64_t held_ns,
			 const struct rec_ui *ui, bool is_verbose)
{
	uint64_t from = 0, bytes = 0;
	bool is_known = true, is_whole = true;
	char since[96], held[64] = "";

	vec_for_each (l, a) {
		bytes += a->window_bytes;
		is_whole &= !a->is_window_full;
		is_known &= !a->window_bytes || a->span.from_ns;
		if (a->window_bytes && a->span.from_ns > from)
			from = a->span.from_ns;
	}
	if (is_whole)
		snprintf(since, sizeof(since), "all since the %s",
			 number > 1 ? "one before" : "start");
	else if (is_known)
		snprintf(since, sizeof(since), "complete for all buffers since %llu.%09llu",
			 (unsigned long long)from / 1000000000,
			 (unsigned long long)from % 1000000000);
	else
		snprintf(since, sizeof(since), "older trace was overwritten");
	if (held_ns)
		snprintf(held, sizeof(held), "; the traces stood still for %llu.%03llu ms",
			 (unsigned long long)held_ns / 1000000,
			 (unsigned long long)held_ns / 1000 % 1000);
	rec_say(ui, REC_NOTE, "snapshot %llu: %llu bytes, %s%s", (unsigned long long)number,
		(unsigned long long)bytes, since, held);
	vec_for_each (l, a)
		if (is_verbose && a->window_bytes)
			report_window(a, ui);
}
