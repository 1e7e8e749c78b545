/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_WANTED_H
#define TRACE_PERF_AUX_WANTED_H

#include <clew/err.h>

#include "base/vec.h"

/*
 * Which bytes of each ring have to be decoded so that the events that a filter keeps are there: not
 * those of other CPUs, and of others the parts in which a time or a thread lies, by an index of
 * places where decoding can begin (aux_index.h). Protocols without such places are decoded in
 * whole.
 *
 * A part begins one place before the last one that is earlier than what is wanted: there the clock
 * starts afresh, and has met the old one when it comes to what is wanted. It ends after a branch
 * that is later: what ran before that branch is of the time of the one before.
 */

struct perf_trace;

struct aux_range { /* [from, end) of a ring */
	uint64_t from, end;
};

struct aux_wanted_ring {
	VEC(struct aux_range); /* ascending, apart */
};

/** Zeroed: everything. */
struct aux_wanted {
	struct aux_wanted_ring *rings; /* of aux_chunks; NULL: everything */
	size_t nr;
};

/** By @p p's wishes.filter. */
enum clew_err aux_wanted_make(struct aux_wanted *w, const struct perf_trace *p);
void aux_wanted_done(struct aux_wanted *w);

/** The range with @p offset, or the first after it. from UINT64_MAX: there is none. O(log n). */
struct aux_range aux_wanted_at(const struct aux_wanted *w, uint32_t ring, uint64_t offset);

#endif
