/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "merge/guest_fit_impl.h"

enum {
	FIRST_BEFORE_US = 500, /* a wake-up takes no longer, at first */
	FIRST_AFTER_US = 40,
	LEAST_BEFORE_US = 60,
	MIN_LOW = 10, /* bounds, fewer say nothing */
	MIN_HIGH = 3,
	MIN_SPLIT = 16,
	MAX_PIECES = 64,
	ROUNDS = 4,
	MIN_IDS = 8,
	STAYS_REACH_US = 4000, /* bounds that are further off do not matter */
	DRIFT_SPAN_US = 500000,
	STAYS_WEIGHT = 20, /* of an event outside: most are inside by chance */
};

#define MAX_SLOPE 500e-6 /* crystals differ by 200 ppm at most, and a VM's scale is corrected */

/* --- one piece --- */

static bool match(struct fit *f, int64_t from, int64_t to, const struct fit_line *line)
{
	return f->is_by_stays ? fit_match_stays(&f->pairs, from, to, line, &f->near, &f->match)
			      : fit_match(&f->pairs, from, to, line, &f->near, &f->match);
}

/** Fit the line to the edges in [from, to). @return false: too few, or *err is set. */
static bool fit_range(struct fit *f, int64_t from, int64_t to, struct fit_piece *p,
		      enum clew_err *err)
{
	double max_slope = f->opts->is_one_clock ? 0 : MAX_SLOPE;

	if (!match(f, from, to, &p->line)) {
		*err = CLEW_NO_MEMORY;
		return false;
	}
	p->from = from;
	p->to = to;
	p->nr_matched = f->match.matched.nr;
	p->nr_edges = p->nr_matched + f->match.unmatched.nr;
	if (f->match.low.nr < MIN_LOW || f->match.high.nr < MIN_HIGH)
		return false;
	if (f->opts->has_offset)
		return true;
	if (!fit_line(&f->match.low, &f->match.high, max_slope, from, to, &p->line, p->bands))
		*err = CLEW_NO_MEMORY;
	return *err == CLEW_OK;
}

/*
 * Where the matches end: the guest time that has most matched edges on the line's side of it and
 * most others beyond. @p from: the side where the line is known to be right.
 */
static int64_t end_of_matches(const struct fit *f, int64_t start, int64_t end, bool forward)
{
	const struct fit_match *m = &f->match;
	int64_t weight = f->is_by_stays ? STAYS_WEIGHT : 1;
	size_t i = 0, j = 0, nr = m->matched.nr + m->unmatched.nr;
	int64_t sum = 0, best = 0, best_at = forward ? start : end, t;

	for (size_t n = 0; n < nr; n++) {
		bool is_match;

		if (forward) {
			is_match =
				i < m->matched.nr && (j == m->unmatched.nr ||
						      m->matched.data[i] <= m->unmatched.data[j]);
			t = is_match ? m->matched.data[i++] : m->unmatched.data[j++];
		} else {
			size_t a = m->matched.nr - i, b = m->unmatched.nr - j;

			is_match = a && (!b || m->matched.data[a - 1] >= m->unmatched.data[b - 1]);
			t = is_match ? m->matched.data[a - 1] : m->unmatched.data[b - 1];
			i += is_match;
			j += !is_match;
		}
		sum += is_match ? 1 : -weight;
		/* One chance match after the end may cancel one missing match, not more. */
		if (sum > best) {
			best = sum;
			best_at = forward ? t + 1 : t;
		}
	}
	return best_at;
}

/** Does the line hold in [from, to), which is new? If not, *edge is where it ends. */
static bool holds(struct fit *f, const struct fit_piece *p, int64_t from, int64_t to, bool forward,
		  int64_t *edge, enum clew_err *err)
{
	const struct fit_match *m = &f->match;

	if (!match(f, from, to, &p->line)) {
		*err = CLEW_NO_MEMORY;
		return false;
	}
	if (m->unmatched.nr < MIN_SPLIT / 2 ||
	    m->unmatched.nr <= m->matched.nr / (f->is_by_stays ? 2 * STAYS_WEIGHT : 3))
		return true;
	*edge = end_of_matches(f, from, to, forward);
	return false;
}

struct reach {
	int64_t from, to;      /* to be covered */
	bool has_from, has_to; /* the piece ends before it */
};

static void shrink_near(struct fit *f)
{
	int64_t before = 4 * f->match.late + fit_us(f, FIRST_AFTER_US) / 2;

	if (f->is_by_stays)
		return;
	before = before < fit_us(f, LEAST_BEFORE_US) ? fit_us(f, LEAST_BEFORE_US) : before;
	before = before > fit_us(f, FIRST_BEFORE_US) ? fit_us(f, FIRST_BEFORE_US) : before;
	f->near.before = before;
}

static bool grow_to(struct fit *f, struct fit_piece *p, struct reach *r, bool *ret_grew,
		    enum clew_err *err)
{
	int64_t more = p->to - p->from, from = p->from, to = p->to, edge;

	if (r->has_to && to < r->to) {
		to = r->to - to < more ? r->to : to + more;
		if (!holds(f, p, p->to, to, true, &edge, err)) {
			to = edge > p->to ? edge : p->to;
			r->has_to = false;
		}
	}
	if (!*err && r->has_from && from > r->from) {
		from = from - r->from < more ? r->from : from - more;
		if (!holds(f, p, from, p->from, false, &edge, err)) {
			from = edge < p->from ? edge : p->from;
			r->has_from = false;
		}
	}
	*ret_grew = from != p->from || to != p->to;
	return !*err && fit_range(f, from, to, p, err);
}

/*
 * A stretch with a good fit may have a few edges of another offset at either end: keep it from its
 * middle to where it stops matching.
 */
static bool trim(struct fit *f, struct fit_piece *p, enum clew_err *err)
{
	int64_t middle = p->from + (p->to - p->from) / 2, from = p->from, to = p->to;

	if (!match(f, middle, to, &p->line)) {
		*err = CLEW_NO_MEMORY;
		return false;
	}
	to = end_of_matches(f, middle, to, true);
	if (!match(f, from, middle, &p->line)) {
		*err = CLEW_NO_MEMORY;
		return false;
	}
	from = end_of_matches(f, from, middle, false);
	return fit_range(f, from, to, p, err);
}

/** By threads that the host's trace has, too: exact, but only if the guest's ids are the same. */
static bool use_ids(struct fit *f, struct fit_piece *p, enum clew_err *err)
{
	struct fit_piece n = *p;
	int64_t slack = p->line.width > 0 ? p->line.width : 0;
	struct fit_match *m = &f->match;
	double max_slope = f->opts->is_one_clock ? 0 : MAX_SLOPE;
	bool ok = fit_match(&f->pairs, p->from, p->to, &p->line, &f->near, m) &&
		  fit_ids_bounds(&f->pairs, p, slack + fit_us(f, 2), &m->low, &m->high, &p->ids);

	if (ok && p->ids.nr_inside >= MIN_IDS && p->ids.nr_inside * 100 >= p->ids.nr * 99) {
		fit_bounds_sort(&m->low);
		fit_bounds_sort(&m->high);
		n.ids = p->ids;
		ok = fit_line(&m->low, &m->high, max_slope, p->from, p->to, &n.line, n.bands);
		/* They contradict the switches: these are believed. */
		if (n.line.width >= 0)
			*p = n;
	}
	*err = ok ? CLEW_OK : CLEW_NO_MEMORY;
	return ok;
}

/** Stays that are close to each other are easily mistaken: where most events are inside is right.
 */
static bool centre(struct fit *f, struct fit_piece *p, enum clew_err *err)
{
	if (f->is_by_stays)
		*err = fit_fine_stays(&f->pairs, &f->host->holes, p->from, p->to,
				      fit_us(f, 4 * FIT_BIN_US), &p->line);
	return !*err;
}

/** What edges found is near enough to know the stay of each event, which bounds the offset, too. */
static bool use_stays(struct fit *f, struct fit_piece *p, enum clew_err *err)
{
	const struct fit_near near = f->near;
	struct fit_piece n = *p;
	bool ok;

	if (f->is_by_stays)
		return true;
	f->is_by_stays = true;
	f->near =
		(struct fit_near){fit_us(f, STAYS_REACH_US), fit_us(f, FIRST_AFTER_US), near.holes};
	ok = centre(f, &n, err) && fit_range(f, p->from, p->to, &n, err) &&
	     fit_range(f, p->from, p->to, &n, err);
	f->is_by_stays = false;
	f->near = near;
	if (!ok || n.line.width < 0 || n.nr_matched * 1000 < n.nr_edges * 999 ||
	    fit_width(&n) > fit_width(p))
		return !*err;
	n.nr_matched = p->nr_matched;
	n.nr_edges = p->nr_edges;
	*p = n;
	return true;
}

/** From a peak to the longest piece around it. @return false: there is none, or *err is set. */
static bool fit_piece(struct fit *f, const struct fit_peak *peak, int64_t from, int64_t to,
		      struct fit_piece *p, enum clew_err *err)
{
	struct reach r = {from, to, true, true};
	bool grew = true, ok;

	*p = (struct fit_piece){
		.line = {.at = peak->from, .offset = peak->offset}
        };
	f->near = (struct fit_near){fit_us(f, f->is_by_stays ? STAYS_REACH_US : FIRST_BEFORE_US),
				    fit_us(f, FIT_BIN_US), &f->host->holes};
	ok = fit_range(f, peak->from, peak->to, p, err);
	f->near.after = fit_us(f, FIRST_AFTER_US);
	ok = ok && fit_range(f, peak->from, peak->to, p, err);
	shrink_near(f);
	while (ok && grew)
		ok = grow_to(f, p, &r, &grew, err);
	ok = ok && trim(f, p, err) && centre(f, p, err);
	for (int i = 0; i < ROUNDS && ok; i++)
		ok = fit_range(f, p->from, p->to, p, err);
	return ok && use_stays(f, p, err) && use_ids(f, p, err);
}

/* --- all pieces --- */

struct range {
	int64_t from, to;
};

struct ranges {
	VEC(struct range);
};

static int by_from(const void *a, const void *b)
{
	const struct fit_piece *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static uint64_t edges_in(const struct fit *f, int64_t from, int64_t to)
{
	uint64_t nr = 0;

	vec_for_each (&f->pairs, p) {
		const struct fit_times *g = fit_times_of(p->guest, f->is_by_stays);

		nr += fit_first_at(g, to) - fit_first_at(g, from);
	}
	return nr;
}

/* From its first edge to its last: what is between two pieces is where the clock jumped. */
static bool add_range(const struct fit *f, struct ranges *todo, int64_t from, int64_t to)
{
	struct range r = {to, from};

	if (from >= to || edges_in(f, from, to) < 2 * MIN_SPLIT)
		return true;
	vec_for_each (&f->pairs, p) {
		const struct fit_times *g = fit_times_of(p->guest, f->is_by_stays);
		size_t first = fit_first_at(g, from), end = fit_first_at(g, to);

		if (first == end)
			continue;
		r.from = g->data[first] < r.from ? g->data[first] : r.from;
		r.to = g->data[end - 1] >= r.to ? g->data[end - 1] + 1 : r.to;
	}
	return vec_push(todo, r);
}

static enum clew_err coarse(struct fit *f, struct range r, struct fit_peak *ret)
{
	const struct fit_coarse_opts opts = {
		.width = fit_us(f, FIT_BIN_US),
		.near = fit_us(f, FIT_NEAR_US),
		.span = f->opts->is_one_clock ? INT64_MAX : fit_us(f, DRIFT_SPAN_US),
		.holes = &f->host->holes};
	struct fit_tops t;
	struct fit_line line;
	enum clew_err err;

	if (!f->is_by_stays)
		return fit_coarse(&f->pairs, r.from, r.to, 0, fit_us(f, FIT_BIN_US), ret);
	err = fit_coarse_stays(&f->pairs, r.from, r.to, &opts, &t);
	line = (struct fit_line){.at = t.from, .offset = t.tops[0].offset};
	if (!err)
		err = fit_fine_stays(&f->pairs, &f->host->holes, t.from, t.to,
				     fit_us(f, 4 * FIT_BIN_US), &line);
	*ret = (struct fit_peak){t.from, t.to, line.offset, t.tops[0].score, t.tops[1].score};
	return err;
}

static enum clew_err take_range(struct fit *f, struct ranges *todo, struct range r)
{
	enum clew_err err;
	struct fit_peak peak;
	struct fit_piece p;

	err = coarse(f, r, &peak);
	if (err || !peak.score)
		return err;
	if (!fit_piece(f, &peak, r.from, r.to, &p, &err)) {
		f->nearest = peak.score > f->nearest.score ? peak : f->nearest;
		return err;
	}
	err = fit_judge_piece(f, &p);
	if (err || (p.verdict == FIT_NOT_FOUND && f->ret->pieces.nr))
		return err;
	if (!vec_push(&f->ret->pieces, p) || !add_range(f, todo, r.from, p.from) ||
	    !add_range(f, todo, p.to, r.to))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

static void whole(const struct fit *f, struct range *ret)
{
	*ret = (struct range){INT64_MAX, INT64_MIN};
	vec_for_each (&f->pairs, p) {
		const struct fit_times *g = fit_times_of(p->guest, f->is_by_stays);

		if (g->nr && g->data[0] < ret->from)
			ret->from = g->data[0];
		if (g->nr && g->data[g->nr - 1] >= ret->to)
			ret->to = g->data[g->nr - 1] + 1;
	}
}

static enum clew_err find_pieces(struct fit *f)
{
	struct ranges todo = {0};
	enum clew_err err = CLEW_OK;

	if (!add_range(f, &todo, INT64_MIN, INT64_MAX))
		err = CLEW_NO_MEMORY;
	for (size_t n = 0; todo.nr && !err && n < MAX_PIECES; n++) {
		struct range r = todo.data[--todo.nr];

		err = take_range(f, &todo, r);
	}
	vec_done(&todo);
	if (f->ret->pieces.nr)
		qsort(f->ret->pieces.data, f->ret->pieces.nr, sizeof(*f->ret->pieces.data),
		      by_from);
	return err;
}

/* --- an offset that is given --- */

static enum clew_err check_given(struct fit *f)
{
	struct fit_piece p = {
		.line = {.offset = f->opts->offset, .slope = f->opts->slope}
        };
	struct range all;
	enum clew_err err = CLEW_OK;

	whole(f, &all);
	if (all.from > all.to)
		all.from = all.to = 0;
	f->near = (struct fit_near){fit_us(f, FIRST_BEFORE_US), fit_us(f, FIRST_AFTER_US),
				    &f->host->holes};
	fit_range(f, all.from, all.to, &p, &err);
	/* An offset that the user gives has no band. */
	for (int i = 0; i < 2; i++)
		p.bands[i].low = p.bands[i].high = fit_line_at(&p.line, i ? p.to : p.from);
	p.verdict = FIT_NOT_FOUND;
	if (p.nr_matched * 10 >= p.nr_edges * 9 && p.nr_matched >= 20)
		p.verdict = FIT_LIKELY;
	if (err || vec_push(&f->ret->pieces, p))
		return err;
	return CLEW_NO_MEMORY;
}

/* --- the whole --- */

static enum clew_err make_pairs(struct fit *f, const struct fit_guest *guest)
{
	vec_for_each (&guest->lanes, g) {
		vec_for_each (&f->host->lanes, h) {
			if (h->vcpu != g->vcpu)
				continue;
			if (!vec_push(&f->pairs, (struct fit_pair){h, g}))
				return CLEW_NO_MEMORY;
			break;
		}
	}
	return CLEW_OK;
}

/** No offset fits. The one that is nearest says why: what agrees with it, and what does not. */
static enum clew_err take_nearest(struct fit *f)
{
	const struct fit_peak *peak = &f->nearest;
	struct fit_piece p = {
		.line = {.at = peak->from, .offset = peak->offset}
        };
	enum clew_err err = CLEW_OK;
	struct range all;

	whole(f, &all);
	if (!match(f, all.from, all.to, &p.line))
		return CLEW_NO_MEMORY;
	p.from = all.from;
	p.to = all.to;
	p.nr_matched = f->match.matched.nr;
	p.nr_edges = p.nr_matched + f->match.unmatched.nr;
	for (int i = 0; i < 2; i++)
		p.bands[i].low = p.bands[i].high = peak->offset;
	err = fit_judge_piece(f, &p);
	p.verdict = FIT_NOT_FOUND;
	return err || vec_push(&f->ret->pieces, p) ? err : CLEW_NO_MEMORY;
}

static enum clew_err look(struct fit *f)
{
	enum clew_err err = f->opts->has_offset ? check_given(f) : find_pieces(f);

	if (err)
		return err;
	if (!f->ret->pieces.nr && f->nearest.score)
		err = take_nearest(f);
	if (err || f->ret->pieces.nr)
		return err ? err : fit_conclude(f);
	fit_conclude_none(f);
	return CLEW_OK;
}

/** Edges found no offset. What they said stays if the stays say no more. */
static enum clew_err look_by_stays(struct fit *f)
{
	struct fit_result by_edges = *f->ret, *ret = f->ret;
	enum clew_err err;

	*ret = (struct fit_result){.is_by_stays = true};
	f->nearest = (struct fit_peak){0};
	f->is_by_stays = true;
	err = look(f);
	if (err || ret->verdict != FIT_NOT_FOUND || (ret->pieces.nr && !by_edges.pieces.nr)) {
		fit_result_done(&by_edges);
		return err;
	}
	fit_result_done(ret);
	*ret = by_edges;
	return CLEW_OK;
}

enum clew_err guest_fit(const struct fit_host *host, const struct fit_guest *guest,
			const struct fit_opts *opts, struct fit_result *ret)
{
	struct fit f = {.host = host, .opts = opts, .ret = ret};
	enum clew_err err = make_pairs(&f, guest);

	*ret = (struct fit_result){0};
	err = err ? err : look(&f);
	if (!err && ret->verdict == FIT_NOT_FOUND && !opts->has_offset && f.pairs.nr)
		err = look_by_stays(&f);
	fit_match_done(&f.match);
	vec_done(&f.pairs);
	return err;
}

void fit_result_done(struct fit_result *r)
{
	vec_done(&r->pieces);
}
