/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_RING_MERGE_H
#define RECORD_STACKS_RING_MERGE_H

#include "base/buf.h"
#include "base/map_u64.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"
#include "record/open/counters.h"
#include "record/open/record_mend.h"

/** What lay in one ring when its head was noted. */
struct ring_span {
	struct bytes part[2];
	size_t at, total; /* bytes given out; in all */
	size_t given;     /* of those, returned to the kernel */
	uint64_t time;    /* of the record at at */
	struct rec_ring *ring;
};

struct ring_record {
	const uint8_t *data; /* whole; until the next call */
	struct perf_event_header header;
	uint64_t time;  /* 0: it has none */
	uint32_t event; /* index into the counters */
	int cpu;        /* of the ring; -1: a task's */
};

static inline struct perf_record ring_record_view(const struct ring_record *r)
{
	return (struct perf_record){.data = r->data,
				    .type = r->header.type,
				    .misc = r->header.misc,
				    .size = r->header.size};
}

/**
 * The records of all rings, noted at one moment, in order of time: each ring is in order by itself.
 * Zeroed = empty. Its memory is kept from pass to pass.
 */
struct ring_merge {
	const struct rec_counters *counters;
	struct {
		VEC(struct ring_span);
	} spans;
	struct {
		VEC(uint32_t); /* spans with records left; a heap, earliest first */
	} heap;
	struct map_u64 event_of_id;
	struct perf_field_pos id_pos;
	struct {
		VEC(struct perf_field_pos); /* of each event */
	} time_pos;
	struct record_mend mend;
	bool is_given;      /* the first of heap was given out and is still to be stepped over */
	struct buf scratch; /* a record that crosses the ring's end, or had to be mended */
};

/** @return false: out of memory. */
bool ring_merge_init(struct ring_merge *m, const struct rec_counters *c);

/** Note what lies in every forward ring now. @return false: out of memory. */
bool ring_merge_note(struct ring_merge *m, struct rec_counters *c);

/** @return CLEW_OK; CLEW_END: all given; CLEW_NO_MEMORY. A record of impossible size ends its
 * ring's span. Space is given back to the kernel as soon as the next record is asked for. */
enum clew_err ring_merge_next(struct ring_merge *m, struct ring_record *ret);

void ring_merge_done(struct ring_merge *m);

#endif
