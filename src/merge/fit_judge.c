/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/guest_fit_impl.h"

enum {
	NR_RANDOM = 32,
	SURE_EDGES = 200,
	SURE_EDGES_LONG = 50, /* over two seconds */
	SURE_US = 50,
	LIKELY_US = 1000,
	MAX_SLACK_US = 100,
	MIN_GAPS = 20,
	LATE_US = 500, /* a wake-up takes no longer */
	MIN_EDGES = 10,
	MIN_ALIKE = 20, /* edges that agree */
	OUTSTANDING = 50,
};

/* --- its verdict --- */

/* How far an event may be outside of a stay that it is in. */
static int64_t slack_of(const struct fit *f, int64_t width)
{
	int64_t half = width / 2, most = fit_us(f, MAX_SLACK_US);

	return half < 0 ? 0 : half < most ? half : most;
}

static enum fit_verdict judge(const struct fit *f, const struct fit_piece *p)
{
	int64_t width = fit_width(p);
	bool is_long = (double)(p->to - p->from) >= 2e6 * f->opts->per_us;
	uint64_t need = is_long ? SURE_EDGES_LONG : SURE_EDGES;

	if (p->line.width >= 0 && width <= fit_us(f, SURE_US) && p->nr_matched >= need &&
	    p->nr_matched * 10 >= p->nr_edges * 9 && p->runner_up * 2 <= p->score)
		return FIT_SURE;
	if (width <= fit_us(f, LIKELY_US) && width >= -fit_us(f, SURE_US) &&
	    p->nr_matched >= MIN_ALIKE && p->runner_up * 10 <= p->score * 7)
		return FIT_LIKELY;
	return FIT_NOT_FOUND;
}

/** Has the next best offset events in many gaps, and this one in few? */
static bool is_apart(const struct fit_piece *p)
{
	return p->gaps_other >= MIN_GAPS && p->gaps_hit * 10 <= p->gaps_other;
}

/*
 * By containment alone it is never sure. An offset that is wrong has by chance nearly as many
 * events in stays as the right one, if the threads of virtual CPUs ran nearly always. So what
 * counts is in how many gaps it has events, beside the next best.
 */
static enum fit_verdict judge_stays(const struct fit *f, const struct fit_piece *p)
{
	int64_t width = fit_width(p);

	if (width <= fit_us(f, LIKELY_US) && p->line.width >= -fit_us(f, SURE_US) &&
	    p->nr_matched * 100 >= p->nr_edges * 99 && is_apart(p))
		return FIT_LIKELY;
	return FIT_NOT_FOUND;
}

/* The peak once more, along the line: drift no longer blurs it. */
static enum clew_err score_edges(struct fit *f, struct fit_piece *p)
{
	struct fit_peak peak;
	enum clew_err err =
		fit_coarse(&f->pairs, p->from, p->to, p->line.slope, fit_us(f, FIT_BIN_US), &peak);

	p->score = peak.score;
	p->runner_up = peak.runner_up;
	return err;
}

/** The fewest gaps that another offset of @p tops has events in, in the whole piece. */
static uint64_t gaps_of_others(struct fit *f, const struct fit_piece *p, const struct fit_tops *t)
{
	int64_t near = fit_us(f, FIT_NEAR_US);
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < FIT_NR_TOPS && t->tops[i].score; i++) {
		int64_t shift = t->tops[i].offset - fit_line_at(&p->line, t->from);
		uint64_t nr;

		if (shift <= near && -shift <= near)
			continue;
		nr = fit_gaps_hit(&f->pairs, &f->host->holes, p->from, p->to, &p->line, shift,
				  fit_us(f, FIT_BIN_US));
		least = nr < least ? nr : least;
	}
	return least == UINT64_MAX ? 0 : least;
}

static enum clew_err score_stays(struct fit *f, struct fit_piece *p)
{
	const struct fit_stays *holes = &f->host->holes;
	const struct fit_coarse_opts opts = {p->line.slope, fit_us(f, FIT_BIN_US),
					     fit_us(f, FIT_NEAR_US), INT64_MAX, holes};
	struct fit_tops t;
	enum clew_err err = fit_coarse_stays(&f->pairs, p->from, p->to, &opts, &t);

	p->score = t.tops[0].score;
	p->runner_up = t.tops[1].score;
	p->gaps_hit = fit_gaps_hit(&f->pairs, holes, p->from, p->to, &p->line, 0,
				   slack_of(f, fit_width(p)));
	p->gaps_other = gaps_of_others(f, p, &t);
	return err;
}

/** Where edges fit at several offsets alike, the events along their line, which stays have
 * confirmed (guest_fit.c), may decide. */
static enum clew_err judge_alike(struct fit *f, struct fit_piece *p)
{
	struct fit_piece n = *p;
	enum clew_err err;

	if (p->line.width < 0 || fit_width(p) > fit_us(f, LIKELY_US) || p->nr_matched < MIN_ALIKE)
		return CLEW_OK;
	err = score_stays(f, &n);
	if (err || !is_apart(&n))
		return err;
	p->gaps_hit = n.gaps_hit;
	p->gaps_other = n.gaps_other;
	p->verdict = FIT_LIKELY;
	return CLEW_OK;
}

static enum clew_err judge_edges(struct fit *f, struct fit_piece *p)
{
	enum clew_err err = score_edges(f, p);

	p->verdict = judge(f, p);
	return err || p->verdict != FIT_NOT_FOUND ? err : judge_alike(f, p);
}

enum clew_err fit_judge_piece(struct fit *f, struct fit_piece *p)
{
	enum clew_err err;

	if (!f->is_by_stays)
		return judge_edges(f, p);
	err = score_stays(f, p);
	p->verdict = judge_stays(f, p);
	return err;
}

/* --- all pieces --- */

static void find_random(struct fit *f)
{
	struct fit_share *best = &f->ret->best_random;

	for (int64_t i = 0; i < NR_RANDOM; i++) {
		int64_t shift = fit_us(f, 1000 + 7919 * (i / 2 + 1)) * (i % 2 ? -1 : 1);
		struct fit_share s = fit_contained(f->host, &f->pairs, &f->ret->pieces, shift,
						   slack_of(f, f->ret->width));

		if (s.nr && (!best->nr || (double)s.nr_inside / (double)s.nr >
						  (double)best->nr_inside / (double)best->nr))
			*best = s;
	}
}

static void add_up(struct fit *f)
{
	struct fit_result *r = f->ret;
	bool is_first = true;

	vec_for_each (&r->pieces, p) {
		int64_t width = fit_width(p);

		r->nr_matched += p->nr_matched;
		r->nr_edges += p->nr_edges;
		r->gaps_hit += p->gaps_hit;
		r->gaps_other += p->gaps_other;
		r->ids.nr += p->ids.nr;
		r->ids.nr_inside += p->ids.nr_inside;
		r->width = width > r->width ? width : r->width;
		if (is_first ||
		    (uint64_t)p->runner_up * r->score > (uint64_t)r->runner_up * p->score) {
			r->score = p->score;
			r->runner_up = p->runner_up;
		}
		r->verdict = is_first || p->verdict < r->verdict ? p->verdict : r->verdict;
		is_first = false;
	}
}

static bool is_contained(const struct fit_share *s, uint64_t of_thousand)
{
	return s->nr && s->nr_inside * 1000 >= s->nr * of_thousand;
}

/** Of a host that lost switches unseen, as busy ones do: some events are outside of all stays, but
 * no other offset comes near. */
static bool stands_out(const struct fit_result *r)
{
	uint64_t outside = r->contained.nr - r->contained.nr_inside;
	uint64_t by_chance = r->best_random.nr - r->best_random.nr_inside;

	return !r->is_by_stays && r->score >= OUTSTANDING && r->runner_up * 10 <= r->score &&
	       is_contained(&r->contained, 900) &&
	       (double)outside * 3 * (double)r->best_random.nr <=
		       (double)by_chance * (double)r->contained.nr;
}

static const char *why_not(const struct fit_result *r)
{
	if (!is_contained(&r->contained, 990))
		return "its events fall where its virtual CPUs did not run";
	if (r->is_by_stays && r->gaps_other < MIN_GAPS)
		return "several offsets fit alike: it did not idle, and its virtual CPUs nearly "
		       "always ran";
	if (!r->is_by_stays && r->runner_up * 10 > r->score * 7)
		return "several offsets fit alike";
	return r->nr_matched < MIN_ALIKE ? "too few edges agree"
					 : "the bounds contradict each other";
}

/** Edges along the lines that stays gave: they say how far the switches agree. */
static enum clew_err match_edges(struct fit *f)
{
	f->near.before = fit_us(f, LATE_US);
	vec_for_each (&f->ret->pieces, p) {
		if (!fit_match(&f->pairs, p->from, p->to, &p->line, &f->near, &f->match))
			return CLEW_NO_MEMORY;
		p->nr_matched = f->match.matched.nr;
		p->nr_edges = p->nr_matched + f->match.unmatched.nr;
	}
	return CLEW_OK;
}

enum clew_err fit_conclude(struct fit *f)
{
	struct fit_result *r = f->ret;
	enum clew_err err = f->is_by_stays ? match_edges(f) : CLEW_OK;

	add_up(f);
	r->contained = fit_contained(f->host, &f->pairs, &r->pieces, 0, slack_of(f, r->width));
	find_random(f);
	if (r->verdict == FIT_SURE && !is_contained(&r->contained, 999))
		r->verdict = FIT_LIKELY;
	if (r->verdict == FIT_LIKELY && !is_contained(&r->contained, 990) && !stands_out(r))
		r->verdict = FIT_NOT_FOUND;
	if (r->verdict == FIT_NOT_FOUND)
		r->why = why_not(r);
	return err;
}

static const char *why_none(const struct fit *f)
{
	if (!f->pairs.nr)
		return "no virtual CPU has its number on both sides";
	return f->ret->nr_edges < MIN_EDGES ? "too few switches to and from the idle task"
					    : "no offset makes its switches fit those of the host";
}

void fit_conclude_none(struct fit *f)
{
	vec_for_each (&f->pairs, p)
		f->ret->nr_edges += p->guest->idle_outs.nr;
	f->ret->why = why_none(f);
}
