/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_RECORD_MEND_H
#define RECORD_OPEN_RECORD_MEND_H

#include "perfdata/perf_abi.h"
#include "record/open/counters.h"

/*
 * What another recorder's events leave in our records. Linux keeps the bit for a build id set in
 * MMAP2 records of events that want none, where another recorder's event wants them; perf 6.1 takes
 * the inode for one and crashes. And it makes records too large: grown_record.h. Rings are the
 * kernel's to write, so records are mended in a copy.
 */
struct record_mend {
	bool has_no_map_ids; /* no MMAP2 record of ours holds a build id */
	size_t id_bytes;     /* grown_record.h */
};

struct record_mend record_mend_of(const struct rec_counters *c);

/** The misc that is true of a record with header @p h. */
static inline uint16_t record_mend_misc(const struct record_mend *m,
					const struct perf_event_header *h)
{
	uint16_t stale = m->has_no_map_ids && h->type == PERF_RECORD_MMAP2
			       ? PERF_RECORD_MISC_MMAP_BUILD_ID
			       : 0;

	return (uint16_t)(h->misc & ~stale);
}

/** @p record has all its h.size bytes, here too. */
bool record_mend_is_due(const struct record_mend *m, const uint8_t *record);
void record_mend(const struct record_mend *m, uint8_t *record);

#endif
