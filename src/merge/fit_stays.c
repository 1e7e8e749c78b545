/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/fit_stays.h"

#include <string.h>

#include "base/search.h"
#include "merge/guest_fit.h"

enum {
	NR_BINS = 1 << 16,       /* of a stretch of offsets, looked at in one go */
	MAX_STRETCHES = 1 << 16, /* some three days of bins of 64 us */
	NR_WINDOWS = 3,
	MAX_EVENTS = 1 << 13, /* of a vcpu, in a window */
	MIN_EVENTS = 256,
	MAX_STEPS = 1 << 21, /* of one window */
	MAX_FINE = 1 << 14,  /* events of a vcpu */
};

/* --- where a time is --- */

struct fit_where fit_stays_at(const struct fit_stays *s, const struct fit_stays *holes, int64_t t,
			      int64_t slack)
{
	struct fit_where ret = {.is = FIT_UNKNOWN};
	int64_t before, after;
	size_t i;

	if (!s->nr || t < s->data[0].in || t > s->data[s->nr - 1].out)
		return ret;
	i = search_first(s->nr, k, s->data[k].in > t);
	/* It is not before the first, nor after the last. */
	if (t <= s->data[i - 1].out)
		return (struct fit_where){FIT_INSIDE, &s->data[i - 1], i};
	before = t - s->data[i - 1].out;
	after = s->data[i].in - t;
	if (before <= slack && before <= after)
		ret = (struct fit_where){FIT_INSIDE, &s->data[i - 1], i};
	else if (after <= slack)
		ret = (struct fit_where){FIT_INSIDE, &s->data[i], i};
	/* Else the OUT and IN that would contain the time may be missing. */
	else if (!fit_is_in_hole(holes, s->data[i - 1].out, s->data[i].in))
		ret = (struct fit_where){.is = FIT_OUTSIDE, .next = i};
	return ret;
}

uint64_t fit_gaps_hit(const struct fit_pairs *pairs, const struct fit_stays *holes, int64_t from,
		      int64_t to, const struct fit_line *line, int64_t shift, int64_t slack)
{
	uint64_t nr = 0;

	vec_for_each (pairs, p) {
		const struct fit_times *g = &p->guest->events;
		size_t last = SIZE_MAX;

		for (size_t i = fit_first_at(g, from); i < g->nr && g->data[i] < to; i++) {
			int64_t t = g->data[i] + fit_line_at(line, g->data[i]) + shift;
			struct fit_where w = fit_stays_at(&p->host->stays, holes, t, slack);

			nr += w.is == FIT_OUTSIDE && w.next != last;
			last = w.is == FIT_OUTSIDE ? w.next : last;
		}
	}
	return nr;
}

/* --- all offsets --- */

/* One guest event, against all stays of its host lane. */
struct row {
	const struct fit_stays *stays;
	int64_t guest;
	size_t at; /* the first stay that may reach into what is left */
};

struct search {
	struct {
		VEC(struct fit_stays);
	} lanes; /* of the pairs; a gap in which records may be missing counts as a stay */
	struct {
		VEC(struct row);
	} rows;
	int32_t *grid; /* what changes from one bin to the next; NR_BINS + 1 of them */
	int64_t near;
	unsigned int shift; /* a bin's width is 1 << shift: divisions would take most of the time */
	struct fit_tops *best;
	struct fit_tops now;
};

static bool add_lane(struct search *s, const struct fit_stays *of, const struct fit_stays *holes)
{
	struct fit_stays *to;

	if (!vec_push(&s->lanes, (struct fit_stays){0}))
		return false;
	to = &s->lanes.data[s->lanes.nr - 1];
	vec_for_each (of, stay) {
		struct fit_stay *last = to->nr ? &to->data[to->nr - 1] : NULL;

		if (last && fit_is_in_hole(holes, last->out, stay->in))
			last->out = stay->out;
		else if (!vec_push(to, *stay))
			return false;
	}
	return true;
}

static bool begin(struct search *s, const struct fit_pairs *pairs, const struct fit_stays *holes,
		  int64_t width)
{
	bool ok;

	while ((int64_t)1 << s->shift < width)
		s->shift++;
	s->grid = mem_calloc(NR_BINS + 1, sizeof(*s->grid));
	ok = s->grid;
	vec_for_each (pairs, p)
		ok = ok && add_lane(s, &p->host->stays, holes);
	return ok;
}

static void end(struct search *s)
{
	vec_for_each (&s->lanes, l)
		vec_done(l);
	vec_done(&s->lanes);
	vec_done(&s->rows);
	mem_free(s->grid);
}

static bool is_near(const struct search *s, const struct fit_top *a, int64_t offset)
{
	return a->score && a->offset - offset <= s->near && offset - a->offset <= s->near;
}

static void consider(struct search *s, int64_t offset, uint32_t score)
{
	struct fit_top *tops = s->now.tops, *place = &tops[0];

	for (size_t i = 0; i < FIT_NR_TOPS; i++) {
		if (is_near(s, &tops[i], offset)) {
			place = &tops[i];
			break;
		}
		if (tops[i].score < place->score)
			place = &tops[i];
	}
	if (score > place->score)
		*place = (struct fit_top){offset, score};
}

static void count_row(struct search *s, struct row *r, int64_t base)
{
	int64_t end = (int64_t)NR_BINS << s->shift;

	for (size_t i = r->at; i < r->stays->nr; i++) {
		int64_t in = r->stays->data[i].in - r->guest - base;
		int64_t out = r->stays->data[i].out - r->guest - base;

		if (in >= end)
			return;
		s->grid[in < 0 ? 0 : in >> s->shift]++;
		if (out < end) {
			s->grid[(out >> s->shift) + 1]--;
			r->at = i + 1;
		}
	}
}

/* Offsets with one number of events are one: the middle counts. */
static void find_tops(struct search *s, int64_t base)
{
	uint32_t nr = 0, last = 0;
	int64_t since = 0;

	for (int64_t i = 0; i <= NR_BINS; i++) {
		nr = i < NR_BINS ? nr + (uint32_t)s->grid[i] : 0;
		if (nr == last)
			continue;
		if (last)
			consider(s, base + ((since + i) << s->shift) / 2, last);
		last = nr;
		since = i;
	}
	memset(s->grid, 0, (NR_BINS + 1) * sizeof(*s->grid));
}

/* What no event reaches is skipped. */
static bool next_base(const struct search *s, int64_t *base)
{
	int64_t first = INT64_MAX;

	vec_for_each (&s->rows, r) {
		int64_t in;

		if (r->at == r->stays->nr)
			continue;
		in = r->stays->data[r->at].in - r->guest;
		first = in < first ? in : first;
	}
	if (first == INT64_MAX)
		return false;
	*base = first > *base ? first : *base;
	return true;
}

static void search_window(struct search *s)
{
	int64_t base = INT64_MIN;

	for (size_t i = 0; i < MAX_STRETCHES && next_base(s, &base); i++) {
		vec_for_each (&s->rows, r)
			count_row(s, r, base);
		find_tops(s, base);
		base += (int64_t)NR_BINS << s->shift;
	}
}

static void sort_tops(struct fit_tops *t)
{
	for (size_t i = 1; i < FIT_NR_TOPS; i++) {
		struct fit_top x = t->tops[i];
		size_t k = i;

		for (; k && t->tops[k - 1].score < x.score; k--)
			t->tops[k] = t->tops[k - 1];
		t->tops[k] = x;
	}
}

/* --- windows --- */

static bool add_rows(struct search *s, const struct fit_pairs *pairs, size_t lane, double slope,
		     size_t most)
{
	const struct fit_times *g = &pairs->data[lane].guest->events;
	size_t nr = 0;

	for (size_t i = fit_first_at(g, s->now.from); i < g->nr && g->data[i] < s->now.to; i++) {
		double moved = slope * (double)(g->data[i] - s->now.from);

		if (nr++ == most)
			break;
		if (!vec_push(&s->rows,
			      (struct row){&s->lanes.data[lane], g->data[i] + (int64_t)moved, 0}))
			return false;
	}
	return true;
}

static bool try_window(struct search *s, const struct fit_pairs *pairs, double slope, size_t most)
{
	const struct fit_top *a = s->now.tops, *b = s->best->tops;

	s->rows.nr = 0;
	memset(s->now.tops, 0, sizeof(s->now.tops));
	for (size_t i = 0; i < pairs->nr; i++) {
		if (!add_rows(s, pairs, i, slope, most))
			return false;
	}
	search_window(s);
	sort_tops(&s->now);
	if (!b[0].score || a[0].score - a[1].score > b[0].score - b[1].score)
		*s->best = s->now;
	return true;
}

static size_t most_events(const struct fit_pairs *pairs)
{
	size_t nr = 1, most;

	vec_for_each (pairs, p)
		nr += p->host->stays.nr;
	most = MAX_STEPS / nr;
	return most < MIN_EVENTS ? MIN_EVENTS : most > MAX_EVENTS ? MAX_EVENTS : most;
}

static bool try_windows(struct search *s, const struct fit_pairs *pairs, int64_t from, int64_t to,
			const struct fit_coarse_opts *opts)
{
	const struct fit_times *g = fit_longest(pairs, true, from, to);
	size_t first = g ? fit_first_at(g, from) : 0, nr = g ? fit_first_at(g, to) - first : 0;
	size_t most = most_events(pairs), windows = nr > 2 * most ? NR_WINDOWS : nr > 0;
	bool ok = true;

	for (size_t i = 0; ok && i < windows; i++) {
		size_t at = windows == 1 ? 0 : (nr - most) * i / (windows - 1);
		size_t last = nr - at > most ? at + most - 1 : nr - 1;

		s->now.from = g->data[first + at];
		s->now.to = g->data[first + last] + 1;
		if (s->now.to - s->now.from > opts->span)
			s->now.to = s->now.from + opts->span;
		ok = try_window(s, pairs, opts->slope, most);
	}
	return ok;
}

enum clew_err fit_coarse_stays(const struct fit_pairs *pairs, int64_t from, int64_t to,
			       const struct fit_coarse_opts *opts, struct fit_tops *ret)
{
	struct search s = {.near = opts->near, .best = ret};
	bool ok;

	*ret = (struct fit_tops){0};
	ok = begin(&s, pairs, opts->holes, opts->width) && try_windows(&s, pairs, from, to, opts);
	end(&s);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

/* One stretch of small bins. */
static void search_near(struct search *s, int64_t base)
{
	vec_for_each (&s->rows, r) {
		r->at = search_first(r->stays->nr, i, r->stays->data[i].out - r->guest >= base);
		count_row(s, r, base);
	}
	find_tops(s, base);
	sort_tops(&s->now);
}

enum clew_err fit_fine_stays(const struct fit_pairs *pairs, const struct fit_stays *holes,
			     int64_t from, int64_t to, int64_t reach, struct fit_line *line)
{
	struct search s = {
		.now = {.from = from, .to = to}
        };
	int64_t base = fit_line_at(line, from) - reach;
	bool ok = begin(&s, pairs, holes, 2 * reach / NR_BINS + 1);

	for (size_t i = 0; ok && i < pairs->nr; i++)
		ok = add_rows(&s, pairs, i, line->slope, MAX_FINE);
	if (ok)
		search_near(&s, base);
	if (ok && s.now.tops[0].score)
		*line = (struct fit_line){from, s.now.tops[0].offset, line->slope, 0};
	end(&s);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}
