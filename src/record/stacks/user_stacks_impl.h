/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_USER_STACKS_IMPL_H
#define RECORD_STACKS_USER_STACKS_IMPL_H

#include "record/stacks/copy_stacks.h"
#include "record/stacks/defer_join.h"
#include "record/stacks/ring_merge.h"
#include "record/stacks/tables/map_changes.h"
#include "record/stacks/tables/table_worker.h"
#include "record/stacks/user_stacks.h"

/** Zeroed = not in use. */
struct user_stacks {
	const struct rec_options *options;
	const struct rec_ui *ui;
	struct rec_counters *counters;

	struct ring_merge merge;
	struct buf out; /* records on their way to the file */

	struct table_worker *worker;
	struct copy_stacks copy; /* live NULL: no event wants it */
	struct buf backlog;      /* records that wait for a table, from backlog_at on */
	size_t backlog_at;
	bool is_last_call; /* tables that are missing now will not come any more */

	struct defer_bpf *bpf; /* NULL: no event wants it. Owned */
	struct defer_join join;
	struct defer_sink sink;
	const struct rec_counter *tracker; /* the stacks' records carry its sample_id */
	uint64_t tracker_id;
	struct buf stacks;         /* records of stacks, written after the samples of the pass */
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
	uint64_t wait_left_ns; /* for requests that cannot be read yet, in this pass */
	struct user_stack_counts {
		uint64_t nr_stacks, nr_frames, nr_finished, nr_discarded, nr_unasked;
		uint64_t nr_tables, nr_no_tables, nr_over_budget;
		uint64_t by_stop[NR_UNW_STOPS];
	} counts;
	size_t nr_left; /* tasks that never came back to user mode */
};

/** What BPF brings goes into @p u. */
struct defer_sink user_stacks_sink(struct user_stacks *u);

/** Tables go to the kernel at once. Stacks wait for the records of this pass, which show whether
 * they may still be believed. */
void user_stacks_take_ready(struct user_stacks *u);

/** The same, all tables in one step. */
void user_stacks_take_results(struct user_stacks *u);

/** The samples of a pass were given out: stacks that one of them asked for go to u->out. */
void user_stacks_settle(struct user_stacks *u);
/** Stacks that no sample has asked for. */
uint64_t user_stacks_nr_unasked(const struct user_stacks *u);

/* Of the source (struct rec_source_ops). */
extern const struct rec_source_ops user_stacks_ops;
void user_stacks_prepare(void *ctx);
void user_stacks_report(void *ctx, bool is_verbose);

/** All but the struct's own memory. */
void user_stacks_done(struct user_stacks *u);

#endif
