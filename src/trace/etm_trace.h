/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_ETM_TRACE_H
#define TRACE_ETM_TRACE_H

#include <clew/err.h>

#include "base/progress.h"
#include "flow/flow.h"
#include "packet/coresight/cs_frame.h"
#include "packet/etm/etm_config.h"

/*
 * The ETM and ETE trace of one input, whatever its kind: an OpenCSD snapshot directory or a raw
 * trace file (cs_snapshot.h), or a perf.data file with cs_etm (perf_etm.h). An input is a row of
 * units, each with its configuration and the code it ran; their bytes are demultiplexed on the way
 * and never held as a whole.
 */

/** One trace unit in one session: what one decoder decodes. */
struct etm_unit {
	uint8_t id;        /* trace ID; of unformatted trace too */
	uint32_t cpu;      /* all ones: not known */
	uint32_t tid;      /* of a buffer that belongs to one thread; all ones: none */
	uint32_t session;  /* trace buffer of a snapshot, AUX queue of a perf.data; 0 first */
	const char *name;  /* "ETM_0", "cpu 3": for messages */
	const char *file;  /* its bytes come from; NULL: the input itself */
	bool is_decodable; /* else why, and only its packets can be looked at, if at all */
	struct clew_diag why;
	struct etm_config config;
	const struct code_source *code;
};

/** What the frames of a run held beside the units' trace. */
struct etm_frames {
	struct cs_counts counts;
	uint64_t nr_nobodys[CS_NR_IDS]; /* bytes of a trace ID that no unit has */
};

/** Where the bytes go. Any error ends the run. Offsets count the unit's own bytes from 0, those of
 * trouble the bytes of its file. */
struct etm_sink {
	/** @p in goes on where the last call for this unit ended. */
	enum clew_err (*bytes)(void *ctx, size_t unit, struct bytes in, uint64_t offset);
	/** What follows does not continue what came before: a barrier, a lost or new buffer. */
	enum clew_err (*restart)(void *ctx, size_t unit, uint64_t offset);
	/** The bytes from @p offset on were at @p file_offset of the unit's file; told before they
	 * come. NULL: not wanted. */
	enum clew_err (*mark)(void *ctx, size_t unit, uint64_t offset, uint64_t file_offset);
	/** What follows ran no later than @p bound: flow_set_bound. */
	enum clew_err (*bound)(void *ctx, size_t unit, uint64_t bound);
	/** Bytes that are not a frame, trace of an ID nobody told of, AUX records without trace:
	 * @p what in static words, with a number (0: none). NULL: not wanted. */
	enum clew_err (*trouble)(void *ctx, const char *what, uint64_t number, uint64_t offset);
	/** That was the last of this unit in this run; of units without a byte too. NULL: not
	 * wanted. */
	enum clew_err (*end)(void *ctx, size_t unit);
	/** The last of a run; all zeros where no trace was in frames. NULL: not wanted. */
	enum clew_err (*frames)(void *ctx, const struct etm_frames *f);
	/** Each frame and what lies between them, in order; @p file as in struct etm_unit. Slow.
	 * NULL: not wanted. */
	enum clew_err (*seen)(void *ctx, const char *file, const struct cs_seen *s);
	/** Of each unit: its bytes are not wanted, and nothing has to be done for them. NULL: all
	 * are. */
	const bool *skips;
	void *ctx;
};

/** Whose code a unit ran at some point, where the input tells. All ones and NULL: not known. */
struct etm_thread {
	uint32_t pid, tid;
	const char *comm;
};

struct ana_loc; /* analyze.h */

/** An open input. Made by cs_snapshot_open() or perf_etm_open(). */
struct etm_trace {
	const struct etm_unit *units;
	size_t nr_units;
	const struct etm_trace_ops *ops;
	/* How much of the trace was given in the run that is under way. */
	uint64_t given_bytes, total_bytes;
	struct progress *progress; /* told of it; borrowed. NULL: no one looks */
};

/** For inputs: a run begins, and has given some more. */
static inline void etm_trace_begin(struct etm_trace *t, uint64_t total_bytes)
{
	t->given_bytes = 0;
	t->total_bytes = total_bytes;
	progress_begin(t->progress, "decoding trace", total_bytes);
}

static inline void etm_trace_gave(struct etm_trace *t, uint64_t bytes)
{
	t->given_bytes += bytes;
	progress_at(t->progress, t->given_bytes);
}

struct etm_steps;

struct etm_trace_ops {
	/** Give all bytes, each unit's in order; sessions one after the other. Once or more often.
	 */
	enum clew_err (*run)(struct etm_trace *t, const struct etm_sink *sink,
			     struct clew_diag *diag);
	/** The same piece by piece, in lanes that the caller takes by turns: each unit's bytes are
	 * of one lane. NULL: this input cannot. @p sink is borrowed. @return NULL: no memory. */
	struct etm_steps *(*steps_new)(struct etm_trace *t, const struct etm_sink *sink);
	size_t (*nr_lanes)(const struct etm_steps *s);
	/** Give a piece. @return CLEW_END: there is none any more, and the units were told. */
	enum clew_err (*step)(struct etm_steps *s, size_t lane);
	void (*steps_free)(struct etm_steps *s);
	/** The thread that ran on @p unit in @p context; @p ticks and @p bound as code_key's. */
	void (*thread)(struct etm_trace *t, size_t unit, const struct flow_context *context,
		       uint64_t ticks, uint64_t bound, struct etm_thread *ret);
	/** Ticks of the trace -> perf's clock, ns. @return false: cannot be told. */
	bool (*time)(struct etm_trace *t, size_t unit, uint64_t ticks, uint64_t *ret_ns);
	/** @p addr in a space of the unit's code source, resolved. Lives as long as the input.
	 * NULL: no memory. */
	const struct ana_loc *(*locate)(struct etm_trace *t, uint32_t space, uint64_t addr);
	void (*free)(struct etm_trace *t);
};

/** Decode all units, each with a flow of its own. */
struct etm_decode_opts {
	unsigned int nr_threads; /* 0: as many as there are CPUs, 1: this one alone */
	bool splits_source_ranges;
	size_t max_cache_bytes; /* of all units of a session together; 0: as flow_opts */
	/** Of each unit: leave it out? NULL: none. */
	const bool *skips;
	/** In order for each unit; called from the calling thread only. NULL: only count. */
	enum clew_err (*batch)(void *ctx, size_t unit, const struct flow_batch *b);
	/** As etm_sink.trouble. */
	enum clew_err (*trouble)(void *ctx, const char *what, uint64_t number, uint64_t offset);
	/** After the last byte of a unit: totals, and with batch == NULL its edges are asked for
	 * here. */
	enum clew_err (*unit_end)(void *ctx, size_t unit, struct flow *flow);
	/** As etm_sink.frames. */
	enum clew_err (*frames)(void *ctx, const struct etm_frames *f);
	void *ctx;
};
/** Units that are not decodable are left out. */
enum clew_err etm_trace_decode(struct etm_trace *t, const struct etm_decode_opts *opts,
			       struct clew_diag *diag);

/** The same, where the caller says whose trace comes next. @p opts is copied; NULL in *ret: this
 * input cannot. */
struct etm_decoding;
enum clew_err etm_decoding_new(struct etm_decoding **ret, struct etm_trace *t,
			       const struct etm_decode_opts *opts);
void etm_decoding_free(struct etm_decoding *d);
size_t etm_decoding_lanes(const struct etm_decoding *d);
/** Decode a piece of a lane's trace, and deliver all that came of it. @return CLEW_END: it is over,
 * with the end of each of its units. */
enum clew_err etm_decoding_step(struct etm_decoding *d, size_t lane);

static inline void etm_trace_free(struct etm_trace *t)
{
	if (t)
		t->ops->free(t);
}

#endif
