/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <string.h>

#include "base/near_name.h"
#include "cli/annotate_run.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "cli/common/terminal_text.h"
#include "cli/note_unchecked.h"
#include "cli/tui.h"
#include "cli/tui_annotate.h"
#include "format/report/stats_text.h"
#include "os/file_time.h"

enum { DEFAULT_SYMBOLS = 5 };

/* --- options --- */

static int check(const struct annotate *n)
{
	int status = cli_check_color(n->color);

	if (status < 0 && n->is_json + n->is_stdio + n->is_tui + !!n->html > 1) {
		cli_error("--json, --html, --stdio and --tui exclude each other");
		return CLI_USAGE;
	}
	if (status < 0 && n->is_tui && tui_check("--tui") != CLI_OK)
		return CLI_USAGE;
	return status;
}

/* @return the exit status where the command is to end now, else -1. */
static int parse(struct annotate *n, int argc, char **argv)
{
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "stdio", NULL, "text (default)", CLI_FLAG, &n->is_stdio},
		{0, "tui", NULL, "browse it on the terminal: Enter follows jumps and calls; h shows the keys", CLI_FLAG, &n->is_tui},
		{0, "json", NULL, "all values as JSON", CLI_FLAG, &n->is_json},
		{0, "html", "FILE", "a page for a browser, in one file", CLI_STRING, &n->html},
		{'n', "show-nr-samples", NULL, "numbers of samples in place of shares", CLI_FLAG, &n->text.has_counts},
		{0, "group", NULL, "the events of a group as columns side by side (default: one after the other)",
		 CLI_FLAG, &n->is_grouped},
		{0, "stdio-color", "WHEN", "always, never, auto (default: on a terminal)", CLI_STRING, &n->color},
		{0, "color", NULL, "colours where output has some (default); --no-color: none, as with NO_COLOR in the environment for --tui",
		 CLI_FLAG, &n->has_color},
		{'q', "quiet", NULL, "no notes", CLI_FLAG, &n->is_quiet},
		{0, "Source", NULL, NULL, CLI_SECTION},
		{0, "source", NULL, "show lines of source (default); --no-source: instructions alone", CLI_FLAG, &n->has_source},
		{0, "source-dir", "DIR", "look for source files below DIR first", CLI_STRING, &n->sources.dir},
		{'l', "print-line", NULL, "show each line's file, too", CLI_FLAG, &n->text.has_places},
		{0, "Functions", NULL, NULL, CLI_SECTION},
		{'d', "dso", "NAME", "only of this file: its path, or the last part of it", CLI_STRING, &n->counts.opts.dso},
		{'s', "symbol", "SYMBOL", "the function, as the argument is", CLI_STRING, &n->counts.opts.symbol},
		{0, "max-symbols", "N", "without SYMBOL: so many of the hottest (default: 5)", CLI_UINT, &n->max_symbols},
		{0, "Trace", NULL, NULL, CLI_SECTION},
		{0, "itrace", "[OPTS]", "events to make of hardware trace, as clew report makes them; --no-itrace: none",
		 CLI_CALL, &n->itrace, cli_itrace_set, true},
		CLI_ITRACE_INDEX_OPTION(&n->itrace),
		CLI_INPUT_OPTIONS(&n->in),
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "annotate",
		.usage = "[SYMBOL] [--dso NAME] [-i FILE] [OPTIONS]",
		.summary = "Show a function's source and instructions, each with its share of the "
			   "function's samples.",
		.options = options,
		.examples =
			"  clew annotate                           the hottest functions of perf.data\n"
			"  clew annotate parse --dso app -n        one function, samples counted\n"
			"  clew annotate do_syscall_64 -k vmlinux  a function of the kernel\n"
			"  clew annotate --html code.html          the hottest ones, in a browser\n"
			"  clew annotate --tui                     browse them on the terminal\n",
	};
	int at = cli_parse(&command, argc, argv);

	if (at < 0)
		return -1 - at;
	if (n->is_quiet)
		cli_set_quiet();
	if (at < argc)
		n->counts.opts.symbol = argv[at++];
	if (at < argc) {
		cli_error("annotate: unexpected argument '%s'", argv[at]);
		return CLI_USAGE;
	}
	return check(n);
}

/* --- what cannot be shown --- */

/* Where most samples without a name are, and why they have none. */
static int refuse_nameless(const struct annotate *n)
{
	const struct ana_summary *s = analyze_summary(n->analysis);
	const struct dso *d = s->nr_unresolved ? s->unresolved[0].dso : NULL;
	const char *why = d ? dso_why_no_symbols(d) : NULL;

	if (d && !why)
		why = dso_note(d);
	cli_error("%s: no sample is in a function with a known name", n->in.path);
	if (why)
		cli_hint("%s: %s", dso_path(d), why);
	return CLI_FAILED;
}

/* Has a function that was asked for samples? */
static bool has_wanted(const struct annotate *n)
{
	vec_for_each (&n->counts.symbols, s) {
		if (s->is_wanted && s->nr_cells)
			return true;
	}
	return false;
}

static int refuse_symbol(const struct annotate *n)
{
	const struct ann_counts_opts *o = &n->counts.opts;
	struct near_name near;

	if (!n->counts.symbols.nr)
		return refuse_nameless(n);
	cli_error("%s: no samples in %s%s%s%s%s", n->in.path,
		  o->symbol ? "a function '" : "functions", o->symbol ? o->symbol : "",
		  o->symbol ? "'" : "", o->dso ? " of " : "", o->dso ? o->dso : "");
	if (!o->symbol)
		return CLI_FAILED;
	near_name_start(&near, o->symbol, strlen(o->symbol));
	vec_for_each (&n->counts.symbols, s)
		near_name_try(&near, s->sym->name);
	if (*near.best)
		cli_hint("did you mean '%s'?", near.best);
	else
		cli_hint("most samples are in '%s'", n->counts.symbols.data[0].sym->name);
	return CLI_FAILED;
}

static void warn_sources(const struct annotate *n)
{
	vec_for_each (&n->sources.files, f) {
		if (f->is_newer)
			cli_warn("%s was changed after the binary was built: its lines may not be "
				 "those that ran",
				 f->path);
	}
}

static void warn(const struct annotate *n)
{
	cli_input_warn(&n->in, analyze_summary(n->analysis));
	cli_note_unchecked(analyze_summary(n->analysis));
	if (!n->opts.text)
		cli_warn("the capstone library, which disassembles instructions, is not installed, "
			 "or was not when clew was built: bytes are shown");
	if (n->counts.no_room.nr)
		cli_warn("%llu samples are not counted: --max-memory leaves no room for their "
			 "addresses",
			 (unsigned long long)n->counts.no_room.nr);
	warn_sources(n);
	if (n->nr_omitted)
		cli_note("%zu more functions have samples: --max-symbols N shows N", n->nr_omitted);
	cli_itrace_report(&n->itrace, n->in.path, false);
}

/* --- output --- */

/* What a file that is no ELF file, or names no machine, holds. */
static uint16_t machine_of(struct perf_file *file)
{
	static const struct {
		const char *arch;
		uint16_t machine;
	} known[] = {
		{"x86_64",  EM_X86_64 },
                {"aarch64", EM_AARCH64},
                {"armv7l",  EM_ARM    },
		{"armv8l",  EM_ARM    },
                {"i686",    EM_386    },
	};
	const char *arch = perf_features_string(perf_file_features(file), PERF_FEAT_ARCH);

	for (size_t i = 0; arch && i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(arch, known[i].arch))
			return known[i].machine;
	}
	return EM_NONE;
}

/* A copy in ~/.debug is as old as the recording; in its place may be a later build. */
static int64_t time_of(const struct dso *d)
{
	const char *paths[] = {dso_path(d), dso_symbol_file(d)};
	int64_t first = INT64_MAX, at;

	for (size_t i = 0; i < 2; i++) {
		if (dso_kind(d) == DSO_USER && paths[i] && !os_file_changed(paths[i], &at) &&
		    at < first)
			first = at;
	}
	return first;
}

enum clew_err annotate_make(struct annotate *n, const struct ann_symbol *s,
			    const struct annotate_columns *c, struct annotation *ret)
{
	enum clew_err err = annotation_make(ret, &n->counts, s, c->events, c->nr, &n->opts);

	if (err == CLEW_OK &&
	    (!ann_sources_add(&n->sources, ret, time_of(s->dso)) ||
	     !annotate_flow_add(&n->flow, ret) || (!c->nr && !annotation_weigh_executed(ret))))
		err = CLEW_NO_MEMORY;
	return err;
}

static enum clew_err write_one(struct annotate *n, const struct ann_symbol *s,
			       const struct annotate_columns *c)
{
	struct annotation a = {0};
	enum clew_err err = annotate_make(n, s, c, &a);

	if (err == CLEW_OK && n->is_json)
		err = annotate_json(&n->json, &a);
	else if (err == CLEW_OK) {
		if (n->nr_written)
			err = n->out.write(n->out.ctx, "\n", 1);
		if (err == CLEW_OK)
			err = annotate_text(&a, &n->text, &n->out);
	}
	n->nr_written++;
	annotation_done(&a);
	return err;
}

/* The event, and with --group the others of its group. nr 0: it belongs to an earlier one. */
static void group_of(const struct annotate *n, uint32_t event, struct annotate_columns *ret)
{
	const struct ann_event *events = n->counts.events.data;

	ret->nr = 0;
	if (!events[event].evsel)
		return;
	if (n->is_grouped && events[event].evsel->leader < event &&
	    events[events[event].evsel->leader].evsel)
		return;
	ret->events[ret->nr++] = event;
	for (uint32_t i = event + 1; n->is_grouped && i < n->counts.events.nr; i++) {
		if (events[i].evsel && events[i].evsel->leader == event &&
		    ret->nr < ANNOTATE_MAX_GROUP)
			ret->events[ret->nr++] = i;
	}
}

static bool has_samples(const struct annotate *n, const struct ann_symbol *s,
			const struct annotate_columns *c)
{
	for (size_t i = s->first_cell; i < s->first_cell + s->nr_cells; i++) {
		for (size_t k = 0; k < c->nr; k++) {
			if (n->counts.cells.data[i].event == c->events[k])
				return true;
		}
	}
	return false;
}

/* What an exact trace executed says more than samples of it, unless these were asked for. */
static bool is_counted(const struct annotate *n, uint32_t event)
{
	return n->counts.events.data[event].is_traced && n->flow.kind == ANN_FLOW_EXACT &&
	       !n->itrace.is_set;
}

bool annotate_columns_at(const struct annotate *n, const struct ann_symbol *s, size_t at,
			 struct annotate_columns *ret)
{
	bool has_counts = false;

	for (uint32_t i = 0; i < n->counts.events.nr; i++) {
		group_of(n, i, ret);
		if (ret->nr && is_counted(n, i))
			has_counts = true;
		else if (ret->nr && has_samples(n, s, ret) && !at--)
			return true;
	}
	ret->nr = 0;
	return has_counts && !at;
}

static enum clew_err write_symbol(struct annotate *n, const struct ann_symbol *s)
{
	struct annotate_columns c;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; err == CLEW_OK && annotate_columns_at(n, s, i, &c); i++)
		err = write_one(n, s, &c);
	return err;
}

static enum clew_err write_all(struct annotate *n)
{
	enum clew_err err = CLEW_OK;
	uint64_t nr = 0;

	n->json.sink = &n->out;
	if (n->is_json)
		err = annotate_json_begin(&n->json);
	vec_for_each (&n->counts.symbols, s) {
		if (err != CLEW_OK)
			break;
		if (!s->nr_cells)
			continue;
		if (!n->counts.opts.symbol && nr >= n->max_symbols)
			n->nr_omitted++;
		else
			err = write_symbol(n, s);
		nr++;
	}
	if (err == CLEW_OK && n->is_json)
		err = annotate_json_end(&n->json, &n->sources);
	return err;
}

static enum clew_err write_symbol_files(struct annotate *n)
{
	struct buf b = {0};
	enum clew_err err;

	report_symbol_files_text(&b, analyze_dsos(n->analysis));
	err = b.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
	if (err == CLEW_OK && b.nr)
		err = n->out.write(n->out.ctx, b.data, b.nr);
	buf_done(&b);
	return err;
}

static int finish(struct annotate *n, enum clew_err err)
{
	if (err == CLEW_OK)
		warn(n);
	if (err == CLEW_OK || err == CLEW_STOPPED)
		return CLI_OK;
	if (n->out_diag.code != CLEW_OK)
		return cli_fail("standard output", &n->out_diag);
	return cli_input_fail(&n->in, &(struct clew_diag){.code = err});
}

/* Events of a group are columns, with or without samples. */
static bool add_events(struct annotate *n)
{
	const struct perf_evlist *l = perf_file_evlist(analyze_file(n->analysis));

	for (size_t i = 0; n->is_grouped && i < l->evsels.nr; i++) {
		if (!ann_counts_add_event(&n->counts, l->evsels.data[i]))
			return false;
	}
	return true;
}

/* --html: JSON, inside a page. */
static int write_page(struct annotate *n)
{
	enum clew_err err;
	int status = annotate_page_open(&n->page, n->html, &n->out), closed;

	if (status == CLI_OK) {
		err = write_all(n);
		status = err == CLEW_OS ? CLI_FAILED : finish(n, err); /* said when it is closed */
	}
	closed = annotate_page_close(&n->page, status == CLI_OK);
	return status == CLI_OK ? closed : status;
}

/* After the reading: what annotate_make() needs. */
static int prepare(struct annotate *n)
{
	int status;

	ann_counts_finish(&n->counts);
	if (!has_wanted(n))
		return refuse_symbol(n);
	status = annotate_flow_read(&n->flow, &n->in, n->analysis, n->itrace.trace != NULL);
	if (status != CLI_OK)
		return status;
	if (!add_events(n))
		return cli_input_fail(&n->in, &(struct clew_diag){.code = CLEW_NO_MEMORY});
	n->opts.dsos = analyze_dsos(n->analysis);
	n->opts.machine = machine_of(analyze_file(n->analysis));
	n->opts.text = insn_text_new();
	n->opts.no_lines = n->text.no_source && !n->is_json && !n->is_tui;
	return CLI_OK;
}

static int show(struct annotate *n)
{
	enum clew_err err;

	n->text.is_colored = cli_is_colored(n->color);
	cli_progress_begin("reading lines", 0);
	if (n->html)
		return write_page(n);
	n->out = cli_stdout_sink(&n->out_diag);
	cli_pager_start();
	err = write_all(n);
	if (err == CLEW_OK && n->in.verbose && !n->is_json)
		err = write_symbol_files(n);
	cli_pager_done();
	return finish(n, err);
}

/* --- the run --- */

static int read_all(struct annotate *n)
{
	const struct cli_itrace_wishes wishes = {.fold = TRACE_OPS_BY_CODE};
	const struct ana_consumer consumer = {ann_counts_batch, &n->counts};
	struct clew_diag diag = {0};
	enum clew_err err;
	int status;

	n->in.opts.no_chains = true;
	n->counts.opts.budget = n->sources.budget = n->in.opts.symbols.budget;
	if (analyze_open(&n->analysis, &n->in.input, &n->in.opts, &diag) != CLEW_OK)
		return cli_input_fail(&n->in, &diag);
	n->itrace.is_sampled = true;
	status = cli_itrace_open(&n->itrace, &n->in, n->analysis, &wishes);
	if (status != CLI_OK)
		return status;
	err = cli_itrace_run(&n->itrace, n->analysis, &consumer, &diag);
	if (err != CLEW_OK)
		cli_input_fail(&n->in, &diag);
	n->is_damaged = err == CLEW_BAD_FILE;
	/* What was read of a damaged file is shown. */
	return err == CLEW_OK || (n->is_damaged && n->counts.symbols.nr) ? CLI_OK : CLI_FAILED;
}

int annotate_open(struct annotate *n)
{
	int status = cli_input_open(&n->in);

	if (status != CLI_OK)
		return status;
	n->counts.opts.counts_all = n->is_tui; /* calls lead to others */
	status = read_all(n);
	if (status == CLI_OK && prepare(n) != CLI_OK)
		status = CLI_FAILED;
	if (status == CLI_OK && n->is_tui)
		warn(n);
	if (status != CLI_OK)
		annotate_close(n);
	return status;
}

void annotate_close(struct annotate *n)
{
	annotate_flow_done(&n->flow);
	ann_sources_done(&n->sources);
	ann_counts_done(&n->counts);
	annotate_json_done(&n->json);
	insn_text_free(n->opts.text);
	cli_itrace_done(&n->itrace);
	analyze_free(n->analysis);
	cli_input_done(&n->in);
	*n = (struct annotate){.is_tui = n->is_tui};
}

static int run(struct annotate *n)
{
	int status = annotate_open(n);
	bool is_damaged = n->is_damaged;

	if (status != CLI_OK)
		return status;
	status = n->is_tui ? tui_annotate_browse(n) : show(n);
	annotate_close(n);
	return status == CLI_OK && is_damaged ? CLI_FAILED : status;
}

/* Messages wait until the terminal is free again. */
static int run_browser(struct annotate *n)
{
	struct buf notes = {0};
	int status;

	cli_hold_messages(&notes);
	n->notes = &notes;
	status = run(n);
	cli_release_messages(&notes);
	return status;
}

int cmd_annotate(int argc, char **argv)
{
	struct annotate n = {.max_symbols = DEFAULT_SYMBOLS, .has_source = true, .has_color = true};
	int status = parse(&n, argc, argv);

	if (status >= 0)
		return status;
	n.text.no_source = !n.has_source;
	if (!n.has_color)
		n.color = "never";
	n.is_json |= n.html != NULL;
	return n.is_tui ? run_browser(&n) : run(&n);
}
