/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_edges.h"

#include "base/same_text.h"

enum {
	MAX_RUN_BYTES = 1 << 20,  /* AutoFDO's own limit, */
	MAX_LOOP_BYTES = 1 << 12, /* and for the first entry that is there twice */
	BRANCH_SPEC_SHIFT = 24,   /* of the flags, 2 bits: */
	BRANCH_SPEC_MASK = 3,
	BRANCH_WRONG_PATH = 1,
};

struct stacks {
	struct counted_code *code;
	const struct branch_edges_opts *opts;
	struct branch_edges_totals *totals;
	struct map_u64 event_of; /* index of an evsel -> number in totals->events */
};

/** One entry, resolved. */
struct entry {
	const struct ana_loc *from, *to;
	uint64_t cycles; /* since the branch before; 0: not counted */
	bool is_mispredicted;
};

void branch_edges_totals_done(struct branch_edges_totals *t)
{
	vec_done(&t->events);
}

bool branch_edges_has_stacks(struct analyze *a)
{
	const struct perf_evlist *l = perf_file_evlist(analyze_file(a));

	vec_for_each (&l->evsels, e) {
		if ((*e)->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	}
	return false;
}

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
				 .nr_timed = next->cycles != 0,
				 .cycles = next->cycles * CODE_CYCLE,
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
				   perf_branch_cycles(b.flags), b.flags & PERF_BRANCH_MISPRED};

		if (is_skipped(&b, &at)) {
			next.cycles = 0; /* they do not begin where its run does */
			continue;
		}
		if (!(nr_taken == 1 && is_copy(&next, &at))) {
			if (!add_branch(s, &at) || (nr_taken && !add_run(s, &at, &next)))
				return false;
		}
		next = at;
		nr_taken++;
	}
	return true;
}

static bool is_omitted(const struct stacks *s, const struct perf_evsel *evsel)
{
	if (s->opts->event)
		return !is_same_text(s->opts->event, evsel->name);
	return s->opts->has_one_event && s->totals->events.nr;
}

/** NULL: out of memory. */
static struct branch_edges_event *event_of(struct stacks *s, const struct perf_evsel *evsel)
{
	const struct branch_edges_event e = {evsel, 0, is_omitted(s, evsel)};
	size_t n, nr = s->totals->events.nr;

	if (!map_u64_number(&s->event_of, evsel->index, nr, SIZE_MAX, &n) ||
	    (n == nr && !vec_push(&s->totals->events, e)))
		return NULL;
	return &s->totals->events.data[n];
}

static bool add_sample(struct stacks *s, const struct ana_event *e)
{
	s->totals->nr_samples++;
	if (e->loc && !counted_code_add_sample(s->code, e->loc, 1))
		return false;
	if (!e->branches)
		return true;
	s->totals->nr_stacks++;
	return add_stack(s, e);
}

static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	struct stacks *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];
		struct branch_edges_event *of = e->sample ? event_of(s, e->evsel) : NULL;

		if (!e->sample)
			continue;
		if (!of)
			return CLEW_NO_MEMORY;
		of->nr++;
		if (!of->is_omitted && !add_sample(s, e))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err branch_edges(struct counted_code *ret, struct analyze *a,
			   const struct branch_edges_opts *opts, struct branch_edges_totals *totals,
			   struct clew_diag *diag)
{
	static const struct branch_edges_opts any;
	struct stacks s = {ret, opts ? opts : &any, totals, {0}};
	const struct ana_consumer consumer = {take_batch, &s};
	enum clew_err err = analyze_run(a, &consumer, diag);

	map_u64_done(&s.event_of);
	if (err == CLEW_OK)
		counted_code_finish(ret);
	return err;
}
