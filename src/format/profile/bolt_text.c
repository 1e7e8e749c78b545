/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/bolt_text.h"

#include "base/map_u64.h"
#include "base/u64.h"
#include "format/profile/text_chunks.h"

static void put_address(struct text_chunks *t, uint64_t address)
{
	if (address == CODE_ELSEWHERE)
		buf_str(&t->text, " X:0");
	else
		buf_printf(&t->text, " %llx", (unsigned long long)address);
}

static void put_branches(struct text_chunks *t, const struct counted_binary *b)
{
	vec_for_each (&b->counts.branches, e) {
		buf_char(&t->text, 'B');
		put_address(t, e->a);
		put_address(t, e->b);
		buf_printf(&t->text, " %llu %llu", (unsigned long long)e->nr,
			   (unsigned long long)e->nr_part);
		text_chunks_line(t);
	}
}

static void put_fall_through(struct text_chunks *t, char kind, uint64_t first, uint64_t last,
			     uint64_t nr)
{
	if (!nr)
		return;
	buf_char(&t->text, kind);
	put_address(t, first);
	put_address(t, last);
	buf_printf(&t->text, " %llu", (unsigned long long)nr);
	text_chunks_line(t);
}

/** @p nr times from @p first to @p last; *returns of them, at most, entered by a return. */
static void put_split(struct text_chunks *t, uint64_t first, uint64_t last, uint64_t nr,
		      uint64_t *returns)
{
	uint64_t nr_behind_calls = nr < *returns ? nr : *returns;

	put_fall_through(t, 'F', first, last, nr - nr_behind_calls);
	put_fall_through(t, 'f', first, last, nr_behind_calls);
	*returns -= nr_behind_calls;
}

/*
 * How executions that entered by a return left the range after a call is not counted. It does not
 * matter: BOLT adds up edges, and the edge from the call is the same.
 */
static void put_runs(struct text_chunks *t, const struct counted_binary *b,
		     const struct map_u64 *returns_to)
{
	uint64_t returns = 0, at = CODE_ELSEWHERE;

	vec_for_each (&b->counts.runs, e) {
		if (e->a != at) {
			const uint64_t *nr = map_u64_get(returns_to, e->a);

			returns = nr ? *nr : 0;
			at = e->a;
		}
		if (e->flags & CODE_ENTERED) {
			put_fall_through(t, 'F', e->a, e->b, e->nr - e->nr_part);
			put_fall_through(t, 'f', e->a, e->b, e->nr_part);
			continue;
		}
		put_split(t, e->a, e->b, e->nr - e->nr_part, &returns);
		put_split(t, e->a, e->b + e->last_bytes, e->nr_part, &returns);
	}
}

static bool count_returns(struct map_u64 *to, const struct counted_binary *b)
{
	vec_for_each (&b->counts.branches, e) {
		uint64_t *nr = map_u64_get(to, e->b);

		if (!(e->flags & CODE_RETURN))
			continue;
		if (!nr && !map_u64_put(to, e->b, e->nr))
			return false;
		if (nr)
			*nr = u64_sum(*nr, e->nr);
	}
	return true;
}

enum clew_err bolt_text(const struct counted_binary *b, const struct clew_sink *sink)
{
	struct text_chunks t = {.sink = sink};
	struct map_u64 returns_to = {0};

	if (!count_returns(&returns_to, b))
		t.err = CLEW_NO_MEMORY;
	put_branches(&t, b);
	put_runs(&t, b, &returns_to);
	map_u64_done(&returns_to);
	return text_chunks_end(&t);
}
