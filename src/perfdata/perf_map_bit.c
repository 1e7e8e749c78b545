/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does an MMAP2 record hold a build id, as its misc says? Linux (seen up to 6.18) leaves the bit
 * set in the records of events that want no build ids when an event of another recorder, which
 * wants them, took the same mapping before: device and inode stand there then.
 */
#include "perfdata/perf_file_impl.h"

enum { UNION_AT = 32, UNION_BYTES = 24, ID_AT = 4, MAX_ID = 20, UUID_BYTES = 16 };

enum answer { NO, YES, UNKNOWN };

/* By the attr of the record's event: only events with mmap2 have such records. */
static enum answer wants_build_ids(const struct perf_evlist *l, const struct perf_record *r)
{
	const struct perf_evsel *e;

	if (l->nr_mmap2 && l->nr_mmap2 == l->nr_mmap2_build_id)
		return YES;
	if (l->nr_mmap2 && !l->nr_mmap2_build_id)
		return NO;
	e = perf_evlist_of_record(l, r->type, perf_record_body(r), r->swap);
	if (!e || !perf_attr_has(&e->attr, PERF_ATTR_MMAP2))
		return UNKNOWN;
	return perf_attr_has(&e->attr, PERF_ATTR_BUILD_ID) ? YES : NO;
}

/* Size, three zeros, the id, and zeros up to 20 bytes. */
static bool looks_like_id(const uint8_t *p)
{
	bool ok = p[0] && p[0] <= MAX_ID && !p[1] && !p[2] && !p[3];

	for (int i = p[0]; i < MAX_ID; i++)
		ok &= !p[ID_AT + i];
	return ok;
}

static bool has_build_id(const struct perf_evlist *l, const struct perf_record *r)
{
	const uint8_t *p = perf_record_body(r).pos + UNION_AT;

	switch (wants_build_ids(l, r)) {
	case YES:
		return p[0] && p[0] <= MAX_ID;
	case UNKNOWN:
		return looks_like_id(p);
	case NO: /* a tool put it there: no device of Linux has these numbers */
		break;
	}
	return (p[0] == MAX_ID || p[0] == UUID_BYTES) && looks_like_id(p);
}

uint16_t perf_file_true_misc(const struct perf_file *f, const struct perf_record *r)
{
	if (!(r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ||
	    r->size < sizeof(struct perf_event_header) + UNION_AT + UNION_BYTES ||
	    has_build_id(f->evlist, r))
		return r->misc;
	return (uint16_t)(r->misc & ~PERF_RECORD_MISC_MMAP_BUILD_ID);
}
