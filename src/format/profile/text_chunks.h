/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_TEXT_CHUNKS_H
#define FORMAT_PROFILE_TEXT_CHUNKS_H

#include "base/escape.h"
#include "format/sink_flush.h"

/** Text that goes to a sink in large pieces. The first error sticks. */
struct text_chunks {
	struct buf text;
	const struct clew_sink *sink;
	enum clew_err err;
};

enum { TEXT_CHUNK_BYTES = 64 << 10 };

static inline void text_chunks_flush(struct text_chunks *t)
{
	if (!t->err)
		t->err = sink_flush(t->sink, &t->text, 0);
	buf_clear(&t->text);
}

/** The end of a line. */
static inline void text_chunks_line(struct text_chunks *t)
{
	buf_char(&t->text, '\n');
	if (t->text.nr >= TEXT_CHUNK_BYTES)
		text_chunks_flush(t);
}

/** @p reserved, which ends a name in this format, is written as '_'. */
static inline void text_chunks_name(struct text_chunks *t, const char *name, char reserved)
{
	size_t from = t->text.nr;

	escape_str(&t->text, name);
	for (size_t i = from; i < t->text.nr; i++) {
		if (t->text.data[i] == reserved)
			t->text.data[i] = '_';
	}
}

static inline enum clew_err text_chunks_end(struct text_chunks *t)
{
	text_chunks_flush(t);
	buf_done(&t->text);
	return t->err;
}

#endif
