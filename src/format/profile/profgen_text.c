/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/profgen_text.h"

#include "format/profile/text_chunks.h"

enum { FROM_ELSEWHERE = 1 };

static void put_pair(struct text_chunks *t, uint64_t a, const char *between, uint64_t b,
		     uint64_t nr)
{
	buf_hex(&t->text, a, 0, ' ');
	buf_str(&t->text, between);
	buf_hex(&t->text, b, 0, ' ');
	buf_char(&t->text, ':');
	buf_dec(&t->text, nr, 0, ' ');
	text_chunks_line(t);
}

static void put_runs(struct text_chunks *t, const struct code_table *runs)
{
	buf_printf(&t->text, "%zu\n", runs->nr);
	vec_for_each (runs, e)
		put_pair(t, e->a, "-", e->b, e->nr);
}

static void put_branches(struct text_chunks *t, const struct code_table *branches)
{
	size_t nr = 0;

	vec_for_each (branches, e)
		nr += e->b != CODE_ELSEWHERE;
	buf_printf(&t->text, "%zu\n", nr);
	vec_for_each (branches, e) {
		if (e->b != CODE_ELSEWHERE)
			put_pair(t, e->a == CODE_ELSEWHERE ? FROM_ELSEWHERE : e->a, "->", e->b,
				 e->nr);
	}
}

enum clew_err profgen_text(const struct counted_binary *b, const struct clew_sink *sink)
{
	struct text_chunks t = {.sink = sink};

	put_runs(&t, &b->counts.runs);
	put_branches(&t, &b->counts.branches);
	return text_chunks_end(&t);
}
