/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_GUEST_IDS_H
#define TRACE_EVENTS_GUEST_IDS_H

#include "trace/trace_input.h"

/**
 * The threads of guests that a host's trace shows: while the host's thread @p tid ran a guest, at
 * @p ns, CONTEXTIDR_EL1 was @p id. Of equal ids in a row on a CPU, the first and the last one.
 */
struct guest_ids_sink {
	/** @return false: no memory. */
	bool (*take)(void *ctx, uint32_t tid, struct clew_perf_ns ns, uint32_t id);
	void *ctx;
};

/** Decodes the whole trace. Errors as trace_decode(). */
enum clew_err guest_ids_read(struct trace_input *t, const struct guest_ids_sink *sink);

#endif
