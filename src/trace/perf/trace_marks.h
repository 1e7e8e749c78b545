/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_MARKS_H
#define TRACE_PERF_TRACE_MARKS_H

#include "image/code_source.h"
#include "who/who_landmark.h"

/*
 * What has to be known about a unit's trace before it is decoded: how many switches of threads each
 * chunk contains, to pair them with switch records; and, if a chunk begins in user code, whether
 * that is a guest's. A first pass over the trace finds both. It is made only if the trace has no
 * ids of threads, or there are virtual machines.
 */

struct perf_trace;

/** A chunk of one unit's trace. */
struct trace_chunk_marks {
	struct clew_perf_ns bound; /* code_key */
	struct clew_ticks first;   /* 0: it has no timestamp */
	uint32_t nr[2];            /* switches by a kernel at EL1; at EL2 */
	bool starts_in_guest;      /* it begins at EL0, and the first exception is to EL1 */
	bool is_not_host;          /* ... and the host's process has no such code there */
	bool is_paired;
	size_t at; /* landmarks, as who_marked_chunk */
};

struct trace_unit_marks {
	VEC(struct trace_chunk_marks);
};

struct trace_marks {
	struct trace_unit_marks *units; /* NULL: nothing needs them */
	bool is_kernel_only;            /* now, in the pass: user space's code is not followed */
	struct who_landmarks landmarks;
};

/** Does any unit need the pass? Those without ids of threads count switches from here on. */
bool trace_marks_begin(struct perf_trace *p, bool *ret_wanted);
/** Make the pass. What it proves of the recording is added to @p notes. */
enum clew_err trace_marks_find(struct perf_trace *p, const bool *wanted, struct who_notes *notes);
/** Pair switches with records: after trace_marks_find(), before who_ran_settle(). */
enum clew_err trace_marks_pair(struct perf_trace *p);
/** The facts are decided. */
void trace_marks_settle(struct perf_trace *p);
void trace_marks_done(struct trace_marks *m, size_t nr_units);

/** NULL: nothing is known of the chunk. */
const struct trace_chunk_marks *trace_marks_of(const struct trace_marks *m, uint32_t unit,
					       struct clew_perf_ns bound);

#endif
