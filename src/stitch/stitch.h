/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef STITCH_STITCH_H
#define STITCH_STITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

/*
 * Joins samples with the user stacks that were read later, by (tid, cookie). It holds every record
 * of the stream, in time order, from the first sample that waits; what it lets out is in the order
 * it came in. Memory is bounded by a budget; what passes it goes out with its reason.
 * Spec: spec/deferred-stacks.md, section 5.
 */
enum stitch_state {
	STITCH_COMPLETE,      /* the user part is there */
	STITCH_NONE_EXPECTED, /* kernel-only by nature: reason says which */
	STITCH_LOST           /* the user part is missing: reason */
};

enum stitch_reason {
	STITCH_NO_REASON,
	/* none expected */
	STITCH_IDLE,          /* the idle task */
	STITCH_KERNEL_THREAD, /* no user address space */
	STITCH_EXITING,       /* the address space was gone */
	STITCH_NOT_ASKED,     /* the event records no user chain, or no chain at all */
	/* lost */
	STITCH_NO_RECORD, /* the task went on to another entry, and no stack came */
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
	NR_STITCH_REASONS
};

const char *stitch_reason_name(enum stitch_reason r);

/** One user stack, as its record tells. Borrowed from the record. */
struct stitch_stack {
	const uint8_t *ips; /* u64 each, in the file's byte order, not aligned */
	uint32_t nr;
	uint8_t stop;       /* enum unw_stop; UNW_STOP_NONE: the record does not say */
	const void *record; /* where it stands; passed through */
};

/** What is known of a sample when it goes out. */
struct stitch_verdict {
	enum stitch_state state;
	enum stitch_reason reason;
	const struct stitch_stack *stack; /* to be attached, NULL: none; valid during the call */
};

struct stitch_opts {
	uint64_t budget_bytes; /* 0: 64 MiB */
	uint64_t age_ns;       /* 0: no limit but the budget */
};

struct stitch_out {
	/** An item leaves. @p verdict NULL: it is no sample. */
	enum clew_err (*emit)(void *ctx, void *item, const struct stitch_verdict *verdict);
	void *ctx;
};

struct stitch;
struct stitch *stitch_new(const struct stitch_opts *opts, const struct stitch_out *out);
void stitch_free(struct stitch *s);

/* In time order. @p item is the caller's and comes back by emit(); @p bytes is what it holds in
 * memory. Any may emit. */

/** A sample that waits for the stack of (tid, cookie). */
enum clew_err stitch_sample(struct stitch *s, uint32_t tid, uint64_t cookie, uint64_t time,
			    void *item, size_t bytes);
/** A sample whose verdict is known: it only keeps its place in the order. */
enum clew_err stitch_settled(struct stitch *s, uint64_t time, enum stitch_state state,
			     enum stitch_reason reason, void *item, size_t bytes);
/** Any other record that has to keep its place. */
enum clew_err stitch_other(struct stitch *s, uint64_t time, void *item, size_t bytes);
/** The stack of (tid, cookie). @p stack's bytes must live until no sample can want them: until the
 * task's next stack or end, or stitch_free(). */
enum clew_err stitch_stack_record(struct stitch *s, uint32_t tid, uint64_t cookie, uint64_t time,
				  const struct stitch_stack *stack);
enum clew_err stitch_task_exit(struct stitch *s, uint32_t tid, uint64_t time);
enum clew_err stitch_task_fork(struct stitch *s, uint32_t tid, uint64_t time);
enum clew_err stitch_task_exec(struct stitch *s, uint32_t tid, uint64_t time);
/** Records were lost: what waits now may never get its stack. */
void stitch_lost(struct stitch *s);
/** The stream is over: everything goes out. */
enum clew_err stitch_end(struct stitch *s);

struct stitch_counts {
	uint64_t nr_samples, nr_stacks, nr_duplicates, nr_differing, nr_late;
	uint64_t by_reason[NR_STITCH_REASONS]; /* [STITCH_NO_REASON] = complete */
	uint64_t peak_bytes;
};
void stitch_counts(const struct stitch *s, struct stitch_counts *ret);

#endif
