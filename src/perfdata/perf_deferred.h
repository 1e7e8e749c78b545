/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_DEFERRED_H
#define PERFDATA_PERF_DEFERRED_H

#include "base/buf.h"
#include "perfdata/perf_record.h"

/*
 * What clew's recordings say beyond the kernel's format of deferred user stacks.
 *
 * 1. Cookies. clew's cookie is cpu + 1 in the low 16 bits (which no carry reaches) and the CPU's
 *    counter above. The low half 0 is never a cookie: such a word behind PERF_CONTEXT_USER_DEFERRED
 *    says why there is none (enum perf_no_stack << 16).
 * 2. A trailer between ips[nr] and the sample_id of PERF_RECORD_CALLCHAIN_DEFERRED, where the
 *    kernel writes nothing and perf looks from both ends:
 *
 *      u32 magic 'CLEW' | u8 version 1 | u8 stop (enum unw_stop) | u8 why (enum unw_why) |
 *      u8 method of all frames, 0xff: mixed | if mixed: 4 bits a frame, padded to 8 bytes
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
};

static inline uint64_t perf_no_stack_cookie(enum perf_no_stack why)
{
	return (uint64_t)why << 16;
}

static inline bool perf_cookie_is_none(uint64_t cookie)
{
	return (cookie & 0xffff) == 0;
}

struct perf_deferred_trailer {
	uint8_t stop, why, method; /* method 0xff: see methods */
	const uint8_t *methods;    /* 4 bits a frame, low half first; NULL: all alike */
};

/** The trailer of @p r with @p nr frames and @p id_bytes of sample_id behind. false: none. */
bool perf_deferred_trailer(const struct perf_record *r, size_t id_bytes,
			   struct perf_deferred_trailer *ret);

/** Append a whole trailer for @p nr frames with @p method one byte each. */
void perf_deferred_put_trailer(struct buf *b, uint8_t stop, uint8_t why, const uint8_t *method,
			       uint32_t nr);

#endif
