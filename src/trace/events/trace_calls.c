/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

enum { MAX_CALLS = 4096, MAX_STACKS = 1 << 16 };

struct call_stack *call_stacks_of(struct call_stacks *c, uint32_t tid, size_t unit)
{
	uint64_t key = tid == UINT32_MAX ? 1ull << 32 | unit : tid;
	uint64_t *index;

	if (c->all.nr && c->last_key == key)
		return &c->all.data[c->last];
	c->last_key = key;
	index = map_u64_get(&c->by_thread, key);
	if (index) {
		c->last = *index;
		return &c->all.data[c->last];
	}
	if (c->all.nr >= MAX_STACKS)
		call_stacks_done(c); /* ids from a damaged trace: begin again */
	if (!map_u64_put(&c->by_thread, key, c->all.nr) ||
	    !vec_push(&c->all, (struct call_stack){0})) {
		call_stacks_done(c);
		return NULL;
	}
	c->last_key = key;
	c->last = c->all.nr - 1;
	return &c->all.data[c->last];
}

bool call_stack_push(struct call_stack *s, const struct call *c)
{
	if (s->nr == MAX_CALLS) { /* the outer half goes */
		memmove(s->data, s->data + MAX_CALLS / 2, MAX_CALLS / 2 * sizeof(*s->data));
		s->nr = MAX_CALLS / 2;
	}
	return vec_push(s, *c);
}

void call_stack_pop(struct call_stack *s, uint64_t to)
{
	for (size_t i = s->nr; i-- > 0;) {
		if (s->data[i].ret == to) {
			s->nr = i;
			return;
		}
	}
}

void call_stack_begin(struct call_stack *s, uint64_t at)
{
	call_stack_pop(s, at);
	while (s->nr && s->data[s->nr - 1].is_at_end)
		s->nr--;
}

void call_stacks_done(struct call_stacks *c)
{
	vec_for_each (&c->all, s)
		vec_done(s);
	vec_done(&c->all);
	map_u64_done(&c->by_thread);
	*c = (struct call_stacks){0};
}

bool branch_ring_init(struct branch_ring *r, uint32_t max)
{
	*r = (struct branch_ring){.max = max};
	if (max)
		r->all = mem_calloc(max, sizeof(*r->all));
	return !max || r->all;
}

void branch_ring_add(struct branch_ring *r, const struct taken_branch *w)
{
	if (!r->max)
		return;
	r->all[r->next] = *w;
	r->next = (r->next + 1) % r->max;
	r->nr += r->nr < r->max;
}

const struct taken_branch *branch_ring_at(const struct branch_ring *r, uint32_t i)
{
	return &r->all[(r->next + r->max - 1 - i) % r->max];
}
