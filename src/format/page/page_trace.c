/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "format/page/page_impl.h"
#include "report/report_slices.h"

/*
 * Of events made from a hardware trace: at which level each thread ran, and its calls, as
 * intervals. One pass over the samples, in order of time, with what ends them in between: where
 * tracing paused or lost something, where a thread left its CPU, another one came to it, or ended.
 * All that ends does so in that order.
 *
 * Threads that are unknown are one and many: they have neither.
 */
enum { NO_LEVEL = UINT8_MAX, MAX_CPUS = 1 << 16 };

struct lane {
	struct report_slices calls;
	uint64_t level_from;
	uint32_t cpu;
	uint8_t level; /* NO_LEVEL: it does not run */
	bool is_known, is_listed;
};

/** What ends calls and levels: of a thread, a CPU, or all. */
struct trace_cut {
	uint64_t time;
	uint32_t cpu, thread; /* PAGE_NONE: any */
};

struct walk {
	struct page_feed *page;
	const struct page_tree *tree;
	uint32_t event;
	struct {
		VEC(struct lane);
	} lanes; /* by thread */
	struct {
		VEC(uint32_t);
	} on; /* lanes with something open, and others that had */
	struct {
		VEC(uint32_t);
	} on_cpu; /* lane + 1 */
	struct {
		VEC(struct trace_cut);
	} cuts;
	size_t next_cut;
	struct page_interval_reader switches;
	const struct page_interval *next_switch;
};

static enum clew_err put(struct page_intervals *to, uint32_t thread, uint32_t place, uint8_t kind,
			 uint64_t from, uint64_t end)
{
	const struct page_interval i = {
		.end = end, .length = end - from, .who = thread, .place = place, .kind = kind};

	if (end > from)
		return page_intervals_put(to, &i);
	return CLEW_OK;
}

/* --- what ends --- */

static enum clew_err end_level(struct walk *w, uint32_t thread, uint64_t time)
{
	struct lane *l = &w->lanes.data[thread];
	uint8_t level = l->level;

	l->level = NO_LEVEL;
	return level == NO_LEVEL
		     ? CLEW_OK
		     : put(&w->page->levels, thread, l->cpu, level, l->level_from, time);
}

static enum clew_err end_calls(struct walk *w, uint32_t thread, size_t keep, uint64_t time)
{
	struct page_feed *p = w->page;
	const struct report_slice *s;
	enum clew_err err = CLEW_OK;

	while (err == CLEW_OK && (s = report_slices_end(&w->lanes.data[thread].calls, keep))) {
		p->nr_instant_calls += s->from == time;
		err = put(&p->calls, thread, s->node, 0, s->from, time);
	}
	return err;
}

static enum clew_err end_all(struct walk *w, uint32_t thread, uint64_t time)
{
	enum clew_err err = end_level(w, thread, time);

	return err == CLEW_OK ? end_calls(w, thread, 0, time) : err;
}

static enum clew_err end_each(struct walk *w, uint64_t time)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&w->on, thread) {
		w->lanes.data[*thread].is_listed = false;
		err = err ? err : end_all(w, *thread, time);
	}
	w->on.nr = 0;
	return err;
}

static uint32_t lane_on(const struct walk *w, uint32_t cpu)
{
	return cpu < w->on_cpu.nr ? w->on_cpu.data[cpu] : 0;
}

static enum clew_err take_cut(struct walk *w, const struct trace_cut *c)
{
	uint32_t on = c->thread != PAGE_NONE ? c->thread + 1 : lane_on(w, c->cpu);

	if (c->thread == PAGE_NONE && c->cpu == PAGE_NONE)
		return end_each(w, c->time);
	if (!on || (c->thread == PAGE_NONE && w->lanes.data[on - 1].cpu != c->cpu))
		return CLEW_OK; /* it runs elsewhere by now */
	return end_all(w, on - 1, c->time);
}

/* A thread that leaves its CPU stays in its calls. */
static enum clew_err take_switch(struct walk *w, const struct page_interval *i)
{
	const uint64_t *thread = map_u64_get(&w->page->thread_of, i->who);

	if (i->kind != PAGE_RUNNING || !thread)
		return CLEW_OK;
	return end_level(w, (uint32_t)*thread, i->end);
}

/* All that comes before a sample at @p time. */
static enum clew_err take_until(struct walk *w, uint64_t time)
{
	enum clew_err err = CLEW_OK;

	while (err == CLEW_OK) {
		const struct trace_cut *c =
			w->next_cut < w->cuts.nr ? &w->cuts.data[w->next_cut] : NULL;
		const struct page_interval *s = w->next_switch;

		if (c && c->time <= time && (!s || c->time <= s->end)) {
			w->next_cut++;
			err = take_cut(w, c);
		} else if (s && s->end <= time) {
			err = take_switch(w, s);
			w->next_switch = page_intervals_next(&w->switches);
		} else {
			break;
		}
	}
	return err;
}

/* --- samples --- */

/* Whoever was there last is gone. */
static enum clew_err come_to_cpu(struct walk *w, uint32_t thread, uint32_t cpu, uint64_t time)
{
	enum clew_err err = CLEW_OK;
	uint32_t on;

	if (cpu >= MAX_CPUS)
		return CLEW_OK;
	if (!vec_reach(&w->on_cpu, cpu + 1u))
		return CLEW_NO_MEMORY;
	on = w->on_cpu.data[cpu];
	if (on && on != thread + 1 && w->lanes.data[on - 1].cpu == cpu)
		err = end_level(w, on - 1, time);
	w->on_cpu.data[cpu] = thread + 1;
	return err;
}

static enum clew_err take_level(struct walk *w, const struct page_row *r, uint32_t node)
{
	struct lane *l = &w->lanes.data[r->thread];
	enum clew_err err = come_to_cpu(w, r->thread, r->cpu, r->time);
	uint8_t level = w->tree->levels[node] ? w->tree->levels[node] : NO_LEVEL;

	if (err == CLEW_OK && (l->level != level || l->cpu != r->cpu)) {
		err = end_level(w, r->thread, r->time);
		l->level = level;
		l->level_from = r->time;
		l->cpu = r->cpu;
	}
	return err == CLEW_OK && r->ends_trace ? end_level(w, r->thread, r->time) : err;
}

static enum clew_err take_row(void *walk, const struct page_row *r)
{
	struct walk *w = walk;
	struct lane *l = &w->lanes.data[r->thread];
	uint32_t node = w->tree->node_of[r->node];
	enum clew_err err;

	if (r->event != w->event || r->is_timeless || !l->is_known)
		return CLEW_OK;
	err = take_until(w, r->time);
	if (err == CLEW_OK)
		err = take_level(w, r, node);
	if (err == CLEW_OK)
		err = end_calls(w, r->thread, report_slices_common(&l->calls, &w->tree->tree, node),
				r->time);
	if (err == CLEW_OK && (!report_slices_begin(&l->calls, &w->tree->tree, node, r->time) ||
			       (!l->is_listed && !vec_push(&w->on, r->thread))))
		err = CLEW_NO_MEMORY;
	l->is_listed = true;
	return err;
}

/* --- before the pass --- */

/* Events of trace have one that says most. PAGE_NONE: there are none. */
static uint32_t event_of(const struct page_feed *p)
{
	uint32_t best = PAGE_NONE;

	for (uint32_t i = 0; i <= PAGE_MAX_EVENTS; i++) {
		if (p->is_traced[i] && (best == PAGE_NONE || p->nr_of[i] > p->nr_of[best]))
			best = i;
	}
	return best;
}

static int by_time(const void *x, const void *y)
{
	const struct trace_cut *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static bool add_pauses(struct walk *w, const struct map_u64 *of_tid)
{
	vec_for_each (&w->page->pauses, x) {
		const uint64_t *thread = x->tid == PAGE_NONE ? NULL : map_u64_get(of_tid, x->tid);
		struct trace_cut c = {x->from.ns, x->cpu, thread ? (uint32_t)*thread : PAGE_NONE};

		if (x->tid != PAGE_NONE && !thread)
			continue;
		if (!vec_push(&w->cuts, c))
			return false;
	}
	return true;
}

static bool add_exits(struct walk *w)
{
	vec_for_each (&w->page->records, r) {
		const uint64_t *thread = map_u64_get(&w->page->thread_of, r->who);

		if (r->kind == PAGE_EXIT && thread &&
		    !vec_push(&w->cuts, (struct trace_cut){r->time, PAGE_NONE, (uint32_t)*thread}))
			return false;
	}
	return true;
}

static bool prepare(struct walk *w)
{
	struct page_feed *p = w->page;
	struct map_u64 of_tid = {0};
	bool ok = vec_reach(&w->lanes, p->threads.nr);

	for (uint32_t i = 0; i < p->threads.nr && ok; i++) {
		w->lanes.data[i].level = NO_LEVEL;
		w->lanes.data[i].is_known = p->threads.data[i].tid != PAGE_NONE;
		ok = map_u64_put(&of_tid, p->threads.data[i].tid, i);
	}
	ok = ok && add_pauses(w, &of_tid) && add_exits(w);
	map_u64_done(&of_tid);
	if (ok && w->cuts.nr)
		qsort(w->cuts.data, w->cuts.nr, sizeof(*w->cuts.data), by_time);
	w->switches.of = &p->intervals;
	w->next_switch = ok ? page_intervals_next(&w->switches) : NULL;
	return ok;
}

static enum clew_err walk_rows(struct walk *w)
{
	uint64_t last = w->page->last;
	enum clew_err err = page_rows_each(w->page, take_row, w);

	if (err == CLEW_OK)
		err = take_until(w, last);
	return err == CLEW_OK ? end_each(w, last) : err;
}

enum clew_err page_trace_walk(struct page_feed *p, const struct page_tree *tree)
{
	struct walk w = {.page = p, .tree = tree, .event = event_of(p)};
	enum clew_err err;

	if (w.event == PAGE_NONE || !p->nr)
		return CLEW_OK;
	err = prepare(&w) ? walk_rows(&w) : CLEW_NO_MEMORY;
	if (err == CLEW_OK && p->intervals.os_errno)
		err = CLEW_OS;
	if (err == CLEW_OK)
		err = page_intervals_choose(&p->levels, p->first, NULL, PAGE_MAX_INTERVALS);
	if (err == CLEW_OK)
		err = page_intervals_choose(&p->calls, p->first, NULL, PAGE_MAX_INTERVALS);
	vec_for_each (&w.lanes, l)
		report_slices_done(&l->calls);
	vec_done(&w.lanes);
	vec_done(&w.on);
	vec_done(&w.on_cpu);
	vec_done(&w.cuts);
	return err;
}
