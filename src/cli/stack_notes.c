/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/stack_notes.h"

#include "base/cleanup.h"
#include "cli/common/message.h"
#include "profile/branch_filter.h"

static bool has_partial_stacks(const struct branch_edges_event *e)
{
	return e->nr && !e->is_omitted && !e->has_all &&
	       e->evsel->attr.sample_type & PERF_SAMPLE_BRANCH_STACK;
}

static void report_filters(const char *path, const struct branch_edges_totals *t)
{
	vec_for_each (&t->events, e) {
		clew_auto(buf_done) struct buf kinds = {0};

		if (!has_partial_stacks(e))
			continue;
		branch_filter_name(&e->evsel->attr, &kinds);
		cli_note("%s: the branch stacks of %s have not all branches (-j %s): only branches "
			 "are counted, as it is unknown what ran between them",
			 path, e->evsel->name ? e->evsel->name : "an event", buf_cstr(&kinds));
	}
	if (t->nr_filtered && t->nr_filtered == t->nr_stacks)
		cli_hint("'clew record -j any,u' records all branches");
}

static void report_not_branches(const char *path, const struct branch_edges_totals *t)
{
	uint64_t all = t->nr_branches + t->nr_not_branches;

	if (!t->nr_not_branches)
		return;
	cli_warn("%s: %llu of %llu branches were dropped: the code has no branch where they come "
		 "from",
		 path, (unsigned long long)t->nr_not_branches, (unsigned long long)all);
	if (t->nr_not_branches > all / 2)
		cli_hint("are the files those that were recorded? --symfs=DIR names their "
			 "directory");
}

void stack_notes_report(const char *path, const struct branch_edges_totals *t)
{
	report_filters(path, t);
	report_not_branches(path, t);
	if (t->nr_bad_runs)
		cli_note("%s: %llu of %llu branches do not follow from the one before", path,
			 (unsigned long long)t->nr_bad_runs, (unsigned long long)t->nr_branches);
}
