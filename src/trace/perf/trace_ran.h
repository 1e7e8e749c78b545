/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_RAN_H
#define TRACE_PERF_TRACE_RAN_H

#include "image/code_source.h"
#include "perfdata/perf_evlist.h"
#include "perfdata/perf_sample.h"
#include "perfdata/perf_tracing.h"
#include "trace/perf/trace_spill.h"
#include "trace/trace_ops.h"
#include "who/who_ran.h"

/* Who ran, by the one rule (who/who_ran.h): the recording's side-band goes in, units ask. */

struct perf_trace;

struct trace_ran {
	struct who_ran *rule;
	bool has_sched; /* there may be samples of sched_switch */
	struct perf_sched_switch sched;
	size_t nr_begun;               /* CPUs with a known begin of their side-band */
	bool has_vcpus;                /* threads with the names of virtual CPUs */
	struct trace_ran_memos *memos; /* by unit */
	struct trace_spill spill;
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
/** The same of a guest's own record, of event @p id->id. */
enum clew_err trace_ran_take_guest(struct perf_trace *p, const struct perf_record *r,
				   const struct perf_sample_id *id, struct clew_perf_ns time);
/** All records are read, and the units made: learn from the trace what it proves. */
enum clew_err trace_ran_close(struct perf_trace *p);

/** What is known of the chunk that ran no later than bound. */
struct trace_ran_chunk {
	bool is_set, has_end;
	bool has_levels; /* of the unit's protocol */
	bool is_timed;   /* its ticks compare with perf's time */
	struct clew_perf_ns bound;
	const struct aux_chunk *chunk;         /* NULL: unknown */
	const struct trace_chunk_marks *marks; /* NULL: unknown */
	struct clew_ticks end;
};

/** An answer, and where it was found. */
struct trace_ran_known {
	bool is_set;
	struct code_key key;
	struct who_answer answer;
	const struct aux_chunk *chunk; /* that holds it; NULL: unknown */
	struct who_cursor cursor;
};

enum trace_ran_known_of {
	TRACE_RAN_USER,
	TRACE_RAN_USER_LATER, /* it may have been switched from since the last timestamp */
	TRACE_RAN_OTHER,
	TRACE_RAN_NR_KNOWN
};

/** The last ones: code of these alternates. */
struct trace_ran_memo {
	struct trace_ran_chunk chunk;
	struct trace_ran_known known[TRACE_RAN_NR_KNOWN];
};

struct trace_ran_memos {
	bool is_op; /* a unit of sampled operations */
	bool is_taken;
	struct trace_ran_memo of_decoders; /* of the one that has taken it */
	struct trace_ran_memo of_consumer;
};

static inline bool trace_ran_is_op(const struct trace_ran *r, uint32_t unit)
{
	return r->memos[unit].is_op;
}

/** Who ran, until the next question about @p unit. For its consumer: one thread per unit. */
const struct who_answer *trace_ran_ask(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *key);
/** For how long that answer is the same. As trace_ran_ask(). @return false: unknown. */
bool trace_ran_stay(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		    struct who_stay *ret);
/** No more than [@p from, @p to), each where it is known. */
void trace_ran_clip(const struct perf_trace *p, struct clew_perf_ns from, struct clew_perf_ns to,
		    struct who_stay *s);
/** The same as ticks of the trace, around @p at. Where @p at is not in it, that tick alone. */
struct trace_stay trace_ran_ticks_of_stay(const struct perf_trace *p, struct clew_ticks at,
					  const struct who_stay *s);
/** The same, from any thread. */
struct trace_ran_answer {
	struct who_answer answer;
	const struct aux_chunk *chunk; /* that holds it; NULL: unknown */
};
void trace_ran_answer(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		      struct trace_ran_answer *ret);
/** Only where and when. */
struct who_question trace_ran_time_question(const struct perf_trace *p, uint32_t unit,
					    const struct code_key *key);

#endif
