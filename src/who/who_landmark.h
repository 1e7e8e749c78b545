/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_LANDMARK_H
#define WHO_WHO_LANDMARK_H

#include "who/who_ran.h"
#include "who/who_runs.h"

/*
 * A trace of the kernel shows its switches: each execution of cpu_switch_to belongs to one switch
 * record of that CPU, in the same order. They are paired in each chunk of trace in which their
 * numbers are equal. This needs no times but those at which chunks begin.
 *
 * Spec: ../shared/spec/attribution.md, section 5, "Landmarks (E7)".
 */

/** A chunk of trace of one CPU. */
struct who_marked_chunk {
	struct clew_perf_ns first; /* first timestamp; none: it has none */
	uint32_t nr;               /* executions of cpu_switch_to by the host */
	bool is_paired;            /* result: */
	size_t at;                 /* of who_landmarks: before the first of them; nr more follow */
};

struct who_landmark {
	struct who_local_id id;    /* -1: it was dead when the record was written */
	bool sleeps;               /* it is switched from while it is not runnable */
	struct clew_perf_ns since; /* it runs, at the latest */
};

struct who_landmarks {
	VEC(struct who_landmark);
};

/**
 * Pair the chunks of @p cpu, in order of time; is_paired is false in all of them. Appends to @p
 * ret. After who_ran_close(). O(chunks + switches).
 * @return false: no memory.
 */
bool who_landmarks_pair(const struct who_ran *w, uint32_t cpu, struct who_marked_chunk *chunks,
			size_t nr, struct who_landmarks *ret);

/** The same, by the line of a CPU. */
bool who_landmarks_pair_line(const struct who_runs *line, struct who_marked_chunk *chunks,
			     size_t nr, struct who_landmarks *ret);

#endif
