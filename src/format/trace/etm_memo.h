/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_ETM_MEMO_H
#define FORMAT_TRACE_ETM_MEMO_H

#include "base/buf.h"
#include "base/vec.h"
#include "flow/flow.h"

/*
 * A text for each executed block, made once: a program runs the same few thousand blocks all the
 * time. Zeroed struct = empty.
 */
struct etm_memo {
	struct buf text;
	struct {
		VEC(struct etm_memo_at {
			uint32_t pos;
			uint32_t bytes; /* 0: not made */
		});
	} at;
	uint32_t epoch;
};

enum { ETM_MEMO_TEXT = 16 << 20 };

/** Start anew where @p b numbers its blocks anew, or the texts became too many. @return false: out
 * of memory. */
bool etm_memo_begin(struct etm_memo *m, const struct flow_batch *b);
void etm_memo_done(struct etm_memo *m);

/** Remember @p nr's text. Without room it is not kept, which is fine. */
void etm_memo_put(struct etm_memo *m, uint32_t nr, const char *text, size_t bytes);

/** Append @p nr's text to @p out, where it is known. */
static inline bool etm_memo_copy(const struct etm_memo *m, uint32_t nr, struct buf *out)
{
	if (nr >= m->at.nr || !m->at.data[nr].bytes)
		return false;
	buf_add(out, m->text.data + m->at.data[nr].pos, m->at.data[nr].bytes);
	return true;
}

#endif
