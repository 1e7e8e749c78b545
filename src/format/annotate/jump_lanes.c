/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/annotate/jump_lanes.h"

#include <stdlib.h>

enum {
	JUMP_FROM = 1,
	JUMP_TO = 2,
	MAX_SPAN = 1000 /* instructions: the eye follows no longer line, and finding a lane ends */
};

struct jump {
	uint32_t from, to, first, last;
};

struct jumps {
	VEC(struct jump);
};

void jump_lanes_done(struct jump_lanes *l)
{
	mem_free(l->owners);
	mem_free(l->ends);
	*l = (struct jump_lanes){0};
}

static uint32_t *owner(const struct jump_lanes *l, size_t insn, unsigned int lane)
{
	return &l->owners[insn * JUMP_LANES + lane];
}

static int by_length(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	uint32_t m = x->last - x->first, n = y->last - y->first;

	if (m != n)
		return m < n ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool list(struct jumps *v, const struct annotation *a)
{
	for (size_t i = 0; i < a->insns.nr; i++) {
		uint32_t from = (uint32_t)i, to = a->insns.data[i].target;
		struct jump j = {from, to, from < to ? from : to, from < to ? to : from};

		if (to != ANN_NONE && j.last - j.first <= MAX_SPAN && !vec_push(v, j))
			return false;
	}
	if (v->nr)
		qsort(v->data, v->nr, sizeof(*v->data), by_length);
	return true;
}

static bool is_free(const struct jump_lanes *l, const struct jump *j, unsigned int lane)
{
	for (size_t i = j->first; i <= j->last; i++) {
		if (*owner(l, i, lane))
			return false;
	}
	return true;
}

static void draw(struct jump_lanes *l, const struct jump *j)
{
	unsigned int lane = 0;

	while (lane < JUMP_LANES && !is_free(l, j, lane))
		lane++;
	if (lane == JUMP_LANES)
		return;
	for (size_t i = j->first; i <= j->last; i++)
		*owner(l, i, lane) = j->from + 1;
	l->ends[j->from] |= JUMP_FROM;
	l->ends[j->to] |= JUMP_TO;
	l->nr = lane + 1 > l->nr ? lane + 1 : l->nr;
}

bool jump_lanes_make(struct jump_lanes *l, const struct annotation *a)
{
	size_t nr = a->insns.nr ? a->insns.nr : 1;
	struct jumps v = {0};
	bool ok;

	*l = (struct jump_lanes){.a = a};
	l->owners = mem_calloc(nr, JUMP_LANES * sizeof(*l->owners));
	l->ends = mem_calloc(nr, 1);
	ok = l->owners && l->ends && list(&v, a);
	for (size_t i = 0; ok && i < v.nr; i++)
		draw(l, &v.data[i]);
	vec_done(&v);
	return ok;
}

int jump_lanes_of(const struct jump_lanes *l, size_t i)
{
	for (unsigned int lane = 0; l->ends[i] & JUMP_FROM && lane < l->nr; lane++) {
		if (*owner(l, i, lane) == i + 1)
			return (int)lane;
	}
	return -1;
}

/** Does the jump of that lane begin or end at @p i? */
static bool is_end(const struct jump_lanes *l, size_t i, uint32_t jump)
{
	return jump && (jump - 1 == i || l->a->insns.data[jump - 1].target == i);
}

static char cell(const struct jump_lanes *l, size_t i, unsigned int lane, bool is_source)
{
	uint32_t jump = *owner(l, i, lane);

	if (is_source)
		return i && jump && *owner(l, i - 1, lane) == jump ? '|' : ' ';
	return !jump ? ' ' : is_end(l, i, jump) ? '+' : '|';
}

void jump_lanes_put(const struct jump_lanes *l, struct buf *out, size_t i, bool is_source)
{
	bool has_end = false;

	if (!l->nr)
		return;
	for (unsigned int lane = l->nr; lane-- > 0;) {
		char c = cell(l, i, lane, is_source);

		buf_char(out, c == ' ' && has_end ? '-' : c);
		has_end |= c == '+';
	}
	buf_char(out, !has_end ? ' ' : l->ends[i] & JUMP_TO ? '>' : '-');
	buf_char(out, ' ');
}
