/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_BLOCK_MEMO_H
#define FORMAT_TRACE_BLOCK_MEMO_H

#include "base/buf.h"
#include "base/vec.h"

/*
 * A text for each executed block, made once: a program runs the same few thousand blocks all the
 * time. Zeroed struct = empty.
 */
struct block_memo {
	struct buf text;
	struct {
		VEC(struct block_memo_at {
			uint32_t pos;
			uint32_t bytes; /* 0: not made */
		});
	} at;
	uint32_t epoch;
};

enum { BLOCK_MEMO_TEXT = 16 << 20 };

/** Empty it where @p epoch changed, as blocks are then renumbered, or where there are too many
 * texts.
 * @return false: out of memory. */
bool block_memo_begin(struct block_memo *m, uint32_t epoch);
void block_memo_done(struct block_memo *m);

/** Remember @p nr's text. Without room it is not kept, which is fine. */
void block_memo_put(struct block_memo *m, uint32_t nr, const char *text, size_t bytes);

/** Where @p nr's text is in @p m->text; NULL: there is none. */
static inline const struct block_memo_at *block_memo_find(const struct block_memo *m, uint32_t nr)
{
	return nr < m->at.nr && m->at.data[nr].bytes ? &m->at.data[nr] : NULL;
}

/** Append @p nr's text to @p out, where it is known. */
static inline bool block_memo_copy(const struct block_memo *m, uint32_t nr, struct buf *out)
{
	const struct block_memo_at *at = block_memo_find(m, nr);

	if (at)
		buf_add(out, m->text.data + at->pos, at->bytes);
	return at;
}

#endif
