/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text_columns.h"
#include "cli/common/message.h"
#include "cli/report_events.h"
#include "cli/report_run.h"
#include "format/report/ops_text.h"
#include "format/report/report_text.h"
#include "format/report/stats_text.h"

static enum clew_err write_tables(struct report_run *r)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < report_feed_nr_events(r->feed) && err == CLEW_OK; i++) {
		struct report_table table;

		if (!report_has_table(&r->args, r->feed, i))
			continue;
		err = report_make_table(&r->args, r->feed, i, &table);
		if (err != CLEW_OK)
			return err;
		r->nr_rows += table.nr_shown;
		err = r->args.output == REPORT_JSON
			    ? report_json_table(&r->json, &table)
			    : report_text_table(r->feed, &table, &r->args.text, &r->out);
		report_table_done(&table);
	}
	return err;
}

static enum clew_err write_whole(struct report_run *r, struct buf *b)
{
	enum clew_err err = b->is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	if (err == CLEW_OK && b->nr)
		err = r->out.write(r->out.ctx, b->data, b->nr);
	buf_done(b);
	return err;
}

static enum clew_err write_buf(struct report_run *r, struct buf *b)
{
	text_fold(b, 0, r->args.text.columns);
	return write_whole(r, b);
}

static enum clew_err write_stats(struct report_run *r)
{
	struct buf b = {0};

	stats_text(&b, perf_file_counts(analyze_file(r->analyze)), r->feed, &r->summary);
	cli_itrace_stats(&r->args.itrace, r->analyze, &b);
	return write_buf(r, &b);
}

static enum clew_err write_table_report(struct report_run *r)
{
	const struct ana_summary *s = &r->summary;
	struct buf b = {0};
	enum clew_err err;

	buf_printf(&b, "# Total Lost Samples: %llu\n#\n", (unsigned long long)s->nr_lost);
	err = write_buf(r, &b);
	if (err == CLEW_OK)
		err = write_tables(r);
	if (err != CLEW_OK)
		return err;
	report_gaps_text(&b, s);
	if (r->args.in.verbose && r->analyze)
		report_symbol_files_text(&b, analyze_dsos(r->analyze));
	return write_buf(r, &b);
}

static enum clew_err write_json(struct report_run *r)
{
	enum clew_err err;

	r->json = (struct report_json){.feed = r->feed, .sink = &r->out};
	err = report_json_begin(&r->json, &r->summary);
	if (err == CLEW_OK)
		err = write_tables(r);
	if (err == CLEW_OK)
		err = report_json_end(&r->json);
	report_json_done(&r->json);
	return err;
}

static enum clew_err write_folded(struct report_run *r)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < report_feed_nr_events(r->feed) && err == CLEW_OK; i++)
		err = report_text_folded(r->feed, i, r->args.by_period, &r->out);
	return err;
}

/* --mem and --branch */
static enum clew_err write_ops(struct report_run *r)
{
	const struct report_args *a = &r->args;
	struct buf b = {0};

	r->nr_rows = report_feed_ops(r->feed)->rows.nr;
	if (a->output == REPORT_JSON) {
		ops_json(&b, r->feed, a->feed.ops, &r->summary);
		return write_whole(r, &b);
	}
	if (a->is_memory)
		ops_memory_text(&b, r->feed, a->table.min_share, a->text.separator);
	else
		ops_branches_text(&b, r->feed, a->table.min_share, a->text.separator);
	if (r->nr_rows)
		report_gaps_text(&b, &r->summary);
	return write_whole(r, &b);
}

/* --tui: notes come first, as they are shown there. */
static enum clew_err browse(struct report_run *r, const struct clew_diag *damage)
{
	const struct tui_report_input in = {.args = &r->args,
					    .feed = r->feed,
					    .analyze = r->analyze,
					    .summary = &r->summary,
					    .notes = &r->notes};

	if (damage->code == CLEW_OK)
		report_warn(r);
	r->refused = tui_report_browse(r->tui, &in);
	return r->refused == CLI_OK ? CLEW_OK : CLEW_INVALID;
}

enum clew_err report_write_output(struct report_run *r, const struct clew_diag *damage)
{
	if (r->args.feed.ops)
		return write_ops(r);
	switch (r->args.output) {
	case REPORT_STATS:
		return write_stats(r);
	case REPORT_FOLDED:
		return write_folded(r);
	case REPORT_JSON:
		return write_json(r);
	case REPORT_HTML:
		return report_page_write(&r->page, &r->args, &r->summary, damage);
	case REPORT_TUI:
		return browse(r, damage);
	case REPORT_TABLE:
		break;
	}
	return write_table_report(r);
}
