/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_DEFER_MAKE_H
#define TESTS_MAKE_DEFER_MAKE_H

#include "make/perf_build.h"

/* Recordings with deferred user stacks: event 0 samples, event 1 gets the stacks. */
void defer_make_events(struct perf_build *b);
enum { DEFER_MAKE_OUTPUT_ID = 8 }; /* of event 1 */

/** COMM, and code mapped at 0x400000, of process @p tid. */
void defer_make_process(struct perf_build *b, uint32_t tid, uint64_t time, const char *comm);

/** COMM of an exec, EXIT or FORK of @p tid. */
void defer_make_task(struct perf_build *b, uint32_t type, uint32_t tid, uint64_t time);

struct defer_sample {
	uint32_t tid, cpu;
	uint64_t time, cookie;
	bool in_user;       /* else with two kernel frames first */
	bool has_user_part; /* the address in a user part before the mark */
	bool no_mark;       /* an ordinary chain of two user frames instead */
	uint32_t nr_after;  /* words of a kernel part after the cookie */
};
void defer_make_sample(struct perf_build *b, const struct defer_sample *s);

struct defer_stack {
	uint32_t tid, cpu;
	uint64_t time, cookie;
	const uint64_t *ips;
	uint32_t nr;
	const uint8_t *methods; /* with a trailer; NULL: all 0 */
	bool has_trailer;
	uint8_t stop;
};
void defer_make_stack(struct perf_build *b, const struct defer_stack *s);

/** false: the attr does not say that stacks are deferred. For tests of readers that see it anyway.
 */
extern bool defer_make_announces;

/** All of it once: complete, late, exec, exit, duplicate, reasons, end. */
void defer_make_story(struct perf_build *b);

#endif
