/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/cs_marks.h"

enum clew_err cs_put_marks(const struct trace_sink *sink, size_t unit, uint64_t offset,
			   const struct cs_stream *s)
{
	enum clew_err err = CLEW_OK;
	uint64_t next, file_offset;
	size_t i = 0;

	for (uint64_t pos = 0; sink->mark && !err && pos < s->bytes.nr; pos = next) {
		next = cs_stream_piece(s, pos, &i, &file_offset);
		err = sink->mark(sink->ctx, unit, offset + pos, file_offset);
	}
	return err;
}
