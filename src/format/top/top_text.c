/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/top/top_text.h"

#include "base/cleanup.h"

enum clew_err top_table_make(const struct top_view *v, size_t i, const struct top_style *style,
			     struct report_table *ret)
{
	struct report_table_opts o = style->table;
	enum clew_err err;

	o.by_total = o.by_total && report_feed_event(v->feed, i)->has_chains;
	o.has_graphs = style->has_graph && report_feed_event(v->feed, i)->has_chains;
	err = report_table_make(v->feed, &i, 1, &o, ret);
	if (err != CLEW_OK)
		return err;
	err = top_select_rows(v->feed, ret, &style->select);
	if (err != CLEW_OK)
		report_table_done(ret);
	return err;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_lost(struct buf *out, const struct top_view *v)
{
	buf_printf(out, "%llu lost", (unsigned long long)v->lost);
	if (v->all_lost != v->lost)
		buf_printf(out, " (%llu in all)", (unsigned long long)v->all_lost);
}

static double per_second(const struct top_view *v)
{
	return v->interval_ns ? (double)v->samples * 1e9 / (double)v->interval_ns : 0;
}

static void put_short_head(struct buf *out, const struct top_view *v)
{
	buf_printf(out, "%.0f/s, ", per_second(v));
	put_lost(out, v);
	buf_printf(out, ", k %.1f u %.1f g %.1f %%, clew %.1f %%",
		   percent(v->by_level[TOP_KERNEL], v->samples),
		   percent(v->by_level[TOP_USER], v->samples),
		   percent(v->by_level[TOP_GUEST], v->samples), percent(v->cpu_ns, v->interval_ns));
}

void top_put_head(struct buf *out, const struct top_view *v, bool is_short)
{
	uint64_t nr = v->samples;

	if (is_short) {
		put_short_head(out, v);
		return;
	}
	buf_printf(out, "%.0f samples/s, ", per_second(v));
	put_lost(out, v);
	buf_printf(out, ", kernel %.1f %%, user %.1f %%, guest %.1f %%",
		   percent(v->by_level[TOP_KERNEL], nr), percent(v->by_level[TOP_USER], nr),
		   percent(v->by_level[TOP_GUEST], nr));
	if (v->by_level[TOP_OTHER])
		buf_printf(out, ", other %.1f %%", percent(v->by_level[TOP_OTHER], nr));
	buf_printf(out, ", clew itself %.1f %% of a CPU", percent(v->cpu_ns, v->interval_ns));
}

static enum clew_err put_buf(const struct clew_sink *sink, const struct buf *b)
{
	return b->is_failed ? CLEW_NO_MEMORY : sink->write(sink->ctx, b->data, b->nr);
}

static enum clew_err put_event(const struct top_view *v, size_t i, const struct top_style *style,
			       const struct clew_sink *sink)
{
	struct report_text_opts text = style->text;
	struct report_table table;
	enum clew_err err = top_table_make(v, i, style, &table);

	if (err != CLEW_OK)
		return err;
	text.by_total = style->table.by_total && table.events[0]->has_chains;
	text.style = table.graphs.graphs.nr ? text.style : REPORT_GRAPH_NONE;
	err = report_text_table(v->feed, &table, &text, sink);
	report_table_done(&table);
	return err;
}

enum clew_err top_text(const struct top_view *v, const struct top_style *style,
		       const struct clew_sink *sink)
{
	clew_auto(buf_done) struct buf head = {0};
	enum clew_err err;

	buf_printf(&head, "# clew top, refresh %llu: ", (unsigned long long)v->number);
	top_put_head(&head, v, false);
	buf_str(&head, "\n#\n");
	err = put_buf(sink, &head);
	for (size_t i = 0; i < report_feed_nr_events(v->feed) && err == CLEW_OK; i++) {
		if (report_feed_event(v->feed, i)->nr)
			err = put_event(v, i, style, sink);
	}
	return err;
}
