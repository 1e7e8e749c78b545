/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/terminal_text.h"
#include "cli/report_events.h"
#include "cli/tui.h"
#include "cli/tui_report_impl.h"
#include "format/report/stats_text.h"

/* --- tables --- */

static int by_value(const void *a, const void *b, void *ctx)
{
	const uint32_t *x = a, *y = b;
	const struct tui_report *t = ctx;
	const struct report_row *rows = t->table.rows.rows.data;
	uint32_t e = (uint32_t)t->sorted_by;
	const struct report_value *v = report_row_value(&t->table.rows, &rows[*x], e);
	const struct report_value *w = report_row_value(&t->table.rows, &rows[*y], e);
	bool by_total = t->in.args->table.by_total;
	uint64_t m = by_total ? v->total : v->self, n = by_total ? w->total : w->self;

	if (m != n)
		return m > n ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static bool make_order(struct tui_report *t)
{
	size_t nr = t->table.nr_shown;

	mem_free(t->order);
	t->order = mem_calloc(nr ? nr : 1, sizeof(*t->order));
	for (uint32_t i = 0; t->order && i < nr; i++)
		t->order[i] = i;
	if (t->order && nr && t->sorted_by && t->sorted_by < t->table.nr_events)
		qsort_r(t->order, nr, sizeof(*t->order), by_value, t);
	return t->order != NULL;
}

static void set_options(struct tui_report *t)
{
	struct report_args *a = t->in.args;

	if (t->min_share >= 0)
		a->table.min_share = t->min_share;
	a->table.is_relative_total = t->is_relative;
	if (t->direction) {
		a->has_order = true;
		a->table.graph.is_callee = t->direction == 'e';
	}
	a->text.keeps_ends = true;
	a->text.is_colored = true; /* the screen knows whether it has colours */
	a->text.style = a->text.style == REPORT_GRAPH_NONE ? REPORT_GRAPH_NONE : REPORT_GRAPH_TREE;
}

static void drop_table(struct tui_report *t)
{
	tui_fitted_set(&t->fitted, NULL);
	report_table_done(&t->table);
	mem_free(t->periods);
	t->periods = NULL;
}

static enum clew_err make_table(struct tui_report *t)
{
	struct report_lines *lines;
	enum clew_err err;
	size_t bytes;

	if (t->event >= report_feed_nr_events(t->in.feed))
		return CLEW_OK; /* nothing to show */
	err = report_make_table(t->in.args, t->in.feed, t->event, &t->table);
	if (err != CLEW_OK)
		return err;
	bytes = t->table.nr_events * sizeof(*t->periods);
	t->periods = mem_alloc(bytes);
	if (!t->periods || !make_order(t))
		return CLEW_NO_MEMORY;
	memcpy(t->periods, t->table.periods, bytes);
	t->in.args->text.columns = 0;
	err = report_lines_new(&lines, t->in.feed, &t->table, &t->in.args->text);
	if (err == CLEW_OK)
		tui_fitted_set(&t->fitted, lines);
	return err;
}

/* Without lines there are no rows: the browser asks for both. */
enum clew_err tui_report_make(struct tui_report *t)
{
	enum clew_err err;

	drop_table(t);
	set_options(t);
	err = make_table(t);
	if (err != CLEW_OK)
		drop_table(t);
	return err;
}

size_t tui_report_next_event(const struct tui_report *t, size_t event, bool is_before)
{
	size_t nr = report_feed_nr_events(t->in.feed), i = event;

	for (size_t k = 0; k < nr; k++) {
		i = tui_beside(i, nr, is_before);
		if (report_has_table(t->in.args, t->in.feed, i))
			return i;
	}
	return event;
}

static size_t first_event(const struct tui_report *t)
{
	size_t nr = report_feed_nr_events(t->in.feed);

	if (nr && t->event < nr && report_has_table(t->in.args, t->in.feed, t->event))
		return t->event;
	return nr ? tui_report_next_event(t, nr - 1, false) : 0;
}

/* --- life --- */

/* What the reader must know at once; 'i' shows the rest. */
static void say_notes(struct tui_report *t)
{
	clew_auto(buf_done) struct buf gaps = {0};
	const char *text;
	size_t size;

	buf_add(&gaps, t->in.notes->data, t->in.notes->nr);
	report_gaps_text(&gaps, t->in.summary);
	text = buf_cstr(&gaps);
	text += strspn(text, "# ");
	size = strcspn(text, "\n");
	if (size && t->table.nr_shown)
		tui_browser_say(t->browser, "i: %.*s", (int)size, text);
}

static void run(struct tui_report *t)
{
	if (t->has_failed)
		tui_browser_say(t->browser, "the other recording cannot be read; q shows why");
	else
		say_notes(t);
	t->has_failed = t->is_unseen = false;
	while (tui_report_key(t, tui_browser_run(t->browser, -1)))
		;
}

static void drop_annotate(struct tui_report *t)
{
	if (t->annotate)
		annotate_close(t->annotate);
	mem_free(t->annotate);
	t->annotate = NULL;
}

int tui_report_browse(struct tui_report *t, const struct tui_report_input *in)
{
	struct tui_source s = tui_report_source;
	int status;

	t->in = *in;
	t->in.args->text.cut_mark = cli_cut_mark();
	t->event = first_event(t);
	s.ctx = t;
	if (tui_report_make(t) != CLEW_OK) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	status = tui_open(tui_is_colored(!t->parsed->has_color));
	if (status != CLI_OK) {
		drop_table(t); /* before what was read ends */
		return status;
	}
	t->browser = tui_browser_new(&s);
	if (t->browser)
		run(t);
	tui_browser_free(t->browser);
	t->browser = NULL;
	tui_close();
	drop_table(t);
	drop_annotate(t);
	return CLI_OK;
}

struct tui_report *tui_report_new(const struct report_args *parsed)
{
	struct tui_report *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->parsed = parsed;
	t->min_share = -1;
	t->is_relative = parsed->table.is_relative_total;
	return t;
}

void tui_report_free(struct tui_report *t)
{
	if (!t)
		return;
	drop_table(t);
	tui_report_zoom_clear(t);
	vec_done(&t->zooms);
	mem_free(t->order);
	mem_free(t->path);
	mem_free(t->time);
	mem_free(t->next_path);
	mem_free(t->next_time);
	mem_free(t->last_path);
	mem_free(t->last_time);
	tui_fitted_done(&t->fitted);
	buf_done(&t->text);
	mem_free(t);
}

void tui_report_set_input(const struct tui_report *t, struct cli_input *in)
{
	if (t->path)
		in->path = t->path;
	if (t->time)
		in->time = *t->time ? t->time : NULL;
}

static void replace(char **to, const char *by)
{
	mem_free(*to);
	*to = by ? mem_strdup(by) : NULL;
}

void tui_report_read_again(struct tui_report *t, const char *path, const char *time)
{
	replace(&t->next_path, path ? path : t->path);
	replace(&t->next_time, time ? time : t->time);
	if (path)
		tui_report_zoom_clear(t);
	t->reads_again = true;
}

/* Until now, messages name the old path. */
bool tui_report_reads_again(struct tui_report *t)
{
	if (!t->reads_again)
		return false;
	t->reads_again = false;
	replace(&t->last_path, t->path);
	replace(&t->last_time, t->time);
	replace(&t->path, t->next_path);
	replace(&t->time, t->next_time);
	t->is_unseen = true;
	return true;
}

bool tui_report_goes_back(struct tui_report *t)
{
	if (!t->is_unseen)
		return false;
	t->is_unseen = false;
	t->has_failed = true;
	replace(&t->path, t->last_path);
	replace(&t->time, t->last_time);
	return true;
}
