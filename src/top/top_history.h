/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TOP_TOP_HISTORY_H
#define TOP_TOP_HISTORY_H

#include "base/buf.h"
#include "base/vec.h"

/*
 * The newest part of a recording's streams, to be saved: with what a stream begins with (events,
 * and all tasks and mappings of that time), then rounds of records, the oldest of which are
 * dropped.
 */
struct top_round {
	uint64_t at_ns; /* of os_clock_ns(), when it was written */
	struct buf records;
};

struct top_history {
	uint64_t max_bytes; /* of all, as it is allocated; 0: nothing is kept */
	uint64_t window_ns; /* older rounds are dropped; 0: none is too old */
	uint64_t bytes;     /* of rounds */
	struct buf start;   /* what the newest stream began with */
	bool is_in_start;
	uint64_t nr_starts;    /* complete ones */
	struct buf round;      /* the one that is being written */
	bool is_round_dropped; /* it was too large */
	struct {
		VEC(struct top_round); /* oldest first */
	} rounds;
};

void top_history_begin(struct top_history *h);
/** Where memory is short, or a start is larger than a quarter of max_bytes, all is dropped, and
 * nothing more is kept. A round of that size is not kept. */
void top_history_add(struct top_history *h, const void *data, size_t size);
void top_history_round(struct top_history *h, uint64_t now_ns);

/** Append the newest start, and all rounds written at or after @p from_ns: a recording as from a
 * pipe. */
void top_history_copy(const struct top_history *h, uint64_t from_ns, struct buf *ret);

/** What it takes: at most max_bytes. */
uint64_t top_history_bytes(const struct top_history *h);

void top_history_done(struct top_history *h);

#endif
