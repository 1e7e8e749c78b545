/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_RAN_H
#define TRACE_PERF_TRACE_RAN_H

#include "image/code_source.h"
#include "perfdata/perf_evlist.h"
#include "perfdata/perf_sample.h"
#include "who/who_ran.h"

/* Who ran, by the one rule (who/who_ran.h): the recording's side-band goes in, units of sampled
 * operations ask. */

struct perf_trace;

struct trace_ran {
	struct who_ran *rule;
	bool has_sched; /* samples of sched_switch, with these fields */
	uint64_t sched_id;
	uint32_t prev_at, next_at;
	size_t nr_begun;              /* CPUs with a known begin of their side-band */
	struct trace_ran_memo *memos; /* by unit; NULL: none asks */
};

/** NULL in rule: no memory. */
enum clew_err trace_ran_init(struct perf_trace *p);
void trace_ran_done(struct trace_ran *r);
/** The recorder said from when on it recorded all of a CPU: before that CPU's first record. */
enum clew_err trace_ran_begin(struct perf_trace *p);
/** A record with sample_id @p id, at @p time of the history. */
enum clew_err trace_ran_take(struct perf_trace *p, const struct perf_record *r,
			     const struct perf_evsel *e, const struct perf_sample_id *id,
			     struct clew_perf_ns time);
/** All records are read, and the units made: learn from the trace what it proves. */
enum clew_err trace_ran_close(struct perf_trace *p);

/** Is @p unit one that asks? */
static inline bool trace_ran_has(const struct trace_ran *r, uint32_t unit);
/** The owner of an operation, until the next question about @p unit. One thread per unit. */
const struct who_answer *trace_ran_ask(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *key);

struct trace_ran_memo {
	bool is_asked, has_answer;
	struct code_key key;
	struct who_answer answer;
	struct who_cursor cursor;
};

static inline bool trace_ran_has(const struct trace_ran *r, uint32_t unit)
{
	return r->memos && r->memos[unit].is_asked;
}

#endif
