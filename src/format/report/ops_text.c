/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/ops_text.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/text_columns.h"
#include "format/data_src.h"

enum { MAX_LINES = 32, MAX_USES = 4 };

void ops_source_text(struct buf *out, const struct report_op_source *s)
{
	if (s->has_number && s->name)
		buf_str(out, s->name);
	else if (s->has_number)
		buf_printf(out, "source %llu (unknown)", (unsigned long long)s->number);
	else
		data_src_level_text(out, s->data_src);
}

static void add_share(struct buf *out, uint64_t part, uint64_t whole)
{
	buf_printf(out, " %7.2f%%", whole ? 100.0 * (double)part / (double)whole : 0.0);
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

static void add_latency(struct buf *out, enum report_latency i, const struct latency *l)
{
	buf_printf(out, "  %-9s %8u %10.1f %8u %8u %8u %8u", report_latency_name(i), l->min,
		   latency_mean(l), latency_percentile(l, 50), latency_percentile(l, 90),
		   latency_percentile(l, 99), l->max);
}

static const char latency_titles[] =
	"  Latency        min       mean      50%      90%      99%      max";

static const char no_latency[] =
	"  -                -          -        -        -        -        -";

/* A line per latency that was reported; @p name, escaped, on the first. */
static void add_latencies(struct buf *out, const struct report_op_sum *s, const char *name,
			  unsigned int indent)
{
	bool is_first = true;

	for (unsigned int i = 0; i < REPORT_NR_LATENCIES; i++) {
		if (!s->latencies[i].nr)
			continue;
		if (!is_first)
			buf_fill(out, ' ', indent);
		add_latency(out, (enum report_latency)i, &s->latencies[i]);
		if (is_first)
			buf_printf(out, "  %s", name);
		buf_char(out, '\n');
		is_first = false;
	}
	if (is_first)
		buf_printf(out, "%s  %s\n", no_latency, name);
}

static void add_accesses(struct buf *out, const struct report_op_sum *all,
			 const struct report_op_sum *s, const char *name)
{
	size_t from = out->nr;

	add_share(out, cost(all, s), cost(all, all));
	buf_dec(out, s->nr, 11, ' ');
	add_share(out, s->nr_remote, s->nr);
	add_share(out, s->nr_hitm, s->nr);
	add_share(out, s->nr_walks, s->nr);
	add_latencies(out, s, name, (unsigned int)(out->nr - from));
}

static void add_titles(struct buf *out, const char *what)
{
	buf_printf(out, "#   Share   Accesses   Remote     HITM    Walks%s  %s\n#\n",
		   latency_titles, what);
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

static void add_sources(struct buf *out, const struct report_ops *o)
{
	clew_auto(buf_done) struct buf name = {0};
	bool has_unnamed = false;

	buf_str(out, "#\n");
	add_titles(out, "Data source");
	for (size_t i = 0; i < o->sources.nr; i++) {
		uint32_t at = o->source_order[i];

		has_unnamed |= o->sources.data[at].has_number && !o->sources.data[at].name;
		buf_clear(&name);
		ops_source_text(&name, &o->sources.data[at]);
		add_accesses(out, &o->all, &o->by_source[at], buf_cstr(&name));
	}
	if (has_unnamed)
		buf_str(out, "# Sources are numbered by the core; 'clew trace' says why one has no "
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

/* What was added since @p from, as wide as the column, and two spaces. */
static void pad(struct buf *out, size_t from, size_t width)
{
	size_t n = text_columns(out->data + from, out->nr - from);

	buf_fill(out, ' ', width + 2 > n ? width + 2 - n : 2);
}

static void add_keys(struct buf *out, const struct report_feed *f, const struct report_op_row *r,
		     const struct columns *c)
{
	for (size_t i = 0; i < report_feed_sort(f)->nr; i++) {
		size_t from = out->nr;

		add_key(out, f, r, i);
		if (i + 1 < report_feed_sort(f)->nr)
			pad(out, from, c->key[i]);
	}
}

static void add_key_titles(struct buf *out, const struct report_feed *f, const struct columns *c)
{
	const struct report_sort *sort = report_feed_sort(f);

	for (size_t i = 0; i < sort->nr; i++) {
		size_t from = out->nr;

		buf_str(out, report_key_title(sort->keys[i]));
		if (i + 1 < sort->nr)
			pad(out, from, c->key[i]);
	}
}

static void add_rows(struct buf *out, const struct report_feed *f, double min_share)
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
	buf_str(out, "\n");
	add_key_titles(&name, f, &c);
	add_titles(out, buf_cstr(&name));
	vec_for_each (&o->rows, r) {
		if (!is_shown(&o->all, &r->sum, min_share))
			break;
		buf_clear(&name);
		add_keys(&name, f, r, &c);
		add_accesses(out, &o->all, &r->sum, buf_cstr(&name));
	}
}

static void add_line(struct buf *out, const struct report_feed *f, const struct report_op_line *l)
{
	const struct report_ops *o = report_feed_ops(f);
	const struct report_op_sum *s = &l->sum;
	const struct latency *t = &s->latencies[REPORT_TOTAL];

	buf_printf(out, " %9llu %9llu %9llu %9llu %9llu %9llu %9llu",
		   (unsigned long long)s->nr_hitm, (unsigned long long)s->nr_remote_hitm,
		   (unsigned long long)s->nr_remote, (unsigned long long)s->nr_peer,
		   (unsigned long long)s->nr, (unsigned long long)s->nr_loads,
		   (unsigned long long)s->nr_stores);
	if (t->nr)
		buf_printf(out, " %8.1f %8u %8u", latency_mean(t), latency_percentile(t, 99),
			   t->max);
	else
		buf_str(out, "        -        -        -");
	if (l->pid == UINT32_MAX)
		buf_str(out, "        ?");
	else if (!l->pid)
		buf_str(out, "   kernel");
	else
		buf_printf(out, " %8u", l->pid);
	buf_printf(out, "  0x%llx ", (unsigned long long)l->address);
	for (size_t i = 0; i < l->nr_uses && i < MAX_USES; i++) {
		const struct report_op_use *u = &o->uses.data[l->first_use + i];
		struct report_frame_text t_frame = report_feed_frame(f, u->frame);

		escape_printf(out, " +%u:%s", (unsigned int)(u->address - l->address),
			      t_frame.sym ? t_frame.sym : t_frame.dso);
	}
	buf_str(out, l->nr_uses > MAX_USES ? " ...\n" : "\n");
}

static void add_lines(struct buf *out, const struct report_feed *f)
{
	const struct report_ops *o = report_feed_ops(f);
	size_t nr = o->lines.nr < MAX_LINES ? o->lines.nr : MAX_LINES;

	if (!nr)
		return;
	buf_printf(out,
		   "\n# Cache lines of %d bytes, those with most HITM first; +OFFSET:function\n",
		   REPORT_LINE_BYTES);
	buf_str(out, "#    HITM  rem.HITM    Remote      Peer  Accesses     Loads    Stores     "
		     "mean      99%      max      PID  Address\n#\n");
	for (size_t i = 0; i < nr; i++)
		add_line(out, f, &o->lines.data[i]);
	if (nr < o->lines.nr)
		buf_printf(out, "# and %zu more lines: --json has them all\n", o->lines.nr - nr);
}

void ops_memory_text(struct buf *out, const struct report_feed *f, double min_share)
{
	const struct report_ops *o = report_feed_ops(f);

	add_head(out, o);
	if (!o->all.nr)
		return;
	add_sources(out, o);
	add_rows(out, f, min_share);
	add_lines(out, f);
}

static void add_branch(struct buf *out, const struct report_feed *f, const struct report_op_row *r,
		       const struct columns *c)
{
	const struct report_op_sum *s = &r->sum;
	const struct latency *t = &s->latencies[REPORT_TOTAL];
	size_t from;

	buf_printf(out, " %12llu", (unsigned long long)s->nr_mispredicted);
	add_share(out, s->nr_mispredicted, s->nr);
	buf_printf(out, " %10llu", (unsigned long long)s->nr_not_taken);
	add_share(out, s->nr_not_taken, s->nr);
	buf_printf(out, " %10llu", (unsigned long long)s->nr);
	if (t->nr)
		buf_printf(out, " %8.1f", latency_mean(t));
	else
		buf_str(out, "        -");
	buf_str(out, "  ");
	from = out->nr;
	add_address(out, f, r);
	pad(out, from, c->address);
	add_keys(out, f, r, c);
	buf_char(out, '\n');
}

static bool is_branch_shown(const struct report_ops *o, const struct report_op_row *r, double share)
{
	return (double)r->sum.nr >= share * (double)o->all.nr;
}

void ops_branches_text(struct buf *out, const struct report_feed *f, double min_share)
{
	const struct report_ops *o = report_feed_ops(f);
	struct columns c;

	buf_printf(out,
		   "# Branches, sampled: %llu, mispredicted %llu, not taken %llu\n"
		   "# Operations are sampled, not branches: counts compare with each other;\n"
		   "# they are not numbers of executions\n",
		   (unsigned long long)o->all.nr, (unsigned long long)o->all.nr_mispredicted,
		   (unsigned long long)o->all.nr_not_taken);
	add_not_retired(out, o);
	if (!o->all.nr)
		return;
	measure_titles(&c, f);
	vec_for_each (&o->rows, r) {
		if (is_branch_shown(o, r, min_share))
			measure(&c, f, r);
	}
	buf_str(out, "#\n#Mispredicted    Share  Not taken    Share      Total     mean  ");
	buf_str(out, "Address");
	buf_fill(out, ' ', c.address + 2 - (sizeof("Address") - 1));
	add_key_titles(out, f, &c);
	buf_str(out, "\n#\n");
	vec_for_each (&o->rows, r) {
		if (is_branch_shown(o, r, min_share))
			add_branch(out, f, r, &c);
	}
}
