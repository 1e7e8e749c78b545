/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_lbr.h"

#include "analyze/analyze_impl.h"

/** @return where it is; nr: there is none. */
static uint32_t find_user_mark(const struct perf_words *chain)
{
	uint32_t i = 0;

	while (i < chain->nr && perf_words_get(chain, i) != PERF_CONTEXT_USER)
		i++;
	return i;
}

/** Where two addresses lie: *ret, whether in one function, also if both are in none. */
static enum clew_err compare(struct analyze *a, struct who_thread *t, uint64_t x, uint64_t y,
			     bool *ret)
{
	const struct ana_loc *p = ana_resolve(a, t, ANA_USER, x);
	const struct ana_loc *q = p ? ana_resolve(a, t, ANA_USER, y) : NULL;

	if (!q)
		return CLEW_NO_MEMORY;
	*ret = p->sym == q->sym;
	return CLEW_OK;
}

/** The innermost frames. @p at: of the user mark. */
static enum clew_err add_leaf(struct analyze *a, struct who_thread *t, const struct perf_words *w,
			      uint32_t at, uint64_t to)
{
	uint64_t ip = at + 1 < w->nr ? perf_words_get(w, at + 1) : 0;
	bool is_one = false;
	enum clew_err err;

	if (!ip || ip >= PERF_CONTEXT_MAX || a->opts.is_as_perf)
		return vec_push(&a->lbr, to) ? CLEW_OK : CLEW_NO_MEMORY;
	err = compare(a, t, ip, to, &is_one);
	if (err != CLEW_OK)
		return err;
	return vec_push(&a->lbr, ip) && (is_one || vec_push(&a->lbr, to)) ? CLEW_OK
									  : CLEW_NO_MEMORY;
}

enum clew_err ana_lbr_words(struct analyze *a, struct who_thread *t, const struct ana_event *e,
			    struct perf_words *ret)
{
	const struct perf_sample *s = e->sample;
	const struct perf_words *chain = &s->callchain;
	uint32_t at = find_user_mark(chain);
	enum clew_err err;

	if (at == chain->nr)
		return CLEW_OK;
	a->lbr.nr = 0;
	for (uint32_t i = 0; i <= at; i++) {
		if (!vec_push(&a->lbr, perf_words_get(chain, i)))
			return CLEW_NO_MEMORY;
	}
	err = add_leaf(a, t, chain, at, perf_branch_get(s, 0).to);
	for (uint64_t i = 0; err == CLEW_OK && i < s->branches.nr; i++) {
		if (!vec_push(&a->lbr, perf_branch_get(s, i).from))
			err = CLEW_NO_MEMORY;
	}
	if (err == CLEW_OK)
		*ret = (struct perf_words){.data = (const uint8_t *)a->lbr.data,
					   .nr = (uint32_t)a->lbr.nr};
	return err;
}
