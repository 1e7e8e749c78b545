/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_CHUNKS_H
#define TRACE_PERF_AUX_CHUNKS_H

#include <clew/time.h>

#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"
#include "who/who_ids.h"

/* Which bytes are trace: AUXTRACE buffers, and the AUX records that say what of them was written.
 */

enum {
	AUX_NONE = UINT32_MAX,        /* no such cpu, tid, index */
	AUX_MAX_CHUNKS = 16 << 20,    /* AUX records */
	AUX_MAX_BUFFERS = 16 << 20,   /* AUXTRACE records */
	AUX_MAX_HELD_BYTES = 1 << 30, /* trace of a pipe, which is kept until it is decoded */
};

struct aux_buffer { /* AUXTRACE */
	uint64_t offset;
	const uint8_t *data;
	uint64_t bytes;
	uint64_t at; /* of data in the file */
	uint32_t ring;
	uint32_t order; /* in the file */
};

/** An AUX record: what was traced up to its time, since the one before it. */
struct aux_chunk {
	/* Bound of what ran; of the chunk before it. Without a clock: numbers of records. */
	struct clew_perf_ns time, since;
	uint64_t offset, bytes; /* in the ring */
	uint64_t at;            /* of the record in the file */
	uint32_t ring,
		buffer;    /* buffer: first that holds some of it; AUX_NONE: no trace is there */
	uint32_t cpu, tid; /* where the record was written */
	uint32_t flags;
	uint32_t order;            /* in the file */
	uint64_t event;            /* its id */
	struct who_local_id owner; /* of events that follow tasks: the thread; -1: unknown */
	uint8_t protocol;
	bool is_uncovered; /* no record: bytes of buffers that none describes. Its time is only its
			      place in the order */
};

struct aux_ring {
	uint32_t cpu, tid; /* AUX_NONE: not of one */
	uint32_t protocol; /* of its chunks */
	uint32_t unit;     /* that all its bytes belong to; AUX_NONE: of several */
};

struct aux_chunks {
	struct map_u64 by_key;   /* (cpu, tid) -> ring */
	struct map_u64 by_event; /* an event's id -> its key there */
	struct {
		VEC(struct aux_ring);
	} rings;
	bool has_cpus;  /* rings of CPUs, not of threads, */
	bool is_of_all; /* and of whoever ran there */
	struct {
		VEC(struct aux_buffer);
	} buffers; /* in the end by ring and offset */
	struct {
		VEC(struct aux_chunk);
	} all; /* in the end by time */
	struct {
		VEC(struct perf_block *);
	} held;
	uint64_t held_bytes;
	struct budget_account account;
	bool is_full; /* it had no room: later trace is not decoded */
};

enum clew_err aux_chunks_take_ids(struct aux_chunks *a, const struct perf_record *r);
enum clew_err aux_chunks_take_buffer(struct aux_chunks *a, const struct perf_record *r,
				     struct clew_diag *diag);
/** What is known of an AUX record besides its contents. */
struct aux_beside {
	const struct perf_sample_id *id;
	struct clew_perf_ns time;
	uint32_t protocol;
	struct who_local_id owner;
};
enum clew_err aux_chunks_take_aux(struct aux_chunks *a, const struct perf_record *r,
				  const struct aux_beside *b);
/** All is there: find each chunk's trace, and make chunks of what no record describes where the
 * protocol's bit of @p uncovered is set. O(n log n). */
enum clew_err aux_chunks_close(struct aux_chunks *a, uint32_t uncovered);
/** --- aux_uncovered.c --- After the buffers and chunks are sorted. */
enum clew_err aux_chunks_add_uncovered(struct aux_chunks *a, uint32_t protocols);
/** After that: the first buffer of @p ring that ends after @p offset; AUX_NONE: none. O(log n). */
uint32_t aux_chunks_buffer_at(const struct aux_chunks *a, uint32_t ring, uint64_t offset);
/** Of bytes: *ret_held: what buffers hold; *ret_missing: what AUX records say was written, and no
 * buffer holds, but for areas that were overwritten. After aux_chunks_close(). O(n log n).
 * @return false: out of memory. */
bool aux_chunks_sum(const struct aux_chunks *a, uint64_t *ret_held, uint64_t *ret_missing);
void aux_chunks_done(struct aux_chunks *a);

#endif
