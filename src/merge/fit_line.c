/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/fit_line.h"

#include <float.h>
#include <stdlib.h>

enum {
	STEPS = 100, /* of a search by thirds: more than a double has digits for */
	DROP_ONE_OF = 100,
	DROP_FROM = 20, /* bounds: fewer are all needed */
};

/* Whole numbers outward, so that a band is never narrower than what it stands for. */
static struct fit_band band_of(double low, double high)
{
	return (struct fit_band){(int64_t)low - 1, (int64_t)high + 1};
}

/* The points that matter at some slope: the upper edge of the lower cloud, or the reverse. */
struct hull {
	struct fit_bounds points;
	int64_t at;
	int sign; /* 1: maximum of bound - slope * at; -1: minimum */
};

static __int128 turn(const struct fit_bound *a, const struct fit_bound *b,
		     const struct fit_bound *c)
{
	return (__int128)(b->at - a->at) * (c->bound - a->bound) -
	       (__int128)(b->bound - a->bound) * (c->at - a->at);
}

static bool hull_make(struct hull *h, const struct fit_bounds *of)
{
	struct fit_bounds *p = &h->points;

	p->nr = 0;
	vec_for_each (of, b) {
		while (p->nr >= 2 &&
		       turn(&p->data[p->nr - 2], &p->data[p->nr - 1], b) * h->sign >= 0)
			p->nr--;
		if (!vec_push(p, *b))
			return false;
	}
	return true;
}

static double hull_value(const struct hull *h, double slope)
{
	double best = -DBL_MAX;

	vec_for_each (&h->points, b) {
		double v = h->sign * ((double)b->bound - slope * (double)(b->at - h->at));

		best = v > best ? v : best;
	}
	return h->sign * best;
}

struct space {
	struct hull low, high;
	double max_slope;
};

static double room(const struct space *s, double slope)
{
	return hull_value(&s->high, slope) - hull_value(&s->low, slope);
}

/* room() is concave. */
static double best_slope(const struct space *s)
{
	double a = -s->max_slope, b = s->max_slope;

	for (int i = 0; i < STEPS && a < b; i++) {
		double m = a + (b - a) / 3, n = b - (b - a) / 3;

		if (room(s, m) < room(s, n))
			a = m;
		else
			b = n;
	}
	return (a + b) / 2;
}

/* The slope furthest from @p best to one side that still has room. */
static double last_slope(const struct space *s, double best, double limit)
{
	double good = best, bad = limit;

	if (room(s, limit) >= 0)
		return limit;
	for (int i = 0; i < STEPS; i++) {
		double m = (good + bad) / 2;

		if (room(s, m) >= 0)
			good = m;
		else
			bad = m;
	}
	return good;
}

/* What a line touching the hull says at @p t; concave in the slope for the upper, convex for the
 * lower one. */
static double extreme_at(const struct hull *h, double a, double b, int64_t t)
{
	for (int i = 0; i < STEPS && a < b; i++) {
		double m = a + (b - a) / 3, n = b - (b - a) / 3;
		double at_m = hull_value(h, m) + m * (double)(t - h->at);
		double at_n = hull_value(h, n) + n * (double)(t - h->at);

		/* the upper bound is searched for its greatest value, the lower for its least */
		if (h->sign < 0 ? at_m < at_n : at_m > at_n)
			a = m;
		else
			b = n;
	}
	a = (a + b) / 2;
	return hull_value(h, a) + a * (double)(t - h->at);
}

static struct fit_band band_at(const struct space *s, double slope, int64_t t)
{
	double a, b;

	if (room(s, slope) < 0 || s->max_slope <= 0) {
		double moved = slope * (double)(t - s->low.at);

		return band_of(hull_value(&s->low, slope) + moved,
			       hull_value(&s->high, slope) + moved);
	}
	a = last_slope(s, slope, -s->max_slope);
	b = last_slope(s, slope, s->max_slope);
	return band_of(extreme_at(&s->low, a, b, t), extreme_at(&s->high, a, b, t));
}

/* --- dropping the tightest --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How far the bound pushes the line up (lower ones) or down. */
static double push(const struct hull *h, const struct fit_bound *b, double slope)
{
	return h->sign * ((double)b->bound - slope * (double)(b->at - h->at));
}

static bool drop_tightest(const struct hull *h, struct fit_bounds *of, double slope)
{
	size_t nr = of->nr < DROP_FROM ? 0 : (of->nr + DROP_ONE_OF - 1) / DROP_ONE_OF, kept = 0;
	double *pushes, limit;

	if (!nr)
		return true;
	pushes = mem_calloc(of->nr, sizeof(*pushes));
	if (!pushes)
		return false;
	for (size_t i = 0; i < of->nr; i++)
		pushes[i] = push(h, &of->data[i], slope);
	qsort(pushes, of->nr, sizeof(*pushes), compare);
	limit = pushes[of->nr - nr];
	mem_free(pushes);
	for (size_t i = 0; i < of->nr; i++) {
		if (push(h, &of->data[i], slope) < limit)
			of->data[kept++] = of->data[i];
	}
	of->nr = kept ? kept : of->nr; /* all alike */
	return true;
}

static bool make_hulls(struct space *s, const struct fit_bounds *low, const struct fit_bounds *high)
{
	return hull_make(&s->low, low) && hull_make(&s->high, high);
}

static void take_line(const struct space *s, double slope, struct fit_line *ret)
{
	double low = hull_value(&s->low, slope), high = hull_value(&s->high, slope);

	*ret = (struct fit_line){.at = s->low.at, .slope = slope};
	ret->offset = (int64_t)((low + high) / 2);
	ret->width = (int64_t)(high - low);
}

bool fit_line(struct fit_bounds *low, struct fit_bounds *high, double max_slope, int64_t from,
	      int64_t to, struct fit_line *ret, struct fit_band bands[2])
{
	struct space s = {
		.low = {.at = from, .sign = 1 },
		.high = {.at = from, .sign = -1},
		.max_slope = max_slope
        };
	bool ok = make_hulls(&s, low, high);
	double slope = ok ? best_slope(&s) : 0;

	ok = ok && drop_tightest(&s.low, low, slope) && drop_tightest(&s.high, high, slope) &&
	     make_hulls(&s, low, high);
	if (ok) {
		slope = best_slope(&s);
		take_line(&s, slope, ret);
		bands[0] = band_at(&s, slope, from);
		bands[1] = band_at(&s, slope, to);
	}
	vec_done(&s.low.points);
	vec_done(&s.high.points);
	return ok;
}
