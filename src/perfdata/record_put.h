/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_RECORD_PUT_H
#define PERFDATA_RECORD_PUT_H

#include <stddef.h>

#include "base/buf.h"
#include "perfdata/perf_abi.h"

/* A record put together in a buffer: its size is known at the end. */

/** @return where it starts, for perf_record_end(). */
static inline size_t perf_record_begin(struct buf *b, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = {.type = type, .misc = misc};
	size_t at = b->nr;

	buf_add(b, &h, sizeof(h));
	return at;
}

static inline void perf_record_end(struct buf *b, size_t at)
{
	uint16_t size = (uint16_t)(b->nr - at);

	if (!b->is_failed)
		memcpy(b->data + at + offsetof(struct perf_event_header, size), &size,
		       sizeof(size));
}

#endif
