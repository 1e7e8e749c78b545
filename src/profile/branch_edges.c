/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_edges.h"

#include "base/same_text.h"
#include "profile/branch_filter.h"
#include "profile/branch_walk.h"
#include "profile/straight_runs.h"

enum { MAX_RUN_BYTES = 1 << 20 /* AutoFDO's own limit */ };

struct stacks {
	struct counted_code *code;
	const struct branch_edges_opts *opts;
	struct branch_edges_totals *totals;
	struct map_u64 event_of; /* index of an evsel -> number in totals->events */
	size_t last_event;
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

void branch_edges_wish(struct ana_opts *opts, struct branch_sources *sources)
{
	if (sources)
		branch_sources_wish(sources, opts);
	opts->wants_branches = true;
	opts->no_chains = true;
	opts->no_merge = true;
}

static bool add_branch(void *ctx, const struct ana_loc *from, const struct ana_loc *to,
		       bool is_mispredicted)
{
	struct stacks *s = ctx;
	const struct code_count branch = {.nr = 1, .nr_part = is_mispredicted};

	s->totals->nr_branches++;
	return counted_code_add_branch(s->code, from, to, &branch);
}

static bool add_run(void *ctx, const struct branch_run *r)
{
	struct stacks *s = ctx;
	const struct code_count run = {.a = r->from->ip,
				       .b = r->to->ip,
				       .nr = 1,
				       .nr_part = r->is_entered,
				       .nr_timed = r->cycles != 0,
				       .cycles = r->cycles * CODE_CYCLE,
				       .flags = CODE_ENTERED};

	if (r->to->rel < r->from->rel || run.b - run.a > MAX_RUN_BYTES) {
		s->totals->nr_bad_runs++;
		return true;
	}
	return counted_code_add_run(s->code, r->from, &run);
}

static bool add_stack(struct stacks *s, const struct ana_event *e, bool has_all)
{
	const struct branch_walk_sink sink = {add_branch, has_all ? add_run : NULL, s};

	s->totals->nr_stacks++;
	s->totals->nr_filtered += !has_all;
	return branch_walk(e, &sink, &s->totals->nr_not_branches);
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
	size_t n, nr = s->totals->events.nr;
	struct branch_edges_event e = {.evsel = evsel};

	/* nearly always the same as before */
	if (nr && s->totals->events.data[s->last_event].evsel == evsel)
		return &s->totals->events.data[s->last_event];
	if (!map_u64_number(&s->event_of, evsel->index, nr, SIZE_MAX, &n))
		return NULL;
	if (n == nr) {
		e.is_omitted = is_omitted(s, evsel);
		e.has_all = branch_filter_has_all(&evsel->attr);
		if (!vec_push(&s->totals->events, e))
			return NULL;
	}
	s->last_event = n;
	return &s->totals->events.data[n];
}

static bool add_sample(struct stacks *s, const struct ana_event *e, bool has_all)
{
	s->totals->nr_samples++;
	if (e->loc && !counted_code_add_sample(s->code, e->loc, 1))
		return false;
	return !e->branches || add_stack(s, e, has_all);
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
		if (!of->is_omitted && !add_sample(s, e, of->has_all))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static bool check_runs(struct counted_code *c, struct branch_edges_totals *totals)
{
	vec_for_each (&c->binaries, b) {
		if (!straight_runs_check(b, &totals->nr_bad_runs))
			return false;
	}
	return true;
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
	if (err == CLEW_OK && !check_runs(ret, totals))
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		counted_code_finish(ret);
	return err;
}
