/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "cli/common/terminal_text.h"
#include "cli/report_branches.h"
#include "cli/report_run.h"
#include "os/terminal.h"
#include "profile/branch_walk.h"
#include "rows/report_feed.h"

/* The options that the analysis needs for the request. */
static void set_wishes(struct report_run *r)
{
	struct report_args *a = &r->args;
	struct ana_opts *o = &a->in.opts;

	a->feed.budget = o->symbols.budget;
	/* Skipped threads must still count in the totals, so the feed filters them. */
	a->feed.filter = o->filter;
	o->filter.comms = o->filter.pids = o->filter.tids = NULL;
	a->feed.no_rows = a->output == REPORT_STATS;
	a->feed.no_paths = a->output != REPORT_FOLDED;
	a->feed.no_graphs = a->text.style == REPORT_GRAPH_NONE && a->output != REPORT_HTML;
	a->feed.keeps_outermost = a->has_order ? !a->table.graph.is_callee : a->has_children;
	o->is_single_threaded = a->is_single_threaded;
	branch_sources_wish(&r->sources, o);
	a->feed.is_no_branch = branch_is_none;
	o->wants_lines = a->feed.has_inlines || report_sort_has_lines(&a->feed.sort);
	o->wants_records |= a->output == REPORT_HTML;
	if (a->output == REPORT_STATS)
		o->no_symbols = o->no_chains = o->wants_records = true;
	if (report_sort_has(&a->feed.sort, REPORT_NAMESPACE) ||
	    report_sort_has(&a->feed.sort, REPORT_CONTAINER))
		o->wants_records = true;
	o->wants_who = a->output == REPORT_STATS || report_sort_has_who(&a->feed.sort);
	o->wants_outcomes = a->output == REPORT_STATS || a->output == REPORT_JSON;
	if (!a->has_children && a->text.style == REPORT_GRAPH_NONE && a->output == REPORT_TABLE)
		o->no_chains = true;
}

/* For `clew diff --html`, which compares events by it, and files. */
static enum clew_err take_diff(struct report_run *r)
{
	struct perf_file *file = analyze_file(r->analyze);

	return diff_feed_take(r->page.diff, r->page.part != PAGE_SECOND, r->feed,
			      file ? perf_file_evlist(file) : NULL, r->summary.first_time,
			      r->summary.last_time);
}

/* Read everything and write the report. */
static enum clew_err run(struct report_run *r, bool *ret_is_damaged)
{
	struct ana_consumer consumer = {report_feed_batch, NULL};
	enum clew_err err = report_feed_new(&r->feed, &r->args.feed, &r->diag);
	struct clew_diag damage = {0};
	enum clew_err read;

	if (err != CLEW_OK)
		return err;
	consumer.ctx = r->feed;
	if (r->args.output == REPORT_HTML) {
		r->page.feed = r->feed;
		consumer = (struct ana_consumer){report_page_batch, &r->page};
	}
	read = cli_itrace_run(&r->args.itrace, r->analyze, &consumer, &r->diag);
	r->summary = cli_itrace_summary(&r->args.itrace, r->analyze);
	r->refused = report_branches_check(&r->args, r->analyze);
	if (r->refused != CLI_OK)
		return CLEW_INVALID;
	if (read != CLEW_OK && read != CLEW_BAD_FILE)
		return read;
	*ret_is_damaged = read == CLEW_BAD_FILE;
	if (*ret_is_damaged)
		damage = r->diag;
	if (*ret_is_damaged)
		cli_input_fail(&r->args.in, &r->diag);
	cli_progress_begin("sorting", 0);
	err = report_feed_finish(r->feed);
	if (err == CLEW_OK && r->page.diff)
		err = take_diff(r);
	if (err == CLEW_OK && (!*ret_is_damaged || r->summary.nr_samples))
		err = report_write_output(r, &damage);
	r->is_written = err == CLEW_OK && r->summary.nr_samples;
	if (err != CLEW_OK && err != CLEW_STOPPED)
		r->diag = (struct clew_diag){.code = err};
	return err;
}

/* Rows do not say when, except that names of threads and their namespaces change. */
static enum trace_ops_fold fold_of(const struct report_run *r)
{
	const struct report_args *a = &r->args;
	static const enum report_key others[] = {REPORT_PID, REPORT_TID, REPORT_WEIGHT,
						 REPORT_NAMESPACE, REPORT_CONTAINER};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (report_sort_has(&a->feed.sort, others[i]))
			return TRACE_OPS_EACH;
	}
	if (a->output == REPORT_HTML || report_branches_may_be(a, r->analyze) ||
	    report_sort_branch_key(&a->feed.sort) != REPORT_NR_KEYS)
		return TRACE_OPS_EACH;
	return a->feed.ops == REPORT_OPS_NONE ? TRACE_OPS_BY_CODE : TRACE_OPS_BY_ACCESS;
}

static int open_trace(struct report_run *r)
{
	struct report_args *a = &r->args;
	const struct cli_itrace_wishes w = {
		.wants_addr = true,
		.wants_branches = report_branches_of_trace(a),
		.fold = fold_of(r),
		.is_single_threaded = a->is_single_threaded,
	};

	a->itrace.is_sampled = true;
	if (a->output == REPORT_STATS)
		return cli_itrace_open_stats(&a->itrace, &a->in, r->analyze);
	return cli_itrace_open(&a->itrace, &a->in, r->analyze, &w);
}

static int report(struct report_run *r)
{
	bool is_damaged = false;
	enum clew_err err = CLEW_OK;
	int status;

	set_wishes(r);
	if (!r->args.in.is_snapshot)
		err = analyze_open(&r->analyze, &r->args.in.input, &r->args.in.opts, &r->diag);
	status = err == CLEW_OK ? open_trace(r) : CLI_OK;
	if (status == CLI_OK && err == CLEW_OK)
		status = report_branches_choose(&r->args, r->analyze);
	if (status != CLI_OK)
		return status;
	if (err == CLEW_OK)
		err = run(r, &is_damaged);
	if (err == CLEW_STOPPED)
		return CLI_OK;
	if (r->refused != CLI_OK)
		return r->refused;
	if (err == CLEW_OS && (status = report_page_fail(&r->page, &r->args)) != CLI_OK)
		return status;
	if (r->out_diag.code != CLEW_OK)
		return cli_fail("standard output", &r->out_diag);
	if (err == CLEW_INVALID) {
		cli_error("%s", r->diag.what);
		return CLI_USAGE;
	}
	if (err != CLEW_OK)
		return cli_input_fail(&r->args.in, &r->diag);
	if (!is_damaged && !r->has_warned)
		report_warn(r);
	return is_damaged ? CLI_FAILED : CLI_OK;
}

/* The header as `clew header` prints it. */
static int print_header(const struct report_run *r)
{
	char name[] = "header", input[] = "-i", only[] = "--header-only";
	char *path = (char *)(uintptr_t)r->args.in.path, *argv[] = {name, input, path, only, NULL};
	int status;

	if (!r->args.in.map.data) {
		cli_error("--header needs a file, not a stream");
		return CLI_USAGE;
	}
	cli_pager_open();
	status = cmd_header(4, argv);
	fflush(stdout);
	cli_progress_begin("opening", 0); /* the header's own command ended it */
	return status;
}

/* Before the pager replaces standard output. */
static void fit_terminal(struct report_args *a)
{
	a->text.cut_mark = cli_cut_mark();
	if (!a->has_widths && cli_is_terminal())
		a->text.columns = os_terminal_columns(STDOUT_FILENO);
}

static int report_to_page(struct report_run *r)
{
	int status = report_page_open(&r->page, &r->args), closed;

	if (status == CLI_OK)
		status = report(r);
	closed = report_page_close(&r->page, &r->args, status == CLI_OK || r->is_written);
	return status == CLI_OK ? closed : status;
}

/* Messages wait until the terminal is free again. */
static int report_to_terminal(struct report_run *r)
{
	int status;

	cli_hold_messages(&r->notes);
	status = report(r);
	cli_progress_end();
	cli_release_messages(&r->notes);
	return status;
}

static int report_with_output(struct report_run *r)
{
	int status = CLI_OK;

	if (r->args.in.is_snapshot && r->args.output == REPORT_STATS) {
		cli_error("--stats counts the records of a recording; a snapshot has none");
		return CLI_USAGE;
	}
	if (r->args.output == REPORT_HTML)
		return report_to_page(r);
	if (r->args.output == REPORT_TUI)
		return report_to_terminal(r);
	r->args.text.is_colored = cli_is_colored(r->args.color);
	fit_terminal(&r->args);
	r->out = cli_stdout_sink(&r->out_diag);
	cli_pager_start();
	if (r->args.has_header || r->args.is_header_only)
		status = print_header(r);
	if (status == CLI_OK && !r->args.is_header_only)
		status = report(r);
	cli_pager_done();
	return status;
}

static int run_once(struct report_run *r)
{
	int status = cli_input_open(&r->args.in);

	if (status != CLI_OK)
		return status;
	status = report_with_output(r);
	report_feed_free(r->feed);
	cli_itrace_done(&r->args.itrace);
	analyze_free(r->analyze);
	branch_sources_done(&r->sources);
	cli_input_done(&r->args.in);
	return status;
}

int report_page_make(const struct report_args *a, enum page_part part, struct diff_feed *diff,
		     struct buf *ret, bool *ret_has_samples)
{
	struct report_run r = {
		.args = *a, .page = {.memory = ret, .part = part, .diff = diff}
        };
	int status = run_once(&r);

	*ret_has_samples = r.is_written;
	return status;
}

/* --tui: until the user has seen enough recordings and ranges of time. */
static int run_browser(const struct report_args *parsed)
{
	struct tui_report *tui = tui_report_new(parsed);
	int status = CLI_FAILED;

	if (!tui)
		cli_error("out of memory");
	while (tui) {
		struct report_run r = {.args = *parsed, .tui = tui};

		tui_report_set_input(tui, &r.args.in);
		status = run_once(&r);
		if (!tui_report_reads_again(tui) &&
		    (status == CLI_OK || !tui_report_goes_back(tui)))
			break;
	}
	tui_report_free(tui);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct report_run r = {0};
	int status = report_args_parse(&r.args, argc, argv);

	if (status < 0)
		status = r.args.output == REPORT_TUI ? run_browser(&r.args) : run_once(&r);
	mem_free(r.args.joined);
	return status;
}
