/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_edges.h"

enum {
	MAX_RUN_BYTES = 1 << 20,  /* AutoFDO's own limit, */
	MAX_LOOP_BYTES = 1 << 12, /* and for the first entry that is there twice */
	BRANCH_SPEC_SHIFT = 24,   /* of the flags, 2 bits: */
	BRANCH_SPEC_MASK = 3,
	BRANCH_WRONG_PATH = 1,
};

struct stacks {
	struct counted_code *code;
	struct branch_edges_totals *totals;
};

/** One entry, resolved. */
struct entry {
	const struct ana_loc *from, *to;
	bool is_mispredicted;
};

void branch_edges_wish(struct ana_opts *opts)
{
	opts->wants_branches = true;
	opts->no_chains = true;
	opts->no_merge = true;
}

static bool is_kernel(const struct ana_loc *l)
{
	return l->level == ANA_KERNEL;
}

static bool is_other_function(const struct ana_loc *a, const struct ana_loc *b)
{
	return a->dso != b->dso || a->sym != b->sym;
}

static bool add_branch(struct stacks *s, const struct entry *e)
{
	struct code_count branch = {.nr = 1, .nr_part = e->is_mispredicted};

	s->totals->nr_branches++;
	return counted_code_add_branch(s->code, e->from, e->to, &branch);
}

/** A known fault of some processors: the newest entry twice. A short loop looks the same. */
static bool is_copy(const struct entry *next, const struct entry *e)
{
	return next->from->ip == e->from->ip && next->to->ip == e->to->ip &&
	       next->from->ip - next->to->ip > MAX_LOOP_BYTES;
}

/** What ran between @p e and the branch that was taken next. */
static bool add_run(struct stacks *s, const struct entry *e, const struct entry *next)
{
	struct code_count run = {.a = e->to->ip,
				 .b = next->from->ip,
				 .nr = 1,
				 .nr_part = is_other_function(e->from, e->to),
				 .flags = CODE_ENTERED};

	if (!e->to->dso || e->to->dso != next->from->dso)
		return true;
	if (next->from->rel < e->to->rel || run.b - run.a > MAX_RUN_BYTES) {
		s->totals->nr_bad_runs++;
		return true;
	}
	return counted_code_add_run(s->code, e->to, &run);
}

/** Entries to skip: never executed, or into the kernel and back, where execution continues as if
 * nothing had been. */
static bool is_skipped(const struct perf_branch *b, const struct entry *e)
{
	return (b->flags >> BRANCH_SPEC_SHIFT & BRANCH_SPEC_MASK) == BRANCH_WRONG_PATH ||
	       is_kernel(e->from) != is_kernel(e->to);
}

static bool add_stack(struct stacks *s, const struct ana_event *e)
{
	struct entry next = {0};
	uint64_t nr_taken = 0;

	for (uint64_t i = 0; i < e->sample->branches.nr; i++) {
		struct perf_branch b = perf_branch_get(e->sample, i);
		struct entry at = {e->branches[2 * i], e->branches[2 * i + 1],
				   b.flags & PERF_BRANCH_MISPRED};

		if (is_skipped(&b, &at))
			continue;
		if (!(nr_taken == 1 && is_copy(&next, &at))) {
			if (!add_branch(s, &at) || (nr_taken && !add_run(s, &at, &next)))
				return false;
		}
		next = at;
		nr_taken++;
	}
	return true;
}

static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	struct stacks *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (!e->sample)
			continue;
		s->totals->nr_samples++;
		if (e->loc && !counted_code_add_sample(s->code, e->loc, 1))
			return CLEW_NO_MEMORY;
		if (!e->branches)
			continue;
		s->totals->nr_stacks++;
		if (!add_stack(s, e))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err branch_edges(struct counted_code *ret, struct analyze *a,
			   struct branch_edges_totals *totals, struct clew_diag *diag)
{
	struct stacks s = {ret, totals};
	const struct ana_consumer consumer = {take_batch, &s};
	enum clew_err err = analyze_run(a, &consumer, diag);

	if (err == CLEW_OK)
		counted_code_finish(ret);
	return err;
}
