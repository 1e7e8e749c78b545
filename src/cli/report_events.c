/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/report_events.h"

enum { MAX_GROUP = 64 };

bool report_has_chains(const struct report_args *a, const struct report_feed *f, size_t event)
{
	const struct report_event *ev = report_feed_event(f, event);

	return ev->evsel->attr.sample_type & PERF_SAMPLE_CALLCHAIN && !a->in.opts.no_chains;
}

static void choose_columns(struct report_args *a, const struct report_feed *f, size_t event)
{
	bool has_chains = report_has_chains(a, f, event);

	a->text.by_total = a->table.by_total = a->has_children && has_chains;
	a->text.min_share = a->table.graph.min_share;
	a->table.has_graphs = a->text.style != REPORT_GRAPH_NONE && has_chains;
	if (!a->has_order)
		a->table.graph.is_callee = !a->table.by_total;
}

/* The events shown together with @p event: its group, or itself. */
static size_t group_of(const struct report_args *a, const struct report_feed *f, size_t event,
		       size_t ret[MAX_GROUP])
{
	size_t nr = 0;

	ret[nr++] = event;
	if (a->is_ungrouped)
		return nr;
	for (size_t i = event + 1; i < report_feed_nr_events(f) && nr < MAX_GROUP; i++) {
		const struct report_event *ev = report_feed_event(f, i);

		if (ev->evsel && ev->evsel->leader == event)
			ret[nr++] = i;
	}
	return nr;
}

static bool is_member(const struct report_args *a, const struct report_feed *f, size_t event)
{
	const struct perf_evsel *e = report_feed_event(f, event)->evsel;

	return !a->is_ungrouped && e->leader < event && report_feed_event(f, e->leader)->evsel;
}

bool report_has_table(const struct report_args *a, const struct report_feed *f, size_t event)
{
	return report_feed_event(f, event)->nr && !is_member(a, f, event);
}

enum clew_err report_make_table(struct report_args *a, struct report_feed *f, size_t event,
				struct report_table *ret)
{
	size_t group[MAX_GROUP], nr = group_of(a, f, event, group);

	choose_columns(a, f, event);
	return report_table_make(f, group, nr, &a->table, ret);
}
