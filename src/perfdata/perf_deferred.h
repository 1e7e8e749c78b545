/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_DEFERRED_H
#define PERFDATA_PERF_DEFERRED_H

#include "base/buf.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"

/*
 * What clew's recordings say beyond the kernel's format of deferred user stacks.
 *
 * 1. Cookies. clew's cookie is cpu + 1 in the low 16 bits (which no carry reaches) and the CPU's
 *    counter above. The low half 0 is never a cookie: such a word after PERF_CONTEXT_USER_DEFERRED
 *    says why there is none (enum perf_no_stack << 16). PERF_COOKIE_OWN: the stack is of one sample
 *    alone, read with it, and says nothing of other cookies that its task waits for.
 * 2. A trailer between ips[nr] and the sample_id of PERF_RECORD_CALLCHAIN_DEFERRED, where the
 *    kernel writes nothing and perf looks from both ends:
 *
 *      4 bytes 'C' 'L' 'E' 'W' | u8 version 1 | u8 stop (enum unw_stop) | u8 why (enum unw_why) |
 *      u8 method of all frames, 0xff: mixed | if mixed: 4 bits a frame, padded to 8 bytes
 *
 *    The first frame was found by no step, so that it does not make the others mixed. All bytes
 *    are bytes: the trailer is the same in either byte order.
 */
enum perf_no_stack {
	PERF_NO_STACK_NONE,
	PERF_NO_STACK_KERNEL_THREAD, /* none expected */
	PERF_NO_STACK_IDLE,          /* none expected */
	PERF_NO_STACK_EXITING,       /* none expected */
	PERF_NO_STACK_MAP_FULL,      /* more tasks at once than there was room for */
	PERF_NO_STACK_RING_FULL,     /* the request or its answer found no room */
	PERF_NO_STACK_REFUSED,       /* the kernel did not take the request */
	PERF_NO_STACK_UNMATCHED,     /* the sample's request was not found */
	NR_PERF_NO_STACK
};

static inline uint64_t perf_no_stack_cookie(enum perf_no_stack why)
{
	return (uint64_t)why << 16;
}

#define PERF_COOKIE_OWN (1ull << 63)

static inline bool perf_cookie_is_none(uint64_t cookie)
{
	return (cookie & 0xffff) == 0;
}

enum {
	PERF_DEFERRED_MAX_FRAMES = 510, /* as many as a record of the kernel's holds */
	PERF_DEFERRED_MIXED = 0xff,
	PERF_DEFERRED_ORIGIN = 0x7, /* of a method: enum unw_origin */
	PERF_DEFERRED_EXACT = 0x8,  /* of a method: found by a signal frame, no return address */
};

/** Of a word for which perf_cookie_is_none(); NONE: no reason that we know. */
static inline enum perf_no_stack perf_no_stack_of(uint64_t cookie)
{
	uint64_t why = cookie >> 16;

	return why < NR_PERF_NO_STACK ? (enum perf_no_stack)why : PERF_NO_STACK_NONE;
}

struct perf_deferred_trailer {
	uint8_t stop, why, method; /* method PERF_DEFERRED_MIXED: see methods */
	const uint8_t *methods;    /* 4 bits a frame, low half first; NULL: all alike. Borrowed from
				      the record */
};

/** Method of frame @p i (enum unw_origin, PERF_DEFERRED_EXACT), which must be below the record's
 * nr. */
static inline uint8_t perf_deferred_method(const struct perf_deferred_trailer *t, uint32_t i)
{
	if (t->methods)
		return t->methods[i / 2] >> 4 * (i & 1) & 0xf;
	return i ? t->method : 0;
}

/**
 * The trailer of @p r, a PERF_RECORD_CALLCHAIN_DEFERRED followed by @p id_bytes of sample_id.
 * @return false: there is none, or not one of this version; *ret is as it was.
 */
bool perf_deferred_trailer(const struct perf_record *r, size_t id_bytes,
			   struct perf_deferred_trailer *ret);

/** Append a whole trailer for @p nr frames with @p method one byte each (NULL: all 0). */
void perf_deferred_put_trailer(struct buf *b, uint8_t stop, uint8_t why, const uint8_t *method,
			       uint32_t nr);

/** A user stack, as it is written. */
struct perf_deferred_stack {
	uint64_t cookie;
	const uint64_t *ips;
	const uint8_t *methods; /* of each frame; NULL: all 0 */
	uint32_t nr;
	uint8_t stop, why;
};

/** Append @p s as a PERF_RECORD_CALLCHAIN_DEFERRED with our trailer, then @p id. The record
 * must stay below 64 KiB. */
void perf_deferred_put(struct buf *b, const struct perf_deferred_stack *s,
		       const struct perf_attr *attr, const struct perf_sample_id *id);

#endif
