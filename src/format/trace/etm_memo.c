/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_memo.h"

enum { LONGEST = 64 << 10, MAX_BLOCKS = 4 << 20 };

bool etm_memo_begin(struct etm_memo *m, uint32_t epoch)
{
	if (m->epoch != epoch || m->text.nr > ETM_MEMO_TEXT) {
		m->epoch = epoch;
		m->at.nr = 0;
		buf_clear(&m->text);
	}
	return !m->text.is_failed;
}

void etm_memo_put(struct etm_memo *m, uint32_t nr, const char *text, size_t bytes)
{
	if (bytes > LONGEST || nr >= MAX_BLOCKS || m->text.nr > ETM_MEMO_TEXT)
		return;
	while (m->at.nr <= nr) {
		if (!vec_push(&m->at, (struct etm_memo_at){0, 0}))
			return;
	}
	m->at.data[nr] = (struct etm_memo_at){(uint32_t)m->text.nr, (uint32_t)bytes};
	buf_add(&m->text, text, bytes);
}

void etm_memo_done(struct etm_memo *m)
{
	buf_done(&m->text);
	vec_done(&m->at);
	*m = (struct etm_memo){0};
}
