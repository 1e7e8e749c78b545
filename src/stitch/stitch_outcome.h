/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef STITCH_STITCH_OUTCOME_H
#define STITCH_STITCH_OUTCOME_H

#include <stdint.h>

/* The outcome of a sample's user part, and counts of outcomes. */

enum stitch_state {
	STITCH_COMPLETE,      /* the user part is there */
	STITCH_NONE_EXPECTED, /* kernel-only by nature: reason says which */
	STITCH_LOST,          /* the user part is missing: reason */
	/* Not the stitch's to say: of those that are there, from why they end. */
	STITCH_PARTIAL,  /* it ends before the outermost frame */
	STITCH_UNPROVEN, /* nothing shows whether it reaches the outermost frame */
};

enum stitch_reason {
	STITCH_NO_REASON,
	/* none expected */
	STITCH_IDLE,          /* the idle task */
	STITCH_KERNEL_THREAD, /* no user address space */
	STITCH_EXITING,       /* the address space was gone */
	STITCH_NOT_ASKED,     /* the event records no user chain, or no chain at all */
	/* lost */
	STITCH_NO_RECORD, /* the task reached another entry, and no stack came */
	STITCH_EXIT,      /* the task ended first */
	STITCH_EXEC,      /* the program was replaced first */
	STITCH_END,       /* the recording ended first */
	STITCH_BUFFER,    /* records were lost meanwhile */
	STITCH_TIMEOUT,   /* the budget was used up: the stack may have come later */
	STITCH_EMPTY,     /* a stack without frames came */
	/* lost, as the recorder said (perfdata/perf_deferred.h) */
	STITCH_MAP_FULL,
	STITCH_RING_FULL,
	STITCH_REFUSED,
	STITCH_UNMATCHED,
	STITCH_LATE, /* user mode ran before it came to read the stack */
	NR_STITCH_REASONS
};

/** Static words such as "complete", "lost"; never NULL. */
const char *stitch_state_name(enum stitch_state s);
/** Static words such as "kernel-thread", "end"; "" for none; never NULL. */
const char *stitch_reason_name(enum stitch_reason r);

struct stitch_counts {
	uint64_t nr_samples;    /* that went out; the sum of by_reason */
	uint64_t nr_stacks;     /* that came in */
	uint64_t nr_unclaimed;  /* of these, that no sample wanted */
	uint64_t nr_duplicates; /* of these, that were there already */
	uint64_t nr_differing;  /* duplicates that say something else: the first was kept */
	uint64_t nr_late;       /* samples that came after their stack */
	uint64_t by_reason[NR_STITCH_REASONS]; /* [STITCH_NO_REASON] = complete */
	uint64_t peak_bytes;
};

#endif
