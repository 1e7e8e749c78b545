/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_TRACE_INPUT_H
#define TRACE_TRACE_INPUT_H

#include <clew/err.h>
#include <clew/time.h>

#include "base/bytes.h"
#include "base/progress.h"
#include "image/code_source.h"

/*
 * The hardware trace of one input, whatever its kind: an OpenCSD snapshot directory (cs_snapshot.h)
 * or a perf.data file (perf_trace.h). An input is a row of units, each with its configuration and
 * the code it ran; their bytes are separated on the way and never held as a whole.
 */

struct flow; /* flow.h: of units that have one */
struct flow_opts;

struct trace_ops_kept;
struct trace_ops_reader_type; /* trace_ops.h: of units with records of operations */

/** How a unit's bytes become a flow, or operations. */
struct trace_decoder {
	const struct trace_ops_reader_type *ops; /* NULL: they become a flow */
	/** @p config is the unit's. @return NULL: out of memory. */
	struct flow *(*flow_new)(const void *config, const struct flow_opts *opts,
				 bool splits_source_ranges);
	const struct flow_insns *insns; /* which instructions a flow of it reports */
	enum code_arch arch;
};

/** One trace unit in one session: what one decoder decodes. */
struct trace_unit {
	uint8_t id;             /* trace ID; of unformatted trace too */
	uint32_t cpu;           /* all ones: unknown */
	uint32_t tid;           /* of a buffer that belongs to one thread; all ones: none */
	uint32_t session;       /* trace buffer of a snapshot, AUX queue of a perf.data; 0 first */
	const char *name;       /* "ETM_0", "cpu 3": for messages */
	const char *file;       /* its bytes come from; NULL: the input itself */
	bool is_decodable;      /* else why, and only its packets can be looked at, if at all */
	bool has_timestamps;    /* its trace has them */
	bool has_cycles;        /* and counts of cycles */
	uint8_t max_ratio;      /* of Intel PT: the TSC's clock to the bus; 0: unknown */
	uint32_t tsc_khz;       /* the same; 0: unknown */
	const char *why_points; /* static: why only places are known, and not what ran between
				   them; NULL: that is known, too */
	struct clew_diag why;
	const struct trace_decoder *decoder; /* NULL: only its bytes are known */
	const void *config;                  /* the decoder's; lives as long as the input */
	const struct code_source *code;
};

/** What is wrong with the input, in words. */
struct trace_listener {
	/** Bytes that are not a frame, trace of an unknown ID, AUX records without trace: @p what
	 * is static, with a number (0: none); @p offset in the unit's file. NULL: not wanted. */
	enum clew_err (*warning)(void *ctx, const char *what, uint64_t number, uint64_t offset);
	void *ctx;
	/** In place of warning where the CPU is known, for who asks for it. NULL: warning. */
	enum clew_err (*warning_on)(void *ctx, const char *what, uint32_t cpu);
};

static inline enum clew_err trace_warn(const struct trace_listener *l, const char *what,
				       uint64_t number, uint64_t offset)
{
	return l->warning ? l->warning(l->ctx, what, number, offset) : CLEW_OK;
}

/** @p cpu: all ones: unknown. */
static inline enum clew_err trace_warn_on(const struct trace_listener *l, uint32_t cpu,
					  const char *what, uint64_t number, uint64_t offset)
{
	if (l->warning_on)
		return l->warning_on(l->ctx, what, cpu);
	return trace_warn(l, what, number, offset);
}

struct cs_listener; /* cs_listener.h */

/** Where the bytes go. Any error ends the run. Offsets count the unit's own bytes from 0; of a unit
 * that is an AUX ring they are the ring's. */
struct trace_sink {
	/** @p in continues where the last call for this unit ended. */
	enum clew_err (*bytes)(void *ctx, size_t unit, struct bytes in, uint64_t offset);
	/** What follows does not continue what came before: a barrier, a lost or new buffer. */
	enum clew_err (*restart)(void *ctx, size_t unit, uint64_t offset);
	/** The bytes from @p offset on were at @p file_offset of the unit's file; called before
	 * they come. NULL: not wanted. */
	enum clew_err (*mark)(void *ctx, size_t unit, uint64_t offset, uint64_t file_offset);
	/** What follows ran no later than @p bound: flow_set_bound. NULL: not wanted. */
	enum clew_err (*bound)(void *ctx, size_t unit, struct clew_perf_ns bound);
	/** Called once per unit after its last byte, also for empty units. NULL: not wanted. */
	enum clew_err (*end)(void *ctx, size_t unit);
	/** Of each unit: its bytes are not wanted, and nothing has to be done for them. NULL: all
	 * are. */
	const bool *skips;
	size_t piece_bytes; /* at most so many at a time; 0: as the input likes */
	void *ctx;
	struct trace_listener listener;
	const struct cs_listener *coresight; /* NULL: its frames are of no interest */
};

struct ana_loc;     /* analyze.h */
struct ana_tracing; /* ana_tracing.h */
struct ana_windows; /* ana_windows.h */
struct trace_stay;  /* trace_ops.h */
struct who_facts;   /* who/who_ran.h */
struct who_answer;  /* who/who_ran.h */

/** The thread a unit ran at some point. All ones and NULL: unknown. */
struct trace_thread {
	uint32_t pid, tid;
	const char *comm;
	const struct who_answer *who; /* NULL: no more is known. Until the next question */
	uint64_t life;    /* differs between threads that have one id in turn, and programs */
	bool may_be_exec; /* another program began around then: which one runs is unknown */
};

/** An open input. Made by cs_snapshot_open() or perf_trace_open(). */
struct trace_input {
	const struct trace_unit *units;
	size_t nr_units;
	const struct trace_input_ops *ops;
	struct trace_ops_kept *kept; /* of each unit; NULL: nothing is kept */
	struct clew_diag cut; /* code CLEW_TRUNCATED: the input ends inside a record, at offset; all
				 that is whole is decoded. CLEW_OK: it does not */
	uint64_t nr_bytes;    /* of trace that the input holds, */
	uint64_t nr_missing_bytes; /* and that it says was recorded and does not hold */
	/* How much of the trace was given in the run that is under way. */
	uint64_t given_bytes, total_bytes;
	uint64_t skipped_bytes;    /* of the given ones: no filter wants them */
	struct progress *progress; /* borrowed; NULL: none is shown */
};

/** Does any unit have records of operations in place of a flow? */
static inline bool trace_has_ops(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].decoder && t->units[i].decoder->ops)
			return true;
	}
	return false;
}

/** Does any unit have a flow? */
static inline bool trace_has_flow(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].decoder && !t->units[i].decoder->ops)
			return true;
	}
	return false;
}

/** Is any unit of Intel PT? */
static inline bool trace_has_x86(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].decoder && t->units[i].decoder->arch == CODE_X86)
			return true;
	}
	return false;
}

/** For inputs: a run begins, and has given some more. */
static inline void trace_input_begin(struct trace_input *t, uint64_t total_bytes)
{
	t->given_bytes = t->skipped_bytes = 0;
	t->total_bytes = total_bytes;
	progress_begin(t->progress, "decoding trace", total_bytes);
}

static inline void trace_input_gave(struct trace_input *t, uint64_t bytes)
{
	t->given_bytes += bytes;
	progress_at(t->progress, t->given_bytes);
}

static inline void trace_input_skipped(struct trace_input *t, uint64_t bytes)
{
	t->skipped_bytes += bytes;
	trace_input_gave(t, bytes);
}

struct trace_steps;

struct trace_input_ops {
	/** Give all bytes, each unit's in order; sessions one after the other. Once or more often.
	 */
	enum clew_err (*run)(struct trace_input *t, const struct trace_sink *sink,
			     struct clew_diag *diag);
	/** The same piece by piece, in one stream. @p sink is borrowed. @return NULL: no memory. */
	struct trace_steps *(*steps_new)(struct trace_input *t, const struct trace_sink *sink);
	/** The same as independent streams that the caller advances alternately: each unit's bytes
	 * are of one stream. NULL: this input cannot. */
	struct trace_steps *(*streams_new)(struct trace_input *t, const struct trace_sink *sink);
	size_t (*nr_streams)(const struct trace_steps *s); /* with streams_new */
	/** Give a piece. @return CLEW_END: there is none left, and sink.end was called. */
	enum clew_err (*step)(struct trace_steps *s, size_t stream);
	void (*steps_free)(struct trace_steps *s);
	/** The thread that ran on @p unit. From one thread at a time. */
	void (*thread)(struct trace_input *t, size_t unit, const struct code_key *key,
		       struct trace_thread *ret);
	/** Ticks of the unit's timestamps -> perf's clock. @return false: they do not convert. */
	bool (*time)(struct trace_input *t, size_t unit, struct clew_ticks ticks,
		     struct clew_perf_ns *ret);
	/** @p addr in a space of the unit's code source, resolved. Lives as long as the input.
	 * NULL: no memory. */
	const struct ana_loc *(*locate)(struct trace_input *t, uint32_t space, uint64_t addr);
	/** The same of where a call returns to: the place is that of the call. */
	const struct ana_loc *(*locate_caller)(struct trace_input *t, uint32_t space,
					       uint64_t addr);
	/** Ticks around @p key's at which an operation with the same contexts and level has the
	 * same thread and space. As thread(). NULL: only its own tick. */
	struct trace_stay (*stay)(struct trace_input *t, size_t unit, const struct code_key *key);
	/** Pages of bytes that were given may leave our memory. From any thread. NULL: none do. */
	void (*release)(const struct trace_input *t, struct bytes in);
	/** What is known of the whole recording, for units that ask who ran. NULL: none does. */
	const struct who_facts *(*who_facts)(const struct trace_input *t);
	/** When other events had tracing on; complete, but for times of the trace, which the
	 * consumer adds. NULL, or returns NULL: nothing switches it. */
	struct ana_tracing *(*tracing)(struct trace_input *t);
	/** Snapshots that the trace consists of. NULL, or returns NULL: none, or the analysis that
	 * reads the same file has them. */
	const struct ana_windows *(*windows)(const struct trace_input *t);
	void (*free)(struct trace_input *t);
};

/** trace_input_ops.thread and .time of inputs that know neither. */
static inline void trace_no_thread(struct trace_input *t, size_t unit, const struct code_key *key,
				   struct trace_thread *ret)
{
	(void)t, (void)unit, (void)key;
	*ret = (struct trace_thread){.pid = UINT32_MAX, .tid = UINT32_MAX};
}

static inline bool trace_no_time(struct trace_input *t, size_t unit, struct clew_ticks ticks,
				 struct clew_perf_ns *ret)
{
	(void)t, (void)unit, (void)ticks, (void)ret;
	return false;
}

static inline const struct ana_windows *trace_input_windows(const struct trace_input *t)
{
	return t->ops->windows ? t->ops->windows(t) : NULL;
}

static inline void trace_input_free(struct trace_input *t)
{
	if (t)
		t->ops->free(t);
}

#endif
