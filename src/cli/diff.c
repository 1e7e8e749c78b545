/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text_columns.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "cli/common/terminal_text.h"
#include "cli/diff_args.h"
#include "cli/diff_page.h"
#include "cli/note_unchecked.h"
#include "cli/tui_diff.h"
#include "format/report/diff_json.h"
#include "format/report/diff_text.h"
#include "format/report/stats_text.h"
#include "os/terminal.h"

/** One run of the command. */
struct diff_run {
	struct diff_args args;
	struct diff_feed diff;
	struct diff_input inputs[REPORT_DIFF_MAX];
	struct clew_sink out;
	struct clew_diag out_diag;
	struct buf symbol_files; /* -v */
	struct buf notes;        /* --tui: messages that wait until the terminal is free again */
	bool is_damaged;
};

/** One recording of it. */
struct diff_reading {
	struct cli_input in;
	struct cli_itrace itrace;
	struct analyze *analyze;
	struct report_feed *feed;
	struct clew_diag diag;
};

/* The options that the analysis needs for the request. */
static void set_wishes(struct diff_run *r)
{
	struct diff_args *a = &r->args;
	struct ana_opts *o = &a->in.opts;

	a->feed.sort = a->diff.sort;
	/* Skipped threads must still count in the totals, so the feed filters them. */
	a->feed.filter = o->filter;
	o->filter.comms = o->filter.pids = o->filter.tids = NULL;
	a->feed.no_chains = a->feed.no_paths = a->feed.no_graphs = true;
	o->no_chains = true;
	o->is_single_threaded = a->is_single_threaded;
	o->wants_lines = report_sort_has_lines(&a->feed.sort);
	o->wants_records = report_sort_has(&a->feed.sort, REPORT_NAMESPACE) ||
			   report_sort_has(&a->feed.sort, REPORT_CONTAINER);
	o->wants_who = report_sort_has_who(&a->feed.sort);
}

static int open_trace(const struct diff_run *r, struct diff_reading *x)
{
	const struct cli_itrace_wishes w = {.is_single_threaded = r->args.is_single_threaded};

	x->itrace = r->args.itrace;
	x->itrace.is_sampled = true;
	return cli_itrace_open(&x->itrace, &x->in, x->analyze, &w);
}

static void warn(const struct diff_reading *x, const struct ana_summary *s, uint64_t nr)
{
	cli_input_warn_end(&x->in, s);
	if (!nr && !s->nr_filtered)
		cli_warn("%s holds no samples", x->in.path);
	else if (!nr)
		cli_warn("%s: the filters leave none of the %llu samples", x->in.path,
			 (unsigned long long)s->nr_filtered);
	cli_input_warn(&x->in, s);
	cli_note_unchecked(s);
	cli_itrace_report(&x->itrace, x->in.path, false);
}

static uint64_t nr_samples(const struct report_feed *f)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < report_feed_nr_events(f); i++)
		nr += report_feed_event(f, i)->nr;
	return nr;
}

/* What the recording has goes into the comparison. */
static enum clew_err take(struct diff_run *r, uint32_t i, struct diff_reading *x)
{
	const struct ana_summary s = cli_itrace_summary(&x->itrace, x->analyze);
	struct perf_file *file = analyze_file(x->analyze);

	r->inputs[i].nr_lost = s.nr_lost;
	if (x->in.verbose) {
		buf_printf(&r->symbol_files, "# %c:\n", (char)('A' + i));
		report_symbol_files_text(&r->symbol_files, analyze_dsos(x->analyze));
	}
	warn(x, &s, nr_samples(x->feed));
	return diff_feed_take(&r->diff, i, x->feed, file ? perf_file_evlist(file) : NULL,
			      s.first_time, s.last_time);
}

static enum clew_err run(struct diff_run *r, uint32_t i, struct diff_reading *x)
{
	struct ana_consumer consumer = {report_feed_batch, NULL};
	struct report_feed_opts feed = r->args.feed;
	enum clew_err err, read;

	feed.budget = x->in.opts.symbols.budget;
	err = report_feed_new(&x->feed, &feed, &x->diag);
	if (err != CLEW_OK)
		return err;
	consumer.ctx = x->feed;
	read = cli_itrace_run(&x->itrace, x->analyze, &consumer, &x->diag);
	if (read != CLEW_OK && read != CLEW_BAD_FILE)
		return read;
	if (read == CLEW_BAD_FILE) {
		r->is_damaged = true;
		cli_input_fail(&x->in, &x->diag);
	}
	cli_progress_begin("sorting", 0);
	err = report_feed_finish(x->feed);
	if (err == CLEW_OK)
		err = take(r, i, x);
	if (err != CLEW_OK)
		x->diag = (struct clew_diag){.code = err};
	return err;
}

static int read_opened(struct diff_run *r, uint32_t i, struct diff_reading *x)
{
	enum clew_err err = analyze_open(&x->analyze, &x->in.input, &x->in.opts, &x->diag);
	int status = err == CLEW_OK ? open_trace(r, x) : CLI_OK;

	if (status != CLI_OK)
		return status;
	if (err == CLEW_OK)
		err = run(r, i, x);
	if (err == CLEW_INVALID) {
		cli_error("%s", x->diag.what);
		return CLI_USAGE;
	}
	return err == CLEW_OK ? CLI_OK : cli_input_fail(&x->in, &x->diag);
}

/* Recordings are read one after the other: no more of one is kept than its rows. */
static int read_one(struct diff_run *r, uint32_t i)
{
	struct diff_reading x = {.in = r->args.in};
	int status;

	x.in.path = r->inputs[i].path = r->args.paths[i];
	x.in.named_by = "'clew diff A B'";
	status = cli_input_open(&x.in);
	if (status != CLI_OK)
		return status;
	status = read_opened(r, i, &x);
	report_feed_free(x.feed);
	cli_itrace_done(&x.itrace);
	analyze_free(x.analyze);
	cli_input_done(&x.in);
	return status;
}

static int refuse_events(const struct diff_args *args, const struct diff_doubt *d)
{
	const char *a = args->paths[d->input], *b = args->paths[d->other];

	if (d->event && d->other_event)
		cli_error("the recordings have different events: '%s' in %s, '%s' in %s", d->event,
			  a, d->other_event, b);
	else if (d->event)
		cli_error("the recordings have different events: '%s' in %s, but not in %s",
			  d->event, a, b);
	else
		cli_error("the recordings have different events: '%s' in %s, but not in %s",
			  d->other_event, b, a);
	cli_hint("--force compares them, in their order");
	return CLI_USAGE;
}

int diff_refuse(const struct diff_args *a, const struct diff_doubt *d)
{
	const char *path = a->paths[d->input];

	switch (d->fault) {
	case DIFF_OTHER_EVENT:
		return refuse_events(a, d);
	case DIFF_OTHER_UNIT:
		cli_error("the recordings have different units: '%s' in %s, '%s' in %s", d->event,
			  path, d->other_event, a->paths[d->other]);
		cli_hint("--force compares them");
		break;
	case DIFF_NO_TIME:
		cli_error("--normalize time: the samples of %s have no times", path);
		break;
	case DIFF_NO_CPU_TIME:
		cli_error("--normalize cpu: %s does not count CPU time", path);
		cli_hint("'clew record -e cycles,task-clock' counts both");
		break;
	case DIFF_NO_REF:
		cli_error("--normalize ref=%s: no sample of '%s' in %s is in that function",
			  a->diff.ref, d->event, path);
		break;
	case DIFF_FITS:
		break;
	}
	return CLI_USAGE;
}

static enum clew_err write_symbol_files(struct diff_run *r)
{
	struct buf *b = &r->symbol_files;

	if (b->is_failed)
		return CLEW_NO_MEMORY;
	text_fold(b, 0, r->args.text.columns);
	return b->nr ? r->out.write(r->out.ctx, b->data, b->nr) : CLEW_OK;
}

static enum clew_err write_output(struct diff_run *r)
{
	enum clew_err err = CLEW_OK;

	if (r->args.is_json)
		return diff_json(&r->diff, r->inputs, &r->out);
	for (size_t i = 0; i < r->diff.tables.nr && err == CLEW_OK; i++) {
		const struct diff_table *t = r->diff.tables.data[i];

		if (diff_table_has_samples(&r->diff, t))
			err = diff_text_table(&r->diff, t, r->inputs, &r->args.text, &r->out);
	}
	return err == CLEW_OK ? write_symbol_files(r) : err;
}

/* Percent of the first recording's whole, whatever values are. */
static double limit_of(const struct diff_run *r, const struct diff_table *t)
{
	double whole = report_diff_is_percent(r->args.diff.norm) ? 100 : t->events[0].value;

	return whole * r->args.fail_above / 100;
}

static void put_row_name(const struct diff_run *r, const struct diff_table *t,
			 const struct report_diff_row *row, struct buf *out)
{
	for (size_t i = 0; i < r->args.diff.sort.nr; i++) {
		buf_str(out, i ? " " : "");
		buf_str(out, diff_row_text(t, row, i));
	}
}

/* --fail-above */
static int judge(const struct diff_run *r)
{
	int status = CLI_OK;

	for (size_t i = 0; r->args.has_limit && i < r->diff.tables.nr; i++) {
		const struct diff_table *t = r->diff.tables.data[i];
		clew_auto(buf_done) struct buf name = {0};
		const struct report_diff_row *worst;
		double delta, limit = limit_of(r, t);
		size_t nr = report_diff_above(&t->diff, limit, &worst, &delta);

		if (!nr)
			continue;
		put_row_name(r, t, worst, &name);
		cli_error("%zu row%s of '%s' grew by more than %g %% (--fail-above); most, by "
			  "%.2f%s: %s",
			  nr, nr == 1 ? "" : "s", t->events[0].name ? t->events[0].name : "",
			  r->args.fail_above, delta,
			  report_diff_is_percent(r->args.diff.norm) ? " points" : "",
			  buf_cstr(&name));
		status = CLI_FAILED;
	}
	return status;
}

static int browse(struct diff_run *r)
{
	const struct tui_diff_input in = {.diff = &r->diff,
					  .inputs = r->inputs,
					  .text = &r->args.text,
					  .notes = &r->notes,
					  .has_color = r->args.has_color};
	int status = tui_diff_browse(&in);

	return status == CLI_OK ? judge(r) : status;
}

static int write_all(struct diff_run *r)
{
	enum clew_err err;
	int status;

	r->args.text.is_colored = cli_is_colored(r->args.color);
	r->args.text.cut_mark = cli_cut_mark();
	r->args.text.columns = cli_is_terminal() ? os_terminal_columns(STDOUT_FILENO) : 0;
	r->out = cli_stdout_sink(&r->out_diag);
	cli_pager_start();
	err = write_output(r);
	cli_pager_done();
	status = judge(r);
	if (r->out_diag.code != CLEW_OK && err != CLEW_STOPPED)
		return cli_fail("standard output", &r->out_diag);
	if (err == CLEW_NO_MEMORY) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	return status;
}

static int compare(struct diff_run *r)
{
	struct diff_doubt doubt;
	int status = CLI_OK;

	set_wishes(r);
	diff_feed_init(&r->diff, &r->args.diff, r->args.nr_paths);
	for (uint32_t i = 0; i < r->args.nr_paths && status == CLI_OK; i++)
		status = read_one(r, i);
	if (status != CLI_OK)
		return status;
	doubt = diff_feed_finish(&r->diff);
	if (doubt.fault != DIFF_FITS)
		return diff_refuse(&r->args, &doubt);
	status = r->args.is_tui ? browse(r) : write_all(r);
	return r->is_damaged ? CLI_FAILED : status;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_run r = {0};
	int status = diff_args_parse(&r.args, argc, argv);

	if (status >= 0)
		return status;
	if (r.args.is_tui)
		cli_hold_messages(&r.notes);
	r.args.diff.budget = cli_input_budget(&r.args.in);
	status = r.args.html ? diff_page(&r.args) : compare(&r);
	cli_release_messages(&r.notes);
	diff_feed_done(&r.diff);
	buf_done(&r.symbol_files);
	cli_input_done(&r.args.in);
	return status;
}
