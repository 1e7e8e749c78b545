/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_USER_STACKS_H
#define RECORD_STACKS_USER_STACKS_H

#include "record/plan/rec_file.h"
#include "record/stacks/copy_stacks.h"
#include "record/stacks/defer_join.h"
#include "record/stacks/ring_merge.h"
#include "record/stacks/tables/map_changes.h"
#include "record/stacks/tables/table_worker.h"

/**
 * User stacks that do not come as the kernel writes them: read in BPF (defer_bpf.h) or copied
 * (copy_stacks.h). Samples are rewritten on their way from the rings into the file. Zeroed = not in
 * use.
 */
struct user_stacks {
	const struct rec_options *options;
	const struct rec_ui *ui;
	struct rec_counters *counters;
	bool is_on; /* some event's samples are rewritten */

	struct ring_merge merge;
	struct buf out; /* records on their way to the file */

	struct table_worker *worker;
	struct copy_stacks copy; /* live NULL: no event wants it */
	struct buf backlog;      /* records that wait for a table, from backlog_at on */
	size_t backlog_at;
	bool is_last_call; /* tables that are not there now will not come any more */

	struct defer_bpf *bpf; /* NULL: no event wants it. Owned */
	struct defer_join join;
	struct defer_sink sink;
	const struct rec_counter *tracker; /* whose sample_id the stacks' records carry */
	uint64_t tracker_id;
	struct buf stacks;         /* records of stacks, written behind the samples of the pass */
	struct buf unasked, spare; /* of passes before, without a sample so far; its other buffer */
	struct map_u64
		newest; /* of each task the cookie of its newest stack, up to the pass before */
	struct {
		VEC(struct held_stack *); /* ended in user space; written at the end of the pass */
	} finished;
	struct map_changes changes;
	struct mapped_names names;
	bool is_failed;         /* out of memory in a callback */
	uint64_t held_since_ns; /* FINISHED_ROUND; 0: not held */
	uint64_t nr_ring_full;  /* requests or stacks that BPF lost, up to the pass before */
	uint32_t nr_suspect_passes;
	uint32_t nr_polls_left; /* for requests that are still being written */
	struct user_stack_counts {
		uint64_t nr_stacks, nr_frames, nr_finished, nr_discarded, nr_unasked;
		uint64_t nr_tables, nr_no_tables, nr_over_budget;
		uint64_t by_stop[NR_UNW_STOPS];
	} counts;
	size_t nr_left; /* tasks that never came back to user mode */
};

/** After the counters were opened. @p o->stacks.bpf is taken over; every event that wants it is
 * attached. @return CLEW_UNSUPPORTED: BPF cannot sit on one of these events. */
enum clew_err user_stacks_open(struct user_stacks *u, struct rec_counters *c,
			       const struct rec_options *o, const struct rec_ui *ui,
			       struct rec_error *error);

/** Before the command starts: tables of its binary and of what that is linked to, or of what the
 * watched processes have mapped. Waits for them, some seconds at most. */
void user_stacks_preload(struct user_stacks *u, const struct rec_target *target);

/**
 * A pass over all rings: requests and stacks first, then the samples. @p count is called for each
 * ring's span before it is consumed. @return the writer's error.
 */
enum clew_err user_stacks_pass(struct user_stacks *u, struct rec_file *f,
			       void (*count)(void *ctx, const struct bytes part[2]), void *ctx,
			       bool *ret_any);

/** May FINISHED_ROUND follow? Not while stacks of this round are still being worked on. */
bool user_stacks_may_end_round(struct user_stacks *u);

/** How long the recorder may sleep, in ms. */
int user_stacks_sleep_ms(const struct user_stacks *u);

/** No more samples: is anything still to come? The caller goes on with passes for a while. */
void user_stacks_stop(struct user_stacks *u);
bool user_stacks_is_waiting(const struct user_stacks *u);
/** Is it we that are still at work, so that it pays to wait longer? */
bool user_stacks_is_busy(const struct user_stacks *u);
/** The last call for tasks that sleep in the kernel; a pass writes what it brings. */
void user_stacks_last_call(struct user_stacks *u);

/** The samples of a pass were given out: stacks that one of them asked for go to u->out. */
void user_stacks_settle(struct user_stacks *u);
/** Stacks that no sample has asked for. */
uint64_t user_stacks_nr_unasked(const struct user_stacks *u);

/** One line of the outcomes; more with @p is_verbose. */
void user_stacks_report(struct user_stacks *u, bool is_verbose);

void user_stacks_done(struct user_stacks *u);

#endif
