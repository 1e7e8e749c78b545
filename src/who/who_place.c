/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ask_impl.h"

/* Where a record stands on its CPU's line of runs. */

enum { STEPS_BEFORE_SEEK = 128 };

_Static_assert(sizeof(struct who_ask_state) <= sizeof(((struct who_cursor *)0)->state),
	       "room for it");

struct who_ask_state *who_ask_state_of(const struct who_ran *w, struct who_cursor *c)
{
	struct who_ask_state *s = (struct who_ask_state *)(void *)c->state;

	if (c->owner != w) {
		c->owner = w;
		*s = (struct who_ask_state){0};
	}
	return s;
}

bool who_ran_follows_tasks(const struct who_ran *w)
{
	return w->has_switch || (w->is_inherited && !w->has_switch_wide);
}

uint64_t who_order_of_ns(const struct who_ran *w, struct clew_perf_ns t)
{
	struct clew_ticks ticks = {0};

	perf_ticks_of_ns(&w->conv, t, &ticks);
	return perf_ticks_order(&w->conv, ticks);
}

static uint64_t order_of_bound(const struct who_ran *w, struct who_ask_bound *b,
			       struct clew_perf_ns t)
{
	if (!b->is_set || b->ns != t.ns)
		*b = (struct who_ask_bound){t.ns, who_order_of_ns(w, t), true};
	return b->order;
}

bool who_is_outside_chunk(const struct who_ran *w, struct who_ask_state *s,
			  const struct who_question *q, uint64_t order)
{
	uint64_t bound;

	if (q->has & WHO_Q_TO) {
		bound = order_of_bound(w, &s->chunk_to, q->to);
		if (order > bound && order - bound > w->tolerance_ticks)
			return true;
	}
	if (q->has & WHO_Q_FROM && q->from.ns && !who_ran_follows_tasks(w)) {
		bound = order_of_bound(w, &s->chunk_from, q->from);
		if (order < bound && bound - order > w->tolerance_ticks)
			return true;
	}
	return false;
}

static uint64_t place_of(const struct who_ran *w, const struct who_ask_state *s,
			 struct clew_perf_ns t)
{
	return s->is_in_ticks ? who_order_of_ns(w, t) : t.ns;
}

static void set_end(const struct who_ran *w, struct who_ask_state *s)
{
	s->to = s->at.has_next ? place_of(w, s, s->at.next.from) : UINT64_MAX;
}

/** Move to the next run. */
static void step(const struct who_ran *w, struct who_ask_state *s)
{
	who_runs_next(&s->at);
	s->from = s->to;
	set_end(w, s);
}

static bool search(const struct who_ran *w, struct who_ask_state *s, struct clew_perf_ns time)
{
	if (!who_runs_seek(&s->cpu->fold.runs, time, &s->at))
		return false;
	s->from = place_of(w, s, s->at.run.from);
	set_end(w, s);
	return true;
}

/** Move to the run that holds @p lo. @return false: it is before the first one. */
static bool move_to(const struct who_ran *w, struct who_ask_state *s, uint64_t lo,
		    struct clew_perf_ns time)
{
	unsigned int nr = 0;

	if (!s->is_set || lo < s->from) {
		s->is_set = search(w, s, time);
		if (!s->is_set)
			return false;
	}
	while (s->at.has_next && lo >= s->to) {
		if (++nr == STEPS_BEFORE_SEEK)
			search(w, s, time);
		else
			step(w, s);
	}
	return lo >= s->from;
}

static bool find_cpu(const struct who_ran *w, struct who_ask_state *s, uint32_t cpu,
		     bool is_in_ticks)
{
	const uint64_t *at;

	if (s->cpu && s->cpu->cpu == cpu && s->is_in_ticks == is_in_ticks)
		return true;
	at = map_u64_get(&w->by_cpu, cpu);
	*s = (struct who_ask_state){.cpu = at ? w->cpus.data[*at] : NULL,
				    .is_in_ticks = is_in_ticks};
	return at;
}

/** When it ran, in ticks (perf_ticks_order()) or ns; both ends included. */
struct span {
	uint64_t lo, hi;
	bool is_in_ticks;
};

static bool span_of(const struct who_ran *w, const struct who_question *q, struct span *ret)
{
	if (w->is_clock_usable && q->has & WHO_Q_TICKS) {
		ret->lo = ret->hi = perf_ticks_order(&w->conv, q->ticks);
		if (q->has & WHO_Q_TICKS_TO)
			ret->hi = perf_ticks_order(&w->conv, q->ticks_to);
		ret->is_in_ticks = true;
		return ret->lo <= ret->hi;
	}
	ret->lo = q->from.ns;
	ret->hi = q->to.ns;
	ret->is_in_ticks = false;
	return q->has & WHO_Q_FROM && q->has & WHO_Q_TO && ret->lo <= ret->hi;
}

/** The time of @p q, or the earliest possible one. */
static struct clew_perf_ns time_of(const struct who_ran *w, const struct who_question *q,
				   const struct span *s)
{
	struct clew_perf_ns t = clew_perf_ns_none();

	if (s->is_in_ticks)
		perf_ns_of_ticks(&w->conv, q->ticks, &t);
	else
		t.ns = s->lo;
	return t;
}

static bool is_inside(const struct who_ask_state *s, const struct span *span, uint64_t margin)
{
	uint64_t lo = span->lo - s->from, hi = s->to - span->hi;

	if (s->at.run.kind != WHO_RUN_THREAD || span->hi > s->to)
		return false;
	/* The tick of a boundary is in the switch. */
	return !span->is_in_ticks || (lo > margin && (!s->at.has_next || hi > margin));
}

static const struct who_place nowhere = {.time = {UINT64_MAX}, .until = {UINT64_MAX}};

/** @return false: nothing is known of its CPU. */
static bool find_order(const struct who_ran *w, struct who_ask_state *s,
		       const struct who_question *q, const struct span *span, struct who_place *ret)
{
	ret->has_order = span->is_in_ticks;
	ret->first = span->lo;
	ret->order = span->hi;
	if (!(q->has & WHO_Q_CPU) || !find_cpu(w, s, q->cpu, span->is_in_ticks))
		return false;
	ret->cpu = s->cpu;
	ret->is_conflict = span->is_in_ticks && who_is_outside_chunk(w, s, q, span->hi);
	return true;
}

static void find_times(const struct who_ran *w, const struct who_question *q,
		       const struct span *span, struct who_place *ret)
{
	ret->time = time_of(w, q, span);
	ret->until = ret->time;
	if (!span->is_in_ticks)
		ret->until.ns = span->hi;
	else if (q->has & WHO_Q_TICKS_TO)
		perf_ns_of_ticks(&w->conv, q->ticks_to, &ret->until);
}

void who_find_order(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		    struct who_place *ret)
{
	struct span span;

	*ret = nowhere;
	if (span_of(w, q, &span))
		find_order(w, who_ask_state_of(w, c), q, &span, ret);
}

void who_find_place(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		    uint64_t margin_ticks, struct who_place *ret)
{
	struct who_ask_state *s = who_ask_state_of(w, c);
	struct span span;
	bool has_line;

	*ret = nowhere;
	if (!span_of(w, q, &span))
		return;
	has_line = find_order(w, s, q, &span, ret);
	find_times(w, q, &span, ret);
	if (!has_line || !move_to(w, s, span.lo, ret->time))
		return;
	ret->at = &s->at;
	ret->is_inside = is_inside(s, &span, margin_ticks);
	ret->is_on_edge = span.is_in_ticks && span.lo == s->from;
	ret->to = s->to;
}

uint64_t who_place_until(const struct who_ran *w, struct who_cursor *c,
			 const struct who_question *q, uint64_t margin_ticks,
			 const struct who_place *p)
{
	const struct who_ask_state *s = who_ask_state_of(w, c);
	uint64_t until = p->at && p->at->has_next ? s->to : UINT64_MAX;

	if (!p->cpu)
		return UINT64_MAX;
	if (!p->at && s->is_set)
		until = s->from; /* of the first run */
	if (p->is_conflict && q->has & WHO_Q_TO && p->order > s->chunk_to.order)
		return UINT64_MAX; /* later ticks are outside the chunk, too */
	if (p->is_conflict || (p->at && p->at->run.kind == WHO_RUN_THREAD && !p->is_inside))
		return p->order + 1;
	if (p->is_inside && p->at->has_next)
		until -= margin_ticks;
	return who_until_chunk_ends(w, s, q, until);
}

void who_stay_clip(const struct who_ran *w, struct clew_perf_ns to, struct who_stay *s)
{
	uint64_t order;

	if (!clew_perf_ns_is_known(to))
		return;
	order = who_order_of_ns(w, to);
	if (order < s->to)
		s->to = order;
}
