/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/ops_text.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/text_columns.h"
#include "format/data_src.h"
#include "format/report/ops_cells.h"
#include "format/report/ops_lines.h"

void ops_source_text(struct buf *out, const struct report_op_source *s)
{
	if (s->has_number && s->name)
		buf_str(out, s->name);
	else if (s->has_number)
		buf_printf(out, "source %llu (unknown)", (unsigned long long)s->number);
	else
		data_src_level_text(out, s->data_src);
}

/* What a share is of: latency, where any is known. */
static uint64_t cost(const struct report_op_sum *all, const struct report_op_sum *s)
{
	return all->latencies[REPORT_TOTAL].sum ? s->latencies[REPORT_TOTAL].sum : s->nr;
}

static bool is_shown(const struct report_op_sum *all, const struct report_op_sum *s, double share)
{
	return (double)cost(all, s) >= share * (double)cost(all, all);
}

enum { SHARE, ACCESSES, REMOTE, HITM, WALKS, LATENCY, MIN, MEAN, P50, P90, P99, MAX, NR_ACCESS };

/* clang-format off */
static const struct ops_column access_columns[NR_ACCESS] = {
	[SHARE]    = {"Share", 1, 8},
	[ACCESSES] = {"Accesses", 1, 10},
	[REMOTE]   = {"Remote", 1, 8},
	[HITM]     = {"HITM", 1, 8},
	[WALKS]    = {"Walks", 1, 8},
	[LATENCY]  = {"Latency", 2, -9},
	[MIN]      = {"min", 1, 8},
	[MEAN]     = {"mean", 1, 10},
	[P50]      = {"50%", 1, 8},
	[P90]      = {"90%", 1, 8},
	[P99]      = {"99%", 1, 8},
	[MAX]      = {"max", 1, 8},
};
/* clang-format on */

static void put_latency(struct ops_table *t, enum report_latency i, const struct latency *l)
{
	const struct ops_column *c = access_columns;

	ops_put(t, &c[LATENCY], report_latency_name(i));
	ops_put_number(t, &c[MIN], l->min);
	ops_put_mean(t, &c[MEAN], l);
	ops_put_number(t, &c[P50], latency_percentile(l, 50));
	ops_put_number(t, &c[P90], latency_percentile(l, 90));
	ops_put_number(t, &c[P99], latency_percentile(l, 99));
	ops_put_number(t, &c[MAX], l->max);
}

static void put_no_latency(struct ops_table *t)
{
	for (size_t i = LATENCY; i < NR_ACCESS; i++)
		ops_put(t, &access_columns[i], "-");
}

static void put_counts(struct ops_table *t, const struct report_op_sum *all,
		       const struct report_op_sum *s)
{
	const struct ops_column *c = access_columns;

	ops_put_share(t, &c[SHARE], cost(all, s), cost(all, all));
	ops_put_number(t, &c[ACCESSES], s->nr);
	ops_put_share(t, &c[REMOTE], s->nr_remote, s->nr);
	ops_put_share(t, &c[HITM], s->nr_hitm, s->nr);
	ops_put_share(t, &c[WALKS], s->nr_walks, s->nr);
}

/* A line per latency that was reported. Aligned, the first alone has the rest; a separator's lines
 * are for programs, which read each by itself. */
static void add_accesses(struct ops_table *t, const struct report_op_sum *all,
			 const struct report_op_sum *s, const char *name)
{
	size_t from = t->out->nr, indent = 0;
	unsigned int nr = 0;

	for (unsigned int i = 0; i <= REPORT_NR_LATENCIES; i++) {
		bool is_none = i == REPORT_NR_LATENCIES;

		if (is_none ? nr : !s->latencies[i].nr)
			continue;
		if (!nr || t->separator)
			put_counts(t, all, s);
		else
			buf_fill(t->out, ' ', indent);
		indent = nr ? indent : t->out->nr - from;
		if (is_none)
			put_no_latency(t);
		else
			put_latency(t, (enum report_latency)i, &s->latencies[i]);
		if (!nr || t->separator)
			ops_put_last(t, name);
		ops_end_line(t);
		nr++;
	}
}

static void add_access_titles(struct ops_table *t, const char *what)
{
	ops_put_titles(t, access_columns, NR_ACCESS);
	ops_put_last(t, what);
	ops_end_titles(t);
}

static void add_not_retired(struct buf *out, const struct report_ops *o)
{
	if (o->all.nr_not_retired)
		buf_printf(out, "# Speculative, did not retire: %llu of them\n",
			   (unsigned long long)o->all.nr_not_retired);
}

static void add_head(struct buf *out, const struct report_ops *o)
{
	buf_printf(out, "# Memory accesses, sampled: %llu (%llu loads, %llu stores)\n",
		   (unsigned long long)o->all.nr, (unsigned long long)o->all.nr_loads,
		   (unsigned long long)o->all.nr_stores);
	add_not_retired(out, o);
	buf_printf(out, "# Shares are of %s; latencies in cycles, percentiles within 3 %%\n",
		   o->all.latencies[REPORT_TOTAL].sum ? "the sum of total latencies" : "accesses");
	if (o->all.nr_at_least)
		buf_printf(out, "# Counters at their maximum, so that more may have passed: %llu\n",
			   (unsigned long long)o->all.nr_at_least);
	if (o->nr_no_room)
		buf_printf(out, "# In no row: %llu, over the memory budget (--max-memory)\n",
			   (unsigned long long)o->nr_no_room);
}

static void add_sources(struct ops_table *t, const struct report_ops *o)
{
	clew_auto(buf_done) struct buf name = {0};
	bool has_unnamed = false;

	buf_str(t->out, "#\n");
	add_access_titles(t, "Data source");
	for (size_t i = 0; i < o->sources.nr; i++) {
		uint32_t at = o->source_order[i];

		has_unnamed |= o->sources.data[at].has_number && !o->sources.data[at].name;
		buf_clear(&name);
		ops_source_text(&name, &o->sources.data[at]);
		add_accesses(t, &o->all, &o->by_source[at], buf_cstr(&name));
	}
	if (has_unnamed)
		buf_str(t->out,
			"# Sources are numbered by the core; 'clew trace' says why one has no "
			"name\n");
}

/* --- sort keys --- */

/** What the columns of the keys take in the rows that are shown; the address first. */
struct columns {
	size_t address, key[REPORT_NR_KEYS];
};

static void widen(size_t *width, const char *text, size_t bytes)
{
	size_t n = text_columns(text, bytes);

	*width = n > *width ? n : *width;
}

static void add_key(struct buf *out, const struct report_feed *f, const struct report_op_row *r,
		    size_t i)
{
	size_t from = out->nr;

	report_feed_row_text(f, &r->row, report_feed_sort(f)->keys[i], out);
	escape_since(out, from);
}

static void add_address(struct buf *out, const struct report_feed *f, const struct report_op_row *r)
{
	buf_printf(out, "0x%llx", (unsigned long long)report_feed_frame(f, r->frame).address);
}

static void measure_titles(struct columns *c, const struct report_feed *f)
{
	const struct report_sort *sort = report_feed_sort(f);

	*c = (struct columns){.address = sizeof("Address") - 1};
	for (size_t i = 0; i < sort->nr; i++)
		c->key[i] = strlen(report_key_title(sort->keys[i]));
}

static void measure(struct columns *c, const struct report_feed *f, const struct report_op_row *r)
{
	clew_auto(buf_done) struct buf text = {0};

	add_address(&text, f, r);
	widen(&c->address, text.data, text.nr);
	for (size_t i = 0; i < report_feed_sort(f)->nr; i++) {
		buf_clear(&text);
		add_key(&text, f, r, i);
		widen(&c->key[i], text.data, text.nr);
	}
}

static size_t key_width(const struct report_feed *f, const struct columns *c, size_t i)
{
	return i + 1 < report_feed_sort(f)->nr ? c->key[i] : 0;
}

/* The keys' titles, or with @p r its texts, as cells of @p t. */
static void put_keys(struct ops_table *t, const struct report_feed *f,
		     const struct report_op_row *r, const struct columns *c)
{
	clew_auto(buf_done) struct buf text = {0};

	for (size_t i = 0; i < report_feed_sort(f)->nr; i++) {
		buf_clear(&text);
		if (r)
			add_key(&text, f, r, i);
		else
			buf_str(&text, report_key_title(report_feed_sort(f)->keys[i]));
		ops_put_wide(t, t->has_cell ? 2 : 0, &text, key_width(f, c, i));
	}
}

static void add_rows(struct ops_table *t, const struct report_feed *f, double min_share)
{
	const struct report_ops *o = report_feed_ops(f);
	clew_auto(buf_done) struct buf name = {0};
	struct columns c;

	measure_titles(&c, f);
	vec_for_each (&o->rows, r) {
		if (!is_shown(&o->all, &r->sum, min_share))
			break;
		measure(&c, f, r);
	}
	buf_str(t->out, "\n");
	put_keys(&(struct ops_table){&name, t->separator, false}, f, NULL, &c);
	add_access_titles(t, buf_cstr(&name));
	vec_for_each (&o->rows, r) {
		if (!is_shown(&o->all, &r->sum, min_share))
			break;
		buf_clear(&name);
		put_keys(&(struct ops_table){&name, t->separator, false}, f, r, &c);
		add_accesses(t, &o->all, &r->sum, buf_cstr(&name));
	}
}

void ops_memory_text(struct buf *out, const struct report_feed *f, double min_share,
		     const char *separator)
{
	const struct report_ops *o = report_feed_ops(f);
	struct ops_table t = {out, separator, false};

	add_head(out, o);
	if (!o->all.nr)
		return;
	add_sources(&t, o);
	add_rows(&t, f, min_share);
	ops_lines_text(&t, f);
}

/* --- branches --- */

enum {
	B_MISPREDICTED,
	B_MISPREDICTED_SHARE,
	B_NOT_TAKEN,
	B_NOT_TAKEN_SHARE,
	B_ALL,
	B_MEAN,
	NR_BRANCH
};

/* clang-format off */
static const struct ops_column branch_columns[NR_BRANCH] = {
	[B_MISPREDICTED]       = {"Mispredicted", 1, 12},
	[B_MISPREDICTED_SHARE] = {"Share", 1, 8},
	[B_NOT_TAKEN]          = {"Not taken", 1, 10},
	[B_NOT_TAKEN_SHARE]    = {"Share", 1, 8},
	[B_ALL]                = {"Total", 1, 10},
	[B_MEAN]               = {"mean", 1, 8},
};
/* clang-format on */

static void put_branch_counts(struct ops_table *t, const struct report_op_sum *s)
{
	const struct latency *l = &s->latencies[REPORT_TOTAL];
	const struct ops_column *c = branch_columns;

	ops_put_number(t, &c[B_MISPREDICTED], s->nr_mispredicted);
	ops_put_share(t, &c[B_MISPREDICTED_SHARE], s->nr_mispredicted, s->nr);
	ops_put_number(t, &c[B_NOT_TAKEN], s->nr_not_taken);
	ops_put_share(t, &c[B_NOT_TAKEN_SHARE], s->nr_not_taken, s->nr);
	ops_put_number(t, &c[B_ALL], s->nr);
	if (l->nr)
		ops_put_mean(t, &c[B_MEAN], l);
	else
		ops_put(t, &c[B_MEAN], "-");
}

static void add_branch(struct ops_table *t, const struct report_feed *f,
		       const struct report_op_row *r, const struct columns *c)
{
	clew_auto(buf_done) struct buf address = {0};

	put_branch_counts(t, &r->sum);
	add_address(&address, f, r);
	ops_put_wide(t, 2, &address, c->address);
	put_keys(t, f, r, c);
	ops_end_line(t);
}

static void add_branch_titles(struct ops_table *t, const struct report_feed *f,
			      const struct columns *c)
{
	if (!t->separator)
		buf_str(t->out, "#\n");
	ops_put_titles(t, branch_columns, NR_BRANCH);
	ops_put(t, &(struct ops_column){NULL, 2, -(int)c->address}, "Address");
	put_keys(t, f, NULL, c);
	ops_end_titles(t);
}

static void add_branch_head(struct buf *out, const struct report_ops *o)
{
	buf_printf(out,
		   "# Branches, sampled: %llu, mispredicted %llu, not taken %llu\n"
		   "# Operations are sampled, not branches: counts compare with each other;\n"
		   "# they are not numbers of executions\n",
		   (unsigned long long)o->all.nr, (unsigned long long)o->all.nr_mispredicted,
		   (unsigned long long)o->all.nr_not_taken);
	add_not_retired(out, o);
	if (o->all.latencies[REPORT_TOTAL].nr)
		buf_str(out, "# mean: of total latencies, in cycles\n");
}

static bool is_branch_shown(const struct report_ops *o, const struct report_op_row *r, double share)
{
	return (double)r->sum.nr >= share * (double)o->all.nr;
}

void ops_branches_text(struct buf *out, const struct report_feed *f, double min_share,
		       const char *separator)
{
	const struct report_ops *o = report_feed_ops(f);
	struct ops_table t = {out, separator, false};
	struct columns c;

	add_branch_head(out, o);
	if (!o->all.nr)
		return;
	measure_titles(&c, f);
	vec_for_each (&o->rows, r) {
		if (is_branch_shown(o, r, min_share))
			measure(&c, f, r);
	}
	add_branch_titles(&t, f, &c);
	vec_for_each (&o->rows, r) {
		if (is_branch_shown(o, r, min_share))
			add_branch(&t, f, r, &c);
	}
}
