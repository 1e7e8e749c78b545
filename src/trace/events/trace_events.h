/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_TRACE_EVENTS_H
#define TRACE_EVENTS_TRACE_EVENTS_H

#include "analyze/analyze.h"
#include "trace/events/itrace_opts.h"
#include "trace/trace_decode.h"
#include "who/who_ran.h"

/*
 * Decoded ETM trace as events of the pipeline: branches, sampled instructions, errors; and records
 * of sampled operations (SPE), which are one to ten events each ("l1d-miss", "memory", ...) with
 * one ana_op. They have an evsel of their own each ("branches:u", "instructions:u") and
 * ana_event.synth. An event carries the thread, CPU, time and level of the instruction it stands
 * for, which of a branch is the one that branches: contexts and timestamps count for the
 * instructions after them.
 *
 * From and to: a branch goes from its instruction to the next one that was executed. Where tracing
 * begins, from is 0, and where it ends, to is 0. An exception comes from the last instruction
 * executed before it, or, where it hit the target of a branch, from there.
 */
struct trace_events;

struct trace_events_opts {
	struct itrace_opts itrace;
	struct ana_filter filter;
	/** The recording's events, which come before our own; NULL: a snapshot. Borrowed. */
	const struct perf_evlist *recorded;
	unsigned int nr_threads; /* as trace_decode_opts */
	bool wants_addr;         /* resolve where branches go */
	bool wants_branches;     /* resolve last branches */
	bool wants_insns;        /* the bytes of instructions */
	bool wants_depth;        /* of calls */
	bool wants_ipc;          /* cycles of branches, of Intel PT */
	/** The consumer counts, whatever the order: an operation may stand for others
	 * (ana_event.nr_more), if the options allow it. */
	enum trace_ops_fold fold;
	/** The consumer takes ana_event.repeat: of operations it shows their times, and nothing
	 * else that TRACE_OPS_BY_CODE does not compare. */
	bool wants_repeats;
	/** For text that has to equal perf's: callers are looked up where their calls return to. */
	bool is_as_perf;
	bool wants_steps; /* the consumer takes ana_event.steps */
	bool is_single_threaded;
	uint64_t first_epoch; /* of the batches; unlike any the consumer saw before */
};

/** @p trace is borrowed. CLEW_INVALID: unusable filter lists; CLEW_NO_MEMORY. */
enum clew_err trace_events_new(struct trace_events **ret, struct trace_input *trace,
			       const struct trace_events_opts *opts, struct clew_diag *diag);

/** Recorded and own events, for a writer. Lives as long as @p e; known before the run. */
const struct perf_evlist *trace_events_list(const struct trace_events *e);

/**
 * A batch of the recording's own events, in their order: hand it on to @p consumer, with the
 * trace's events that come before each. Where the trace's times do not compare with theirs, all
 * recorded events come first. Before trace_events_run(); for inputs without a recording not at all.
 * @return as trace_decode(); the consumer's error.
 */
enum clew_err trace_events_take_recorded(struct trace_events *e,
					 const struct ana_consumer *consumer,
					 const struct ana_batch *b);

/**
 * Decode all, or what is left, and give the events to @p consumer, from this thread. Units of a
 * recording with timestamps in its trace come side by side, in order of time (trace_merge.c); else,
 * and with is_timeless, unit by unit. Each unit's order is kept. Memory does not grow with the
 * trace.
 * @return as trace_decode(); the consumer's error.
 */
enum clew_err trace_events_run(struct trace_events *e, const struct ana_consumer *consumer,
			       struct clew_diag *diag);

struct trace_events_summary {
	uint64_t nr_samples, nr_filtered;
	uint64_t nr_errors;  /* also those that were not asked for */
	uint64_t nr_dropped; /* atoms at unknown places */
	uint64_t nr_units, nr_insns;
	struct who_counts who; /* answers for sampled operations, one each */
	struct trace_ops_counts ops;
	bool is_by_count; /* a period in time was taken as one in instructions: there are no times
			   */
};
const struct trace_events_summary *trace_events_summary(const struct trace_events *e);

void trace_events_free(struct trace_events *e);

#endif
