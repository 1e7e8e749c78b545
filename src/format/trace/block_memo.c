/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/block_memo.h"

enum { LONGEST = 64 << 10, MAX_BLOCKS = 4 << 20 };

bool block_memo_begin(struct block_memo *m, uint32_t epoch)
{
	if (m->epoch != epoch || m->text.nr > BLOCK_MEMO_TEXT) {
		m->epoch = epoch;
		m->at.nr = 0;
		buf_clear(&m->text);
	}
	return !m->text.is_failed;
}

void block_memo_put(struct block_memo *m, uint32_t nr, const char *text, size_t bytes)
{
	if (bytes > LONGEST || nr >= MAX_BLOCKS || m->text.nr > BLOCK_MEMO_TEXT)
		return;
	while (m->at.nr <= nr) {
		if (!vec_push(&m->at, (struct block_memo_at){0, 0}))
			return;
	}
	m->at.data[nr] = (struct block_memo_at){(uint32_t)m->text.nr, (uint32_t)bytes};
	buf_add(&m->text, text, bytes);
}

void block_memo_done(struct block_memo *m)
{
	buf_done(&m->text);
	vec_done(&m->at);
	*m = (struct block_memo){0};
}
