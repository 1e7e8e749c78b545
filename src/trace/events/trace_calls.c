/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

enum { MAX_CALLS = 4096, MAX_STACKS = 1 << 16, MAX_UNITS = 1 << 16, MAX_ALL_CALLS = 4 << 20 };

/* --- one stack --- */

void call_stack_cut(struct call_stack *s, enum unw_stop why)
{
	s->nr = 0;
	s->cut = (uint8_t)why;
}

void call_stack_clear(struct call_stack *s)
{
	call_stack_cut(s, UNW_STOP_NONE);
	s->has_begun = false;
}

bool call_stack_push(struct call_stack *s, const struct call *c)
{
	if (s->nr == MAX_CALLS) { /* the outer half goes */
		memmove(s->data, s->data + MAX_CALLS / 2, MAX_CALLS / 2 * sizeof(*s->data));
		s->nr = MAX_CALLS / 2;
		s->cut = UNW_STOP_MAX_DEPTH;
	}
	return vec_push(s, *c);
}

size_t call_stack_floor(const struct call_stack *s)
{
	size_t i = s->nr;

	while (i && s->data[i - 1].how != CALL_CUT)
		i--;
	return i;
}

enum unw_stop call_stack_why_cut(const struct call_stack *s, size_t floor)
{
	return floor ? (enum unw_stop)s->data[floor - 1].ret : (enum unw_stop)s->cut;
}

bool call_stack_find(const struct call_stack *s, uint64_t to, size_t *ret)
{
	size_t i = s->nr;

	while (i && s->data[i - 1].how != CALL_CUT) {
		if (s->data[--i].ret == to) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool call_stack_entry(const struct call_stack *s, size_t *ret)
{
	for (size_t i = s->nr; i-- > 0;) {
		const struct call *c = &s->data[i];

		if ((c->how == CALL_SYSTEM || c->how == CALL_EVENT) && !call_is_kernel(c->ret)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

void call_stack_cut_kernel(struct call_stack *s, enum unw_stop why)
{
	const struct call mark = {.ret = why, .how = CALL_CUT};
	size_t entry;

	if (!call_stack_entry(s, &entry)) {
		call_stack_cut(s, why);
		return;
	}
	s->nr = entry + 1;
	if (!call_stack_push(s, &mark))
		call_stack_cut(s, why);
}

/* --- transactions --- */

enum { MAX_KEPT = 64 };

struct call_kept {
	struct call innermost[MAX_KEPT];
	size_t nr;
	uint8_t cut;
};

bool call_stack_keep(struct call_stack *s)
{
	size_t nr = s->nr < MAX_KEPT ? s->nr : MAX_KEPT;

	if (!s->kept)
		s->kept = mem_alloc(sizeof(*s->kept));
	if (!s->kept)
		return false;
	if (nr)
		memcpy(s->kept->innermost, s->data + s->nr - nr, nr * sizeof(*s->data));
	s->kept->nr = nr;
	s->kept->cut = (uint8_t)(nr < s->nr ? UNW_STOP_MAX_DEPTH : s->cut);
	return true;
}

bool call_stack_restore(struct call_stack *s)
{
	struct call_kept *k = s->kept;
	bool has_room = true;

	s->kept = NULL;
	call_stack_cut(s, k ? (enum unw_stop)k->cut : UNW_STOP_TRACE_ELSEWHERE);
	if (k && k->nr) {
		has_room = vec_reserve(s, k->nr);
		if (has_room)
			memcpy(s->data, k->innermost, k->nr * sizeof(*s->data));
		s->nr = has_room ? k->nr : 0;
	}
	mem_free(k);
	return has_room;
}

/* --- all stacks --- */

static void stack_done(struct call_stack *s)
{
	mem_free(s->kept);
	vec_done(s);
}

void call_stacks_done(struct call_stacks *c)
{
	vec_for_each (&c->all, s)
		stack_done(s);
	vec_done(&c->all);
	vec_done(&c->running);
	map_u64_done(&c->by_thread);
	*c = (struct call_stacks){0};
}

/** Each CPU has an idle task of its own. */
static uint64_t key_of(const struct call_owner *o)
{
	return o->tid == UINT32_MAX || !o->tid ? 1ull << 32 | o->unit : o->tid;
}

static struct call_stack *find(struct call_stacks *c, const struct call_owner *o)
{
	struct call_stack first = {.losses = c->losses, .life = o->life, .is_new = true};
	uint64_t key = key_of(o), *index = map_u64_get(&c->by_thread, key);

	if (index)
		return &c->all.data[*index];
	if (c->all.nr >= MAX_STACKS || c->nr_calls > MAX_ALL_CALLS) {
		call_stacks_done(c); /* ids from a damaged trace: begin again */
		c->has_forgotten = true;
	}
	if (c->has_forgotten || c->losses)
		first.cut = UNW_STOP_TRACE_LOST; /* its begin may be among what is missing */
	if (!map_u64_put(&c->by_thread, key, c->all.nr) || !vec_push(&c->all, first)) {
		call_stacks_done(c);
		return NULL;
	}
	return &c->all.data[c->all.nr - 1];
}

/** Another thread had the id, or the thread another program. */
static void begin_life(struct call_stack *s, uint64_t life)
{
	call_stack_clear(s);
	s->is_new = true;
	s->life = life;
}

/** Of what the kernel calls, some is of the thread before, as a switch is not one instruction. */
static bool is_dubious(const struct call_stack *s)
{
	const struct call *top = &s->data[s->nr - 1];
	size_t entry;

	return !top->is_at_end && (call_is_kernel(top->ret) || top->how == CALL_CUT ||
				   (call_stack_entry(s, &entry) && call_is_kernel(top->callee)));
}

/** @p s runs on the unit, where another one did, or on another unit than before: how exactly it
 * came there is unknown. */
static void come(struct call_stacks *c, struct call_stack *s, const struct call_owner *o)
{
	size_t unit = o->unit < MAX_UNITS ? o->unit : MAX_UNITS - 1;
	uint64_t was, is = key_of(o) + 1;

	if (!o->is_exact)
		return;
	if (!vec_reach(&c->running, unit + 1)) {
		call_stack_cut(s, UNW_STOP_TRACE_SWITCH);
		return;
	}
	was = c->running.data[unit];
	c->running.data[unit] = is;
	if (was != is && s->nr && is_dubious(s))
		call_stack_cut_kernel(s, UNW_STOP_TRACE_SWITCH);
}

struct call_stack *call_stacks_of(struct call_stacks *c, const struct call_owner *o)
{
	struct call_stack *s;

	if (c->has_last)
		c->nr_calls += c->all.data[c->last].cap;
	c->has_last = false;
	s = find(c, o);
	if (!s)
		return NULL;
	c->nr_calls -= s->cap < c->nr_calls ? s->cap : c->nr_calls;
	if (s->life != o->life)
		begin_life(s, o->life);
	if (s->losses != c->losses)
		call_stack_cut(s, UNW_STOP_TRACE_LOST);
	s->losses = c->losses;
	come(c, s, o);
	c->last_owner = *o;
	c->last = (size_t)(s - c->all.data);
	c->has_last = true;
	return s;
}

void call_stacks_lose(struct call_stacks *c, size_t unit)
{
	if (c->has_last)
		c->nr_calls += c->all.data[c->last].cap;
	c->has_last = false;
	c->losses++;
	for (size_t i = 0; i < c->running.nr; i++) {
		uint64_t *index = i == unit || !c->running.data[i]
					? NULL
					: map_u64_get(&c->by_thread, c->running.data[i] - 1);

		if (index && c->all.data[*index].losses + 1 == c->losses)
			c->all.data[*index].losses = c->losses;
	}
}

/* --- the last branches --- */

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
