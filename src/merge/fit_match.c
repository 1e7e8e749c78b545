/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/search.h"
#include "merge/fit_stays.h"
#include "merge/guest_fit.h"

/* The last wake-up up to a little after the time that the line says. */
static bool match_wake(const struct fit_times *wakes, int64_t g, const struct fit_line *line,
		       const struct fit_near *near, struct fit_match *ret)
{
	int64_t t = g + fit_line_at(line, g);
	size_t i = search_first(wakes->nr, k, wakes->data[k] > t + near->after);

	if (!i || t - wakes->data[i - 1] > near->before)
		return fit_is_in_hole(near->holes, t - near->before, t + near->after) ||
		       vec_push(&ret->unmatched, g);
	return vec_push(&ret->low, (struct fit_bound){g, wakes->data[i - 1] - g}) &&
	       vec_push(&ret->matched, g);
}

static bool match_sleep(const struct fit_times *sleeps, int64_t g, const struct fit_line *line,
			const struct fit_near *near, struct fit_match *ret)
{
	int64_t t = g + fit_line_at(line, g);
	size_t i = fit_first_at(sleeps, t - near->after);

	if (i == sleeps->nr || sleeps->data[i] - t > near->before)
		return true;
	return vec_push(&ret->high, (struct fit_bound){g, sleeps->data[i] - g});
}

/* Where the host's recording has begun, and has not ended. */
static bool is_covered(const struct fit_host_lane *h, int64_t g, const struct fit_line *line,
		       const struct fit_near *near)
{
	int64_t t = g + fit_line_at(line, g);

	return h->wakes.nr && t >= h->wakes.data[0] - near->before &&
	       t <= h->wakes.data[h->wakes.nr - 1] + near->before;
}

static bool match_event(const struct fit_pair *p, int64_t g, const struct fit_line *line,
			const struct fit_near *near, struct fit_match *ret)
{
	int64_t d = fit_line_at(line, g);
	struct fit_where w = fit_stays_at(&p->host->stays, near->holes, g + d, near->after);
	bool ok = true;

	if (w.is != FIT_INSIDE)
		return w.is == FIT_UNKNOWN || vec_push(&ret->unmatched, g);
	if (d - (w.stay->in - g) <= near->before)
		ok = vec_push(&ret->low, (struct fit_bound){g, w.stay->in - g});
	if (w.stay->out - g - d <= near->before)
		ok = ok && vec_push(&ret->high, (struct fit_bound){g, w.stay->out - g});
	return ok && vec_push(&ret->matched, g);
}

static bool match_lane(const struct fit_pair *p, int64_t from, int64_t to,
		       const struct fit_line *line, const struct fit_near *near,
		       struct fit_match *ret)
{
	const struct fit_times *outs = &p->guest->idle_outs, *ins = &p->guest->idle_ins;
	bool ok = true;

	for (size_t i = fit_first_at(outs, from); ok && i < outs->nr && outs->data[i] < to; i++) {
		if (is_covered(p->host, outs->data[i], line, near))
			ok = match_wake(&p->host->wakes, outs->data[i], line, near, ret);
	}
	for (size_t i = fit_first_at(ins, from); ok && i < ins->nr && ins->data[i] < to; i++)
		ok = match_sleep(&p->host->sleeps, ins->data[i], line, near, ret);
	return ok;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_at(const void *a, const void *b)
{
	const struct fit_bound *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

void fit_bounds_sort(struct fit_bounds *b)
{
	if (b->nr)
		qsort(b->data, b->nr, sizeof(*b->data), by_at);
}

static bool find_late(struct fit_match *m, const struct fit_line *line)
{
	int64_t *late;

	if (!m->low.nr)
		return true;
	late = mem_calloc(m->low.nr, sizeof(*late));
	if (!late)
		return false;
	for (size_t i = 0; i < m->low.nr; i++)
		late[i] = fit_line_at(line, m->low.data[i].at) - m->low.data[i].bound;
	qsort(late, m->low.nr, sizeof(*late), by_time);
	m->late = late[m->low.nr * 9 / 10];
	mem_free(late);
	return true;
}

static void begin(struct fit_match *m)
{
	m->low.nr = m->high.nr = m->matched.nr = m->unmatched.nr = 0;
	m->late = 0;
}

static void sort_times(struct fit_times *t)
{
	if (t->nr)
		qsort(t->data, t->nr, sizeof(*t->data), by_time);
}

static void sort_all(struct fit_match *m)
{
	fit_bounds_sort(&m->low);
	fit_bounds_sort(&m->high);
	sort_times(&m->matched);
	sort_times(&m->unmatched);
}

bool fit_match(const struct fit_pairs *pairs, int64_t from, int64_t to, const struct fit_line *line,
	       const struct fit_near *near, struct fit_match *ret)
{
	begin(ret);
	vec_for_each (pairs, p) {
		if (!match_lane(p, from, to, line, near, ret))
			return false;
	}
	sort_all(ret);
	return find_late(ret, line);
}

bool fit_match_stays(const struct fit_pairs *pairs, int64_t from, int64_t to,
		     const struct fit_line *line, const struct fit_near *near,
		     struct fit_match *ret)
{
	begin(ret);
	vec_for_each (pairs, p) {
		const struct fit_times *g = &p->guest->events;

		for (size_t i = fit_first_at(g, from); i < g->nr && g->data[i] < to; i++) {
			if (!match_event(p, g->data[i], line, near, ret))
				return false;
		}
	}
	sort_all(ret);
	return true;
}

void fit_match_done(struct fit_match *m)
{
	vec_done(&m->low);
	vec_done(&m->high);
	vec_done(&m->matched);
	vec_done(&m->unmatched);
}
