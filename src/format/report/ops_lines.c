/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/ops_lines.h"

#include <stdio.h>

#include "base/escape.h"

enum { MAX_LINES = 32, MAX_USES = 4 };

enum {
	L_HITM,
	L_REMOTE_HITM,
	L_REMOTE,
	L_PEER,
	L_ALL,
	L_LOADS,
	L_STORES,
	L_MEAN,
	L_P99,
	L_MAX,
	L_PID,
	NR_LINE
};

/* clang-format off */
static const struct ops_column line_columns[NR_LINE] = {
	[L_HITM]        = {"HITM", 1, 9},
	[L_REMOTE_HITM] = {"rem.HITM", 1, 9},
	[L_REMOTE]      = {"Remote", 1, 9},
	[L_PEER]        = {"Peer", 1, 9},
	[L_ALL]         = {"Accesses", 1, 9},
	[L_LOADS]       = {"Loads", 1, 9},
	[L_STORES]      = {"Stores", 1, 9},
	[L_MEAN]        = {"mean", 1, 8},
	[L_P99]         = {"99%", 1, 8},
	[L_MAX]         = {"max", 1, 8},
	[L_PID]         = {"PID", 1, 8},
};
/* clang-format on */

static void put_line_counts(struct ops_table *t, const struct report_op_sum *s)
{
	const struct ops_column *c = line_columns;

	ops_put_number(t, &c[L_HITM], s->nr_hitm);
	ops_put_number(t, &c[L_REMOTE_HITM], s->nr_remote_hitm);
	ops_put_number(t, &c[L_REMOTE], s->nr_remote);
	ops_put_number(t, &c[L_PEER], s->nr_peer);
	ops_put_number(t, &c[L_ALL], s->nr);
	ops_put_number(t, &c[L_LOADS], s->nr_loads);
	ops_put_number(t, &c[L_STORES], s->nr_stores);
}

static void put_line_latency(struct ops_table *t, const struct latency *l)
{
	const struct ops_column *c = line_columns;

	for (size_t i = L_MEAN; i <= L_MAX && !l->nr; i++)
		ops_put(t, &c[i], "-");
	if (!l->nr)
		return;
	ops_put_mean(t, &c[L_MEAN], l);
	ops_put_number(t, &c[L_P99], latency_percentile(l, 99));
	ops_put_number(t, &c[L_MAX], l->max);
}

static void put_pid(struct ops_table *t, uint32_t pid)
{
	const struct ops_column *c = &line_columns[L_PID];

	if (pid == UINT32_MAX)
		ops_put(t, c, "?");
	else if (!pid)
		ops_put(t, c, "kernel");
	else
		ops_put_number(t, c, pid);
}

static void put_uses(struct ops_table *t, const struct report_feed *f,
		     const struct report_op_line *l)
{
	const struct report_ops *o = report_feed_ops(f);

	ops_begin_cell(t, 2);
	for (size_t i = 0; i < l->nr_uses && i < MAX_USES; i++) {
		const struct report_op_use *u = &o->uses.data[l->first_use + i];
		struct report_frame_text frame = report_feed_frame(f, u->frame);

		escape_printf(t->out, "%s+%u:%s", i ? " " : "",
			      (unsigned int)(u->address - l->address),
			      frame.sym ? frame.sym : frame.dso);
	}
	buf_str(t->out, l->nr_uses > MAX_USES ? " ..." : "");
}

static void add_line(struct ops_table *t, const struct report_feed *f,
		     const struct report_op_line *l, const struct ops_column *address)
{
	char text[24];

	put_line_counts(t, &l->sum);
	put_line_latency(t, &l->sum.latencies[REPORT_TOTAL]);
	put_pid(t, l->pid);
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)l->address);
	ops_put(t, address, text);
	put_uses(t, f, l);
	ops_end_line(t);
}

/* Left-aligned, as wide as the widest of @p nr addresses. */
static struct ops_column address_column(const struct report_op_line *lines, size_t nr)
{
	int width = sizeof("Address") - 1;

	for (size_t i = 0; i < nr; i++) {
		int n = snprintf(NULL, 0, "0x%llx", (unsigned long long)lines[i].address);

		width = n > width ? n : width;
	}
	return (struct ops_column){"Address", 2, -width};
}

void ops_lines_text(struct ops_table *t, const struct report_feed *f)
{
	const struct report_ops *o = report_feed_ops(f);
	size_t nr = o->lines.nr < MAX_LINES ? o->lines.nr : MAX_LINES;
	struct ops_column address = address_column(o->lines.data, nr);

	if (!nr)
		return;
	buf_printf(t->out,
		   "\n# Cache lines of %d bytes, those with most HITM first; +OFFSET:function\n",
		   REPORT_LINE_BYTES);
	ops_put_titles(t, line_columns, NR_LINE);
	ops_put(t, &address, address.title);
	ops_put_last(t, "Used by");
	ops_end_titles(t);
	for (size_t i = 0; i < nr; i++)
		add_line(t, f, &o->lines.data[i], &address);
	if (nr < o->lines.nr)
		buf_printf(t->out, "# and %zu more lines: --json has them all\n", o->lines.nr - nr);
}
