/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SINK_FLUSH_H
#define FORMAT_SINK_FLUSH_H

#include "base/buf.h"
#include "base/sink.h"

/** Give @p out to @p sink, and empty it, if it holds more than @p least bytes. @return what the
 * sink says; CLEW_NO_MEMORY: @p out could not hold all. */
static inline enum clew_err sink_flush(const struct clew_sink *sink, struct buf *out, size_t least)
{
	enum clew_err err = out->is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	if (err || out->nr <= least)
		return err;
	err = sink->write(sink->ctx, out->data, out->nr);
	buf_clear(out);
	return err;
}

#endif
