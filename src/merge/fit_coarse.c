/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/fit_coarse.h"

#include <string.h>

enum {
	RUN_EDGES = 160,         /* of a vcpu, taken together */
	NR_RUNS = 5,             /* evenly over the recording: a pause or a loss spoils one */
	NR_BINS = 1 << 16,       /* of a stretch of differences, looked at in one go */
	MAX_STRETCHES = 1 << 18, /* some twelve days of bins of 64 us */
	NEAR_BINS = 8, /* one peak's: wake-ups of a busy host take up to half a millisecond */
	NR_TOPS = 8,
};

/* One guest edge, against all of its host lane's. */
struct row {
	const struct fit_times *wakes;
	int64_t guest;
	size_t start, at; /* of wakes: the first of this stretch, the next to count */
};

struct bin {
	int64_t offset;
	uint32_t score;
};

struct coarse {
	struct {
		VEC(struct row);
	} rows;
	uint32_t *grid; /* NR_BINS + 1 bins, then as many shifted by half of one */
	int64_t width;
	struct bin tops[NR_TOPS]; /* no two are neighbours */
};

/* --- the best bins --- */

static bool is_near(const struct coarse *c, const struct bin *b, int64_t offset)
{
	return b->score && b->offset - offset <= NEAR_BINS * c->width &&
	       offset - b->offset <= NEAR_BINS * c->width;
}

static struct bin *place_of(struct coarse *c, int64_t offset)
{
	struct bin *least = &c->tops[0];

	for (size_t i = 0; i < NR_TOPS; i++) {
		if (is_near(c, &c->tops[i], offset))
			return &c->tops[i];
		if (c->tops[i].score < least->score)
			least = &c->tops[i];
	}
	return least;
}

/* Counts grow by one, so a bin that gets among the best does so here. */
static void consider(struct coarse *c, int64_t offset, uint32_t score)
{
	struct bin *b = place_of(c, offset);

	if (score > b->score)
		*b = (struct bin){offset, score};
}

static void best_two(const struct coarse *c, struct fit_peak *ret)
{
	for (size_t i = 0; i < NR_TOPS; i++) {
		const struct bin *b = &c->tops[i];

		if (b->score > ret->score) {
			ret->runner_up = ret->score;
			ret->score = b->score;
			ret->offset = b->offset;
		} else if (b->score > ret->runner_up) {
			ret->runner_up = b->score;
		}
	}
}

/* --- counting --- */

static void count_one(struct coarse *c, int64_t base, int64_t difference)
{
	int64_t x = difference - base, half = c->width / 2;
	size_t even = (size_t)(x / c->width), odd = (size_t)((x + half) / c->width);
	uint32_t n = ++c->grid[even], m = ++c->grid[NR_BINS + 1 + odd];
	uint32_t enough = c->tops[0].score / 4;

	if (n > enough)
		consider(c, base + (int64_t)even * c->width + half, n);
	if (m > enough)
		consider(c, base + (int64_t)odd * c->width, m);
}

/* All differences from @p base on up to the end of the grid. */
static void count_stretch(struct coarse *c, int64_t base)
{
	int64_t end = base + NR_BINS * c->width;

	vec_for_each (&c->rows, r) {
		r->start = r->at;
		for (; r->at < r->wakes->nr && r->wakes->data[r->at] - r->guest < end; r->at++)
			count_one(c, base, r->wakes->data[r->at] - r->guest);
	}
}

/* Only what was counted: a long recording with few edges has many stretches. */
static void clear_stretch(struct coarse *c, int64_t base)
{
	vec_for_each (&c->rows, r) {
		for (size_t i = r->start; i < r->at; i++) {
			int64_t x = r->wakes->data[i] - r->guest - base;

			c->grid[x / c->width] = 0;
			c->grid[NR_BINS + 1 + (x + c->width / 2) / c->width] = 0;
		}
	}
}

static bool next_base(const struct coarse *c, int64_t *ret)
{
	bool has = false;

	vec_for_each (&c->rows, r) {
		int64_t x;

		if (r->at == r->wakes->nr)
			continue;
		x = r->wakes->data[r->at] - r->guest;
		if (!has || x < *ret)
			*ret = x;
		has = true;
	}
	return has;
}

static void count_all(struct coarse *c)
{
	int64_t base = 0;

	for (size_t nr = 0; nr < MAX_STRETCHES && next_base(c, &base); nr++) {
		count_stretch(c, base);
		clear_stretch(c, base);
	}
}

/* --- runs --- */

const struct fit_times *fit_longest(const struct fit_pairs *pairs, bool is_by_stays, int64_t from,
				    int64_t to)
{
	const struct fit_times *best = NULL;
	size_t most = 0;

	vec_for_each (pairs, p) {
		const struct fit_times *g = fit_times_of(p->guest, is_by_stays);
		size_t nr = fit_first_at(g, to) - fit_first_at(g, from);

		if (nr > most) {
			most = nr;
			best = g;
		}
	}
	return best;
}

static bool add_rows(struct coarse *c, const struct fit_pair *p, const struct fit_peak *run,
		     double slope)
{
	const struct fit_times *g = &p->guest->idle_outs;
	size_t nr = 0;

	for (size_t i = fit_first_at(g, run->from); i < g->nr && g->data[i] < run->to; i++) {
		double moved = slope * (double)(g->data[i] - run->from);

		if (nr++ == RUN_EDGES)
			break;
		if (!vec_push(&c->rows,
			      (struct row){&p->host->wakes, g->data[i] + (int64_t)moved, 0, 0}))
			return false;
	}
	return true;
}

static enum clew_err try_run(struct coarse *c, const struct fit_pairs *pairs, double slope,
			     struct fit_peak *run)
{
	c->rows.nr = 0;
	memset(c->tops, 0, sizeof(c->tops));
	vec_for_each (pairs, p) {
		if (!add_rows(c, p, run, slope))
			return CLEW_NO_MEMORY;
	}
	count_all(c);
	best_two(c, run);
	return CLEW_OK;
}

/* Which is clearer, not only higher. */
static bool is_better(const struct fit_peak *a, const struct fit_peak *b)
{
	return (int64_t)a->score - 2 * (int64_t)a->runner_up >
		       (int64_t)b->score - 2 * (int64_t)b->runner_up ||
	       !b->score;
}

static enum clew_err try_runs(struct coarse *c, const struct fit_pairs *pairs, int64_t from,
			      int64_t to, double slope, struct fit_peak *ret)
{
	const struct fit_times *g = fit_longest(pairs, false, from, to);
	size_t first = g ? fit_first_at(g, from) : 0, end = g ? fit_first_at(g, to) : 0;
	size_t nr = end - first, runs = nr > 2 * RUN_EDGES ? NR_RUNS : 1;

	for (size_t i = 0; g && i < runs; i++) {
		size_t at = runs == 1 ? 0 : (nr - RUN_EDGES) * i / (runs - 1);
		size_t last = nr - at > RUN_EDGES ? at + RUN_EDGES - 1 : nr - 1;
		struct fit_peak run = {.from = g->data[first + at],
				       .to = g->data[first + last] + 1};
		enum clew_err err = try_run(c, pairs, slope, &run);

		if (err)
			return err;
		if (is_better(&run, ret))
			*ret = run;
	}
	return CLEW_OK;
}

enum clew_err fit_coarse(const struct fit_pairs *pairs, int64_t from, int64_t to, double slope,
			 int64_t width, struct fit_peak *ret)
{
	struct coarse c = {.width = width};
	enum clew_err err = CLEW_NO_MEMORY;

	*ret = (struct fit_peak){0};
	c.grid = mem_calloc(2 * (NR_BINS + 1), sizeof(*c.grid));
	if (c.grid)
		err = try_runs(&c, pairs, from, to, slope, ret);
	mem_free(c.grid);
	vec_done(&c.rows);
	return err;
}
