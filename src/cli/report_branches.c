/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/report_branches.h"

#include "cli/common/message.h"

bool report_branches_of_trace(const struct report_args *a)
{
	return a->branches != REPORT_BRANCHES_OFF && a->itrace.is_set &&
	       a->itrace.opts.last_branches;
}

static bool has_branch_event(struct perf_file *file)
{
	const struct perf_evlist *l = perf_file_evlist(file);

	for (size_t i = 0; i < l->evsels.nr; i++) {
		if (l->evsels.data[i]->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	}
	return false;
}

/* A damaged header may claim it of events without. A stream's events are unknown so far. */
static bool is_said(const struct report_args *a, struct perf_file *file)
{
	if (!file || !perf_features_has(perf_file_features(file), PERF_FEAT_BRANCH_STACK))
		return false;
	if (perf_file_is_pipe(file) || has_branch_event(file))
		return true;
	cli_warn("%s: its header says that it has branch stacks, but no event has any", a->in.path);
	return false;
}

bool report_branches_may_be(const struct report_args *a, struct analyze *analyze)
{
	if (a->branches != REPORT_BRANCHES_BY_HEADER || !analyze)
		return a->branches == REPORT_BRANCHES_ON;
	return perf_features_has(perf_file_features(analyze_file(analyze)), PERF_FEAT_BRANCH_STACK);
}

static bool is_by_branch(const struct report_args *a, struct perf_file *file)
{
	if (a->branches != REPORT_BRANCHES_BY_HEADER)
		return a->branches == REPORT_BRANCHES_ON;
	if (a->output == REPORT_STATS || a->output == REPORT_FOLDED)
		return false;
	return is_said(a, file) || (a->itrace.events && report_branches_of_trace(a));
}

/* Branches of decoded trace are events, and have the keys without being counted as such. */
static int check_keys(const struct report_args *a, struct perf_file *file)
{
	enum report_key k = report_sort_branch_key(&a->feed.sort);

	if (k == REPORT_NR_KEYS || a->itrace.events || a->output == REPORT_STATS)
		return CLI_OK;
	if (a->branches == REPORT_BRANCHES_OFF || a->output == REPORT_FOLDED)
		cli_error("'%s' is a key for branches, but %s counts samples", report_key_name(k),
			  a->output == REPORT_FOLDED ? "--folded" : "--no-branch-stack");
	else if (file && (perf_file_is_pipe(file) || has_branch_event(file)))
		cli_error("'%s' is a key for branches, but the header of %s does not say that it "
			  "has any: -b counts them",
			  report_key_name(k), a->in.path);
	else
		cli_error("'%s' is a key for branches, but %s has no branch stacks: 'clew record "
			  "-b' records them",
			  report_key_name(k), a->in.path);
	return CLI_USAGE;
}

int report_branches_choose(struct report_args *a, struct analyze *analyze)
{
	struct perf_file *file = analyze ? analyze_file(analyze) : NULL;

	a->feed.by_branch = is_by_branch(a, file);
	if (!a->feed.by_branch)
		return check_keys(a, file);
	if (file && !perf_file_is_pipe(file) && report_branches_check(a, analyze) != CLI_OK)
		return CLI_USAGE;
	if (a->has_graph)
		cli_note(
			"call graphs are for samples, not for branches: --no-branch-stack shows them");
	report_args_set_sort(a, true);
	a->has_children = false;
	a->text.style = REPORT_GRAPH_NONE;
	a->feed.no_chains = true;
	if (analyze)
		analyze_want_branches(analyze);
	return CLI_OK;
}

int report_branches_check(const struct report_args *a, struct analyze *analyze)
{
	if (!a->feed.by_branch || !analyze || a->itrace.events ||
	    has_branch_event(analyze_file(analyze)))
		return CLI_OK;
	cli_error("%s has no branch stacks to count: 'clew record -b' records them", a->in.path);
	return CLI_USAGE;
}

static void note_not_branches(const char *path, uint64_t nr, uint64_t nr_all)
{
	if (nr)
		cli_warn("%s: %llu of %llu branches are none: the code has no branch where they "
			 "come from; their rows are shown nevertheless",
			 path, (unsigned long long)nr, (unsigned long long)nr_all);
}

void report_branches_note(const struct report_args *a, const struct report_feed *f)
{
	struct report_event all = {0};

	if (!a->feed.by_branch)
		return;
	for (size_t i = 0; i < report_feed_nr_events(f); i++) {
		const struct report_event *ev = report_feed_event(f, i);

		all.nr_stacks += ev->nr_stacks;
		all.nr_stackless += ev->nr_stackless;
		all.nr += ev->nr;
		all.nr_kept += ev->nr_kept;
		all.nr_not_branches += ev->nr_not_branches;
	}
	if (all.nr_stackless)
		cli_note("%s: %llu samples of events without branch stacks are not shown: "
			 "--no-branch-stack counts samples",
			 a->in.path, (unsigned long long)all.nr_stackless);
	if (all.nr_stacks && !all.nr)
		cli_warn("%s: the branch stacks of its %llu samples are empty", a->in.path,
			 (unsigned long long)all.nr_stacks);
	note_not_branches(a->in.path, all.nr_not_branches, all.nr_kept);
}
