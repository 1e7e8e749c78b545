/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/message.h"
#include "cli/report_args_impl.h"
#include "cli/tui.h"

/* One event per operation is enough. */
static int choose_ops_events(struct report_args *a)
{
	bool is_off = a->itrace.is_off;
	int status = cli_itrace_set(&a->itrace, a->is_memory ? "M" : "b", false);

	a->itrace.is_off = is_off;
	a->itrace.is_implied = true;
	return status ? status : -1;
}

/* -w 0 asks for what these tables do: nothing is cut. */
static bool has_width(const struct report_args *a)
{
	for (size_t i = 0; i < REPORT_MAX_WIDTHS; i++) {
		if (a->text.widths[i])
			return true;
	}
	return false;
}

/* --mem and --branch: what is counted is neither samples nor branch stacks. */
static int choose_ops(struct report_args *a)
{
	if (!a->is_memory && !a->is_of_branches)
		return -1;
	if (a->is_memory && a->is_of_branches) {
		cli_error("--mem and --branch exclude each other");
		return CLI_USAGE;
	}
	if (a->is_stats || a->is_folded || a->branches == REPORT_BRANCHES_ON) {
		cli_error("%s has tables of its own: it excludes --stats, --folded and -b",
			  a->is_memory ? "--mem" : "--branch");
		return CLI_USAGE;
	}
	if (has_width(a)) {
		cli_error(
			"-w does not apply to the tables of %s: their columns are as wide as their "
			"text; -t separates them for other programs",
			a->is_memory ? "--mem" : "--branch");
		return CLI_USAGE;
	}
	a->feed.ops = a->is_memory ? REPORT_OPS_MEMORY : REPORT_OPS_BRANCHES;
	a->branches = REPORT_BRANCHES_OFF;
	a->has_children = false;
	a->text.style = REPORT_GRAPH_NONE;
	a->feed.no_chains = true;
	return a->itrace.is_set ? -1 : choose_ops_events(a);
}

/* The page's rows are functions of samples; all else is chosen in the browser. */
static int choose_page(struct report_args *a)
{
	if (a->is_memory || a->is_of_branches || a->branches == REPORT_BRANCHES_ON) {
		cli_error("--html shows samples: it excludes --mem, --branch and -b");
		return CLI_USAGE;
	}
	if (a->keys.nr) {
		cli_error("--html has views of its own: it takes no -s and no -F");
		return CLI_USAGE;
	}
	if (a->feed.symbol_part || a->feed.symbols || a->feed.dsos) {
		cli_error("--html takes all functions: search in the page, or focus on one there");
		return CLI_USAGE;
	}
	a->branches = REPORT_BRANCHES_OFF;
	a->feed.sort = (struct report_sort){
		{REPORT_DSO, REPORT_SYM},
                2
        };
	return -1;
}

static int choose_tui(const struct report_args *a)
{
	if (a->is_memory || a->is_of_branches) {
		cli_error("--tui shows rows of samples: it excludes --mem and --branch");
		return CLI_USAGE;
	}
	if (a->text.separator || a->is_header_only) {
		cli_error("--tui excludes -t and --header-only; its key i shows the header");
		return CLI_USAGE;
	}
	return tui_check("--tui") == CLI_OK ? -1 : CLI_USAGE;
}

int report_args_choose_output(struct report_args *a)
{
	int status = choose_ops(a);

	if (status >= 0)
		return status;
	if (a->is_stats + a->is_json + a->is_folded + a->is_tui + !!a->html > 1) {
		cli_error("--stats, --json, --folded, --html and --tui exclude each other");
		return CLI_USAGE;
	}
	if (a->html && (status = choose_page(a)) >= 0)
		return status;
	if (a->is_tui && (status = choose_tui(a)) >= 0)
		return status;
	a->output = a->is_stats  ? REPORT_STATS
		  : a->is_json   ? REPORT_JSON
		  : a->is_folded ? REPORT_FOLDED
		  : a->html      ? REPORT_HTML
		  : a->is_tui    ? REPORT_TUI
				 : REPORT_TABLE;
	if (a->branches == REPORT_BRANCHES_ON && (a->is_stats || a->is_folded)) {
		cli_error("--branch-stack applies to tables: --stats and --folded count samples");
		return CLI_USAGE;
	}
	return -1;
}
