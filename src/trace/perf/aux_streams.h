/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_STREAMS_H
#define TRACE_PERF_AUX_STREAMS_H

#include "trace/perf/aux_protocol.h"
#include "trace/trace_input.h"

/* A pass over the trace: which bytes of which ring come next. The protocol takes them apart into
 * those of units. */

/** Chunks with trace that is given in their order, and how far it was given. */
struct aux_stream {
	void *readers[AUX_MAX_PROTOCOLS];
	void *reader;                  /* of the protocol of the chunk; NULL: none was begun */
	uint32_t next;                 /* chunk; AUX_NONE: none is left */
	const struct aux_chunk *chunk; /* NULL: between two */
	uint32_t buffer;
	uint64_t from, end, missing; /* missing: bytes that no buffer holds */
	uint64_t piece;              /* where the bytes begin that are given now */
	uint64_t number;             /* of the piece of trace without gaps */
	uint64_t released;
	bool is_seen; /* the buffer */
	bool is_new;  /* the next byte does not continue the last one */
	bool has_ended;
};

struct trace_steps {
	struct perf_trace *p;
	const struct trace_sink *sink;
	void *owns[AUX_MAX_PROTOCOLS]; /* each protocol's, of this pass */
	uint64_t *offsets;             /* of each unit's stream of bytes */
	uint64_t *begun;               /* by each unit: number of the piece */
	uint64_t *given;               /* of each ring: all before this offset */
	uint32_t *stream_of_unit;      /* that reports its end; of one without trace too */
	uint32_t *next_of;             /* of each chunk: the next one of its stream */
	struct aux_stream *streams;
	size_t nr_streams, piece_bytes;
	uint64_t last_number;
	uint64_t bytes, steps; /* that may still be looked at */
	bool is_spent, is_reported_spent;
	bool is_single; /* one stream that the caller advances */
};

/* trace_input_ops.run and steps; streams_new is in aux_sharing.h. */

enum clew_err aux_streams_run(struct trace_input *t, const struct trace_sink *sink,
			      struct clew_diag *diag);
struct trace_steps *aux_streams_new_single(struct trace_input *t, const struct trace_sink *sink);
/** Nothing was given yet: @p nr streams in place of one; @p stream_of: of each ring, NULL: all are
 * of the first. @return false: no memory. */
bool aux_streams_part(struct trace_steps *s, size_t nr, const uint32_t *stream_of);
size_t aux_streams_nr(const struct trace_steps *s);
enum clew_err aux_streams_step(struct trace_steps *s, size_t stream);
void aux_streams_free(struct trace_steps *s);

/* For protocols */

/** What the protocol @p type keeps for the pass. */
void *aux_streams_own(const struct trace_steps *r, uint32_t type);

enum clew_err aux_streams_warn(const struct trace_steps *r, const char *what, uint64_t nr,
			       uint64_t offset);
/** The unit's next bytes are of the stream's chunk: the first of them start it afresh. */
enum clew_err aux_streams_begin(struct trace_steps *r, const struct aux_stream *s, uint32_t unit);
/** After that. */
enum clew_err aux_streams_give(struct trace_steps *r, uint32_t unit, struct bytes in);
/** Restart each unit with bytes to come in the stream. */
void aux_streams_break(struct trace_steps *r, struct aux_stream *s);
/** All bytes are those of the unit of the chunk's CPU. */
enum clew_err aux_streams_take_raw(struct trace_steps *r, const struct aux_stream *s,
				   struct bytes in, uint64_t offset);

#endif
