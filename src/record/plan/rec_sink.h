/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_SINK_H
#define RECORD_PLAN_REC_SINK_H

#include "base/sink.h"

/**
 * Where a recording goes that becomes no file: the stream that a pipe would get. All calls come
 * from the thread of the session, which they hold up: what takes long leaves records in the rings.
 */
struct rec_sink {
	/** Another stream begins with the next write: the first one, and one for each switch. */
	void (*begin)(void *ctx);
	/** Whole records when round() follows. An error ends the recording. */
	enum clew_err (*write)(void *ctx, const void *data, size_t size);
	/** All that the sources had is written; also where that was nothing. */
	void (*round)(void *ctx);
	void *ctx;
};

#endif
