/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_AREA_H
#define RECORD_AUX_AUX_AREA_H

#include "record/aux/aux_offline.h"
#include "record/aux/aux_span.h"
#include "record/aux/aux_window.h"
#include "record/open/trace_times.h"
#include "record/plan/source.h"

/** One ring's AUX area, and what was read of it. */
struct aux_area {
	struct rec_ring *ring; /* borrowed */
	uint32_t idx;          /* of the ring: one queue for a decoder */
	uint64_t bytes;        /* written to files */
	uint64_t nr_restarts;
	struct rec_aux_seen before;   /* of the ring, at the last drain or snapshot */
	struct rec_trace_times times; /* with has_times: at the last look */
	bool has_times;
	uint64_t times_ns; /* when that was */
	struct aux_window_state window;
	struct aux_span span; /* of the last window */
	uint64_t window_bytes;
	struct bytes taken[2]; /* for aux_area_put() */
	uint64_t taken_from;
	bool is_window_full;
	struct aux_offline offline;
};

/** @return false: out of memory. */
bool aux_area_init(struct aux_area *a, struct rec_ring *r, uint32_t idx);

/** Full trace: write what is new, and restart the trace where it was full. */
enum clew_err aux_area_drain(struct aux_area *a, const struct rec_counters *c, struct rec_pass *p);

/**
 * Overwritten: take the newest bytes, at most @p limit (0: all), that no snapshot had before. The
 * trace is switched off, and its AUX records were read. @p to: there they are copied; NULL: they
 * stay in the area, where the trace must be off until they are written. @return how many.
 */
size_t aux_area_take(struct aux_area *a, size_t limit, uint8_t *to);

/** Write what was taken. */
enum clew_err aux_area_put(struct aux_area *a, struct rec_pass *p);

/** Its ring is another; @p base: bytes of the areas before the last one. */
void aux_area_renew(struct aux_area *a, uint64_t base);

void aux_area_done(struct aux_area *a);

#endif
