/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "api/trace_impl.h"

struct trace_waiting *trace_waiting_add(struct trace_pull *p)
{
	struct trace_waiting *w = arena_zalloc(&p->memory, sizeof(*w));

	return w && vec_push(&p->waiting, w) ? w : NULL;
}

/* @return false: no memory. */
static bool keep_text(struct arena *to, const char **text)
{
	*text = arena_strndup(to, *text, strlen(*text));
	return *text;
}

enum clew_err trace_waiting_keep(void *ctx, const struct clew_trace_batch *b)
{
	struct clew_trace *t = ctx;
	const struct trace_state *s = &t->states[b->unit];
	uint32_t *items = arena_alloc(&t->pull.memory, b->nr * sizeof(*items));
	struct trace_waiting *w = items ? trace_waiting_add(&t->pull) : NULL;

	if (!w)
		return CLEW_NO_MEMORY;
	memcpy(items, b->items, b->nr * sizeof(*items));
	w->batch = *b;
	w->batch.items = items;
	w->batch.ranges = NULL;
	if (!b->context)
		return CLEW_OK;
	w->arm = s->arm;
	w->x86 = s->x86;
	w->context = *b->context;
	w->context.arm = b->context->arm ? &w->arm : NULL;
	w->context.x86 = b->context->x86 ? &w->x86 : NULL;
	w->batch.context = &w->context;
	if (b->context->who && (!keep_text(&t->pull.memory, &w->context.who) ||
				!keep_text(&t->pull.memory, &w->context.who_json)))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

bool trace_waiting_keep_ranges(struct clew_trace *t, size_t unit, struct trace_ranges *ranges)
{
	bool is_used = false;

	vec_for_each (&t->pull.waiting, w) {
		struct clew_trace_batch *b = &(*w)->batch;

		if ((*w)->is_end || b->unit != unit || b->epoch != ranges->epoch || b->ranges)
			continue;
		b->ranges = ranges->data;
		is_used = true;
	}
	if (!is_used)
		return true;
	if (!vec_push(&t->pull.ranges, ranges->data))
		return false;
	memset(ranges, 0, sizeof(*ranges));
	return true;
}

void trace_waiting_drop(struct trace_pull *p)
{
	p->waiting.nr = p->next = 0;
	arena_done(&p->memory);
	vec_for_each (&p->ranges, r)
		mem_free(*r);
	p->ranges.nr = 0;
}

void trace_pull_done(struct trace_pull *p)
{
	trace_decoding_free(p->decoding);
	trace_waiting_drop(p);
	vec_done(&p->waiting);
	vec_done(&p->ranges);
	memset(p, 0, sizeof(*p));
}
