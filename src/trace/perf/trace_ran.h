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

/* Feeds a recording's side-band to the rule of who/who_ran.h, and asks it for trace units. */

struct aux_who;
struct perf_trace;

struct trace_ran {
	struct who_ran *rule;
	bool has_sched, has_kvm; /* there may be samples of these: */
	struct perf_tracepoint sched, kvm_entry, kvm_exit;
	size_t nr_begun;               /* CPUs with a known begin of their side-band */
	bool has_vcpus;                /* threads with the names of virtual CPUs */
	struct trace_ran_memos *memos; /* by unit */
	struct trace_spill spill;
	struct budget kept; /* of trace_input.kept */
};

/** NULL in rule: no memory. */
enum clew_err trace_ran_init(struct perf_trace *p);
void trace_ran_done(struct trace_ran *r);
/** trace_input.kept */
void trace_ran_free_kept(struct perf_trace *p);
/** Use the recorder's notes on when it began to record each CPU. Before that CPU's first record. */
enum clew_err trace_ran_begin(struct perf_trace *p);
/** A record with sample_id @p id, at @p time of the history. */
enum clew_err trace_ran_take(struct perf_trace *p, const struct perf_record *r,
			     const struct perf_evsel *e, const struct perf_sample_id *id,
			     struct clew_perf_ns time);
/** The same for a record of a guest's own recording, of event @p id->id. */
enum clew_err trace_ran_take_guest(struct perf_trace *p, const struct perf_record *r,
				   const struct perf_sample_id *id, struct clew_perf_ns time);
/** All records are read and all units made: decide the facts, with what the trace proves. */
enum clew_err trace_ran_close(struct perf_trace *p);

/** The chunk that ends at bound. */
struct trace_ran_chunk {
	bool is_set, has_end;
	bool has_levels; /* of the unit's protocol */
	bool is_timed;   /* its ticks compare with perf's time */
	struct clew_perf_ns bound;
	const struct aux_chunk *chunk;         /* NULL: unknown */
	const struct trace_chunk_marks *marks; /* NULL: unknown */
	struct clew_ticks end;
};

/** The set of mappings that code with an answer sees (code_source.space), and when it does. */
struct trace_ran_space {
	enum { TRACE_RAN_SPACE_UNKNOWN, TRACE_RAN_SPACE_THEN, TRACE_RAN_SPACE_ALWAYS } holds;
	uint32_t number;
	/* TRACE_RAN_SPACE_THEN: of a trace_span with this is_ticks and a time in [from, to) */
	bool is_ticks;
	struct clew_perf_ns from, to;
};

/** An answer, and where it was found. */
struct trace_ran_known {
	bool is_set;
	struct code_key key;
	struct who_answer answer;
	const struct aux_chunk *chunk; /* that holds it; NULL: unknown */
	struct trace_ran_space space;  /* kept by trace_code.c */
	struct who_cursor cursor;
};

enum trace_ran_known_of {
	TRACE_RAN_USER,
	TRACE_RAN_USER_LATER, /* it may have been switched from since the last timestamp */
	TRACE_RAN_OTHER,
	TRACE_RAN_NR_KNOWN
};

/** The last answer of each kind, as code of these kinds alternates. */
struct trace_ran_memo {
	struct trace_ran_chunk chunk;
	struct trace_ran_known known[TRACE_RAN_NR_KNOWN];
};

struct trace_ran_memos {
	bool is_op; /* a unit of sampled operations */
	bool is_taken;
	struct trace_ran_memo of_decoders; /* of the thread that has set is_taken */
	struct trace_ran_memo of_consumer;
};

static inline bool trace_ran_is_op(const struct trace_ran *r, uint32_t unit)
{
	return r->memos[unit].is_op;
}

/** Did the host's kernel run, whatever the thread? */
bool trace_ran_is_host_kernel(const struct perf_trace *p, uint32_t unit,
			      const struct code_key *key);
/** Who ran; lives until the next question about @p unit. For its consumer: one thread per unit. */
const struct who_answer *trace_ran_ask(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *key);
/** The ticks at which that answer holds. As trace_ran_ask(). @return false: unknown. */
bool trace_ran_stay(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		    struct who_stay *ret);
/** Limit @p s to [@p from, @p to); an unknown bound does not limit it. */
void trace_ran_clip(const struct perf_trace *p, struct clew_perf_ns from, struct clew_perf_ns to,
		    struct who_stay *s);
/** @p s as ticks of the trace, around @p at; if @p at is outside, that tick alone. */
struct trace_stay trace_ran_ticks_of_stay(const struct perf_trace *p, struct clew_ticks at,
					  const struct who_stay *s);
/** As trace_ran_ask(), from any thread: the answer is the borrower's until it is given back. */
struct trace_ran_loan {
	struct trace_ran_known *known;
	bool is_own; /* another thread has the unit's */
	struct trace_ran_memo own;
};
void trace_ran_borrow(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		      struct trace_ran_loan *ret);
void trace_ran_give_back(const struct perf_trace *p, uint32_t unit,
			 const struct trace_ran_loan *loan);
/** Add the contexts of @p who. */
void trace_ran_add_contexts(const struct aux_who *who, struct who_question *q);
/** A question with no more than CPU and time. @p last: the same for all of a unit, zeroed. */
struct who_question trace_ran_time_question(const struct perf_trace *p, uint32_t unit,
					    const struct code_key *key,
					    struct trace_ran_chunk *last);

#endif
