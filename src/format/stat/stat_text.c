/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/stat/stat_text.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "format/stat/stat_impl.h"

enum {
	VALUE_WIDTH = 18,
	UNIT_OF_VALUE_WIDTH = 4,
	NAME_WIDTH = 32,   /* of what was counted */
	ABSENT_WIDTH = 25, /* of what was not */
	METRIC_WIDTH = 35, /* " # " with the number and the unit */
	UNIT_WIDTH = 23,
	SECONDS_WIDTH = 18,
};

void stat_put_seconds(struct buf *out, uint64_t ns, int width)
{
	buf_printf(out, "%*llu.%09llu", width, (unsigned long long)(ns / 1000000000),
		   (unsigned long long)(ns % 1000000000));
}

void stat_put_head(struct buf *out, const struct stat_style *style, const struct counts *c,
		   const char *subject)
{
	if (style->form != STAT_TEXT)
		return;
	buf_str(out, "\n Performance counter stats for ");
	escape_str(out, subject);
	if (c->nr_runs > 1)
		buf_printf(out, " (%u runs)", c->nr_runs);
	buf_str(out, ":\n\n");
}

void stat_put_columns(struct buf *out, const struct stat_style *style, const struct counts *c)
{
	static const char *const columns[] = {
		[COUNT_BY_ALL] = "",
		[COUNT_BY_CPU] = " CPU       ",
		[COUNT_BY_CORE] = " core            cpus",
		[COUNT_BY_SOCKET] = " socket cpus",
		[COUNT_BY_THREAD] = "             comm-pid     ",
	};

	if (style->form == STAT_TEXT)
		buf_printf(out, "#           time%s             counts unit events\n",
			   columns[c->by]);
}

static void put_thread(struct buf *out, const struct count_part *p)
{
	struct buf name = {0};

	escape_str(&name, p->comm);
	buf_printf(out, "%16s-%-8d ", buf_cstr(&name), p->tid);
	out->is_failed |= name.is_failed;
	buf_done(&name);
}

static void put_part(struct buf *out, enum count_by by, const struct count_part *p)
{
	char text[64];

	switch (by) {
	case COUNT_BY_ALL:
		break;
	case COUNT_BY_CPU:
		buf_printf(out, "CPU%-7d ", p->cpu);
		break;
	case COUNT_BY_CORE:
		snprintf(text, sizeof(text), "S%d-D%d-C%d", p->socket, p->die, p->core);
		buf_printf(out, "%-15s %4u ", text, p->nr_cpus);
		break;
	case COUNT_BY_SOCKET:
		buf_printf(out, "S%-5d %4u ", p->socket, p->nr_cpus);
		break;
	case COUNT_BY_THREAD:
		put_thread(out, p);
		break;
	}
}

/* "1,234,567", "1,234.56" */
static void put_grouped(struct buf *out, double value, int decimals, const char *thousands)
{
	char digits[400];
	struct buf text = {0};
	size_t nr, all = (size_t)snprintf(digits, sizeof(digits), "%.*f", decimals, value);

	nr = decimals ? all - (size_t)decimals - 1 : all;
	for (size_t i = 0; i < nr; i++) {
		buf_char(&text, digits[i]);
		if ((nr - i - 1) % 3 == 0 && i + 1 < nr)
			buf_str(&text, thousands);
	}
	buf_add(&text, digits + nr, all - nr);
	buf_field(out, buf_cstr(&text), VALUE_WIDTH);
	out->is_failed |= text.is_failed;
	buf_done(&text);
}

static void put_name(struct buf *out, const char *name, size_t width)
{
	size_t from = out->nr;

	escape_str(out, name);
	if (out->nr - from < width)
		buf_fill(out, ' ', width - (out->nr - from));
}

static void put_value(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	if (!r->is_counted)
		buf_field(out, stat_missing(r), VALUE_WIDTH);
	else if (r->event->kind == COUNT_CLOCK)
		buf_printf(out, "%*.2f", VALUE_WIDTH, stat_value(r));
	else
		put_grouped(out, stat_value(r), stat_decimals(r), style->thousands);
	buf_char(out, ' ');
	put_name(out, stat_unit(r), UNIT_OF_VALUE_WIDTH);
	buf_char(out, ' ');
}

/* @p m: NULL: there is none. */
static void put_metric(struct buf *out, const struct count_metric *m)
{
	size_t from = out->nr;

	if (m) {
		buf_printf(out, " # %*.*f%s", (int)m->width, (int)m->decimals, m->value,
			   m->is_percent ? "%" : " ");
		if (m->width < 8 ||
		    m->is_percent) /* as perf: numbers are one column, then a blank */
			buf_char(out, ' ');
		buf_field(out, m->unit, -UNIT_WIDTH);
	}
	if (out->nr - from < METRIC_WIDTH)
		buf_fill(out, ' ', METRIC_WIDTH - (out->nr - from));
}

static void put_begin(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	if (style->is_interval) {
		stat_put_seconds(out, r->counts->at_ns, 6);
		buf_char(out, ' ');
	}
	put_part(out, r->counts->by, r->part);
}

static void put_more(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	put_begin(out, style, r);
	buf_fill(out, ' ', VALUE_WIDTH + UNIT_OF_VALUE_WIDTH + 2 + NAME_WIDTH);
	put_metric(out, &r->more);
	buf_char(out, '\n');
}

static void put_row(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	double percent = count_stats_percent(&r->cell->value);
	double running = stat_running_percent(r->cell);

	put_begin(out, style, r);
	put_value(out, style, r);
	put_name(out, r->event->name, r->is_counted ? NAME_WIDTH : ABSENT_WIDTH);
	put_metric(out, r->has_metric ? &r->metric : NULL);
	if (r->is_counted && percent > 0)
		buf_printf(out, "  ( +-%6.2f%% )", percent);
	if (r->is_counted && r->cell->running_ns.mean < r->cell->enabled_ns.mean)
		buf_printf(out, "  (%.2f%%)", running);
	buf_char(out, '\n');
	if (r->has_more)
		put_more(out, style, r);
}

static void put_cell(struct buf *out, const struct stat_style *style, const struct counts *c,
		     uint32_t event, uint32_t part)
{
	struct stat_row r = {.counts = c,
			     .event = &c->events[event],
			     .part = &c->parts[part],
			     .cell = counts_at(c, event, part)};

	r.is_counted = r.event->is_supported && count_is_counted(r.cell);
	r.has_metric = count_metric(c, event, part, &r.metric);
	r.has_more = count_metric_more(c, event, part, &r.more);
	switch (style->form) {
	case STAT_TEXT:
		put_row(out, style, &r);
		break;
	case STAT_FIELDS:
		stat_put_fields(out, style, &r);
		break;
	case STAT_JSON:
		stat_put_json(out, style, &r);
		break;
	}
}

/* As perf: cores and sockets one after the other, CPUs and threads under each event. */
void stat_put_rows(struct buf *out, const struct stat_style *style, const struct counts *c)
{
	if (c->by == COUNT_BY_CORE || c->by == COUNT_BY_SOCKET) {
		for (uint32_t part = 0; part < c->nr_parts; part++)
			for (uint32_t event = 0; event < c->nr_events; event++)
				put_cell(out, style, c, event, part);
		return;
	}
	for (uint32_t event = 0; event < c->nr_events; event++)
		for (uint32_t part = 0; part < c->nr_parts; part++)
			put_cell(out, style, c, event, part);
}

/* As many decimals as give three digits of the error. */
static int decimals_for(double error)
{
	int nr = 0;

	for (; error > 0 && error < 100 && nr < 9; nr++)
		error *= 10;
	return nr;
}

static void put_elapsed(struct buf *out, const struct counts *c)
{
	double mean = c->elapsed_ns.mean / 1e9, error = count_stats_error(&c->elapsed_ns) / 1e9;
	int decimals = decimals_for(error);

	if (c->nr_runs < 2) {
		buf_printf(out, "%*.9f seconds time elapsed\n", SECONDS_WIDTH, mean);
		return;
	}
	buf_printf(out, "%*.*f +- %.*f seconds time elapsed", SECONDS_WIDTH, decimals, mean,
		   decimals, error);
	buf_printf(out, "  ( +-%6.2f%% )\n", count_stats_percent(&c->elapsed_ns));
}

void stat_put_times(struct buf *out, const struct stat_style *style, const struct counts *c)
{
	if (style->form != STAT_TEXT)
		return;
	buf_char(out, '\n');
	put_elapsed(out, c);
	if (c->nr_runs < 2 && c->has_times) {
		buf_char(out, '\n');
		buf_printf(out, "%*.9f seconds user\n", SECONDS_WIDTH, (double)c->user_ns / 1e9);
		buf_printf(out, "%*.9f seconds sys\n", SECONDS_WIDTH, (double)c->sys_ns / 1e9);
		buf_char(out, '\n');
	}
	buf_char(out, '\n');
}
