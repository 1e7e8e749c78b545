/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/hash.h"
#include "cli/tui_browser_impl.h"

static uint64_t identity_of(const struct tui_browser *b, uint64_t above, uint64_t node)
{
	return hash_two(above, b->s.identity ? b->s.identity(b->s.ctx, node) : node);
}

static bool is_open(const struct tui_browser *b, const struct tui_row *r)
{
	return r->opens && map_u64_get(&b->open, r->identity) != NULL;
}

bool tui_rows_match(struct tui_browser *b, uint64_t node, const struct buf *wanted)
{
	buf_clear(&b->name);
	b->s.name(b->s.ctx, node, false, &b->name);
	return b->name.nr >= wanted->nr &&
	       memmem(b->name.data, b->name.nr, wanted->data, wanted->nr) != NULL;
}

static struct tui_row make_row(const struct tui_browser *b, uint64_t node, uint32_t depth,
			       uint64_t above)
{
	struct tui_row r = {.node = node, .identity = identity_of(b, above, node), .depth = depth};

	r.opens = b->s.opens && b->s.opens(b->s.ctx, node);
	return r;
}

/* Onto the stack of rows to come, the first one on top. */
static void push_nodes(struct tui_browser *b, struct tui_rows *pending, uint32_t depth,
		       uint64_t above)
{
	for (size_t i = b->nodes.nr; i-- > 0;) {
		if (!vec_push(pending, make_row(b, b->nodes.data[i], depth, above)))
			return;
	}
}

static void push_children(struct tui_browser *b, struct tui_rows *pending, const struct tui_row *r)
{
	b->nodes.nr = 0;
	if (b->s.children(b->s.ctx, false, r->node, &b->nodes))
		push_nodes(b, pending, r->depth + 1, r->identity);
}

/* The stack's rows, and what is open below them, in their order. @p opens_all: opens them. */
static void lay_out(struct tui_browser *b, struct tui_rows *pending, struct tui_rows *ret,
		    bool opens_all)
{
	while (pending->nr) {
		struct tui_row r = pending->data[--pending->nr];

		if (opens_all && r.opens)
			map_u64_put(&b->open, r.identity, 1);
		r.is_open = is_open(b, &r);
		if (!vec_push(ret, r))
			return;
		if (r.is_open)
			push_children(b, pending, &r);
	}
}

size_t tui_rows_end_below(const struct tui_browser *b, size_t i)
{
	size_t end = i + 1;

	while (end < b->rows.nr && b->rows.data[end].depth > b->rows.data[i].depth)
		end++;
	return end;
}

/* Replace the rows [from, to). */
static void splice(struct tui_browser *b, size_t from, size_t to, const struct tui_rows *by)
{
	size_t after = b->rows.nr - to;

	if (!vec_reserve(&b->rows, from + by->nr + after))
		return;
	if (after)
		memmove(b->rows.data + from + by->nr, b->rows.data + to,
			after * sizeof(struct tui_row));
	if (by->nr)
		memcpy(b->rows.data + from, by->data, by->nr * sizeof(struct tui_row));
	b->rows.nr = from + by->nr + after;
}

void tui_rows_lay_out_row(struct tui_browser *b, size_t i, bool opens_all)
{
	struct tui_rows pending = {0}, now = {0};

	if (vec_push(&pending, b->rows.data[i]))
		lay_out(b, &pending, &now, opens_all);
	if (now.nr)
		splice(b, i, tui_rows_end_below(b, i), &now);
	vec_done(&pending);
	vec_done(&now);
}

static void filter_nodes(struct tui_browser *b)
{
	size_t nr = 0;

	b->nr_top = b->nodes.nr;
	for (size_t i = 0; b->filter.nr && i < b->nodes.nr; i++) {
		if (tui_rows_match(b, b->nodes.data[i], &b->filter))
			b->nodes.data[nr++] = b->nodes.data[i];
	}
	if (b->filter.nr)
		b->nodes.nr = nr;
	b->nr_kept = b->nodes.nr;
	if (b->s.kept)
		b->s.kept(b->s.ctx);
}

void tui_rows_lay_out(struct tui_browser *b, bool opens_all)
{
	struct tui_rows pending = {0};
	uint64_t identity = b->at < b->rows.nr ? b->rows.data[b->at].identity : 0;

	b->nodes.nr = b->rows.nr = 0;
	if (b->s.children(b->s.ctx, true, 0, &b->nodes)) {
		filter_nodes(b);
		push_nodes(b, &pending, 0, 0);
		lay_out(b, &pending, &b->rows, opens_all);
	}
	vec_done(&pending);
	for (size_t i = 0; i < b->rows.nr; i++) {
		if (b->rows.data[i].identity == identity) {
			b->at = i;
			return;
		}
	}
	b->at = b->at < b->rows.nr ? b->at : b->rows.nr ? b->rows.nr - 1 : 0;
}
