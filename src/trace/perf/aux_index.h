/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_INDEX_H
#define TRACE_PERF_AUX_INDEX_H

#include <clew/err.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/vec.h"

/*
 * Where in a recording's trace decoding can begin, and when that was: found by one scan, and kept
 * beside the file (aux_index_file.c), so that filters decode only what they need (aux_wanted.h).
 */

struct perf_trace;

enum {                              /* of a place */
       AUX_SYNC_TIME = 1 << 0,      /* it has a stamp */
       AUX_SYNC_ON = 1 << 5,        /* something is traced there */
       AUX_SYNC_BRANCH = 1 << 6,    /* and a branch is reported before the next place */
       AUX_SYNC_ALL = (1 << 7) - 1, /* others: what it says besides, in bits of the protocol */
       AUX_SYNC_STAMP_BITS = 56
};

/** In some bytes: what aux_protocol.find_sync() returns. */
struct aux_found {
	size_t at;
	uint64_t stamp; /* AUX_SYNC_STAMP_BITS of its ticks */
	uint8_t has;    /* AUX_SYNC_ bits */
};

struct aux_sync {
	uint64_t offset; /* in the ring */
	uint64_t stamp;
	uint8_t has;
};

struct aux_index_ring {
	uint32_t cpu, tid; /* as aux_ring */
	struct {
		VEC(struct aux_sync);
	} places; /* by offset */
};

/** Zeroed: empty. */
struct aux_index {
	VEC(struct aux_index_ring); /* those of aux_chunks */
};

void aux_index_done(struct aux_index *x);

/** Scan all rings of protocols that can. O(bytes of trace). */
enum clew_err aux_index_scan(struct aux_index *x, const struct perf_trace *p);
/** Is that what the trace has there? */
bool aux_index_is_true(const struct perf_trace *p, uint32_t ring, const struct aux_sync *s);

/* --- aux_index_file.c --- */

/** What a file of an index belongs to. */
struct aux_index_key {
	uint64_t size, mtime_ns; /* of the recording */
	uint64_t head;           /* hash of its first bytes */
};

/** @p ret: appended to. */
void aux_index_write(const struct aux_index *x, const struct aux_index_key *key, struct buf *ret);
/** @p x: empty; filled only on success. Any bytes may be read. @return CLEW_BAD_FILE: they are of
 * another recording or version, or damaged; CLEW_NO_MEMORY. */
enum clew_err aux_index_read(struct aux_index *x, const struct aux_index_key *key, struct bytes in);

/** Of the recording: from beside it, or by a scan, which is kept there if that pays. */
enum clew_err aux_index_load(struct aux_index *x, const struct perf_trace *p);
/** The same, without what stands beside it. */
enum clew_err aux_index_renew(struct aux_index *x, const struct perf_trace *p);

#endif
