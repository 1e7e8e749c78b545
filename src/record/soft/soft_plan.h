/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_PLAN_H
#define RECORD_SOFT_SOFT_PLAN_H

#include "base/vec.h"
#include "record/plan/event_list.h"
#include "record/plan/rec_options.h"

/*
 * What the software trace source is to do: which threads, from where to where.
 */

enum soft_place {
	SOFT_AT_ADDRESS,    /* number: in every process */
	SOFT_AT_FILE,       /* number: bytes from the start of the file path */
	SOFT_AT_CALL_ENTRY, /* number: of a system call; SOFT_ANY_CALL */
	SOFT_AT_CALL_EXIT,
	SOFT_AT_SIGNAL, /* number: of a signal; 0: any */
};

#define SOFT_ANY_CALL UINT64_MAX

struct soft_trigger {
	enum soft_place place;
	uint64_t number;
	const char *path; /* borrowed */
	bool is_resume;   /* else it pauses */
	uint32_t event;   /* number of the event in the list, and of its counter */
};

struct soft_plan {
	bool starts_paused;
	bool needs_calls; /* a trigger is a system call */
	uint32_t psb_bytes;
	int clockid; /* of times */
	struct {
		VEC(struct soft_trigger);
	} triggers;
	const char *function, *dso; /* --trace-function; NULL: none, any */
	uint64_t max_calls;         /* 0: no limit */
};

/**
 * From the trace @p trace of @p events and what acts on it.
 * @return CLEW_UNSUPPORTED: something acts on it that we cannot see, with a sentence;
 *         CLEW_NO_MEMORY.
 */
enum clew_err soft_plan_make(struct soft_plan *ret, const struct rec_event_list *events,
			     uint32_t trace, const struct rec_options *o, struct rec_error *error);

void soft_plan_done(struct soft_plan *p);

/** The number of system call @p name as tracepoints spell it ("newuname"). @return false: none. */
bool soft_call_number(const char *name, uint64_t *ret);

#endif
