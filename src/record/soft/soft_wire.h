/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_WIRE_H
#define RECORD_SOFT_SOFT_WIRE_H

#include <stdint.h>

/* Between the process that traces and the one that records: a header, then size bytes. */

enum soft_message {
	SOFT_READY,  /* number: 0, or the errno for which nothing can be traced */
	SOFT_TRACE,  /* bytes of the stream idx of thread tid; number: the time by then */
	SOFT_TOTALS, /* struct soft_totals */
};

struct soft_header {
	uint32_t kind; /* enum soft_message */
	uint32_t size;
	uint32_t idx;
	int32_t tid;
	uint64_t number;
};

/** What was done, for the report. */
struct soft_totals {
	uint64_t nr_stops, nr_branches, nr_steps;
	uint64_t nr_threads, nr_windows; /* traced from somewhere to somewhere */
	uint64_t nr_lost;                /* places where a thread was not where it had to be */
	uint64_t nr_calls;               /* of the function that was asked for */
	uint64_t nr_left;                /* threads that did not come to a stop in the end */
};

#endif
