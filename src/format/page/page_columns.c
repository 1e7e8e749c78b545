/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "format/page/page_impl.h"

enum { FLUSH_BYTES = 64 << 10 };

static enum clew_err flush(struct page_out *o, size_t least)
{
	enum clew_err err = CLEW_OK;

	if (o->bytes.is_failed)
		return CLEW_NO_MEMORY;
	if (o->bytes.nr > least) {
		err = page_gzip_add(o->gzip, o->bytes.data, o->bytes.nr);
		buf_clear(&o->bytes);
	}
	return err;
}

static void put_value(struct page_out *o, enum page_kind kind, unsigned int plane, uint64_t v)
{
	double d = (double)v;
	uint64_t bits;

	if (kind != PAGE_F64) {
		buf_char(&o->bytes, (char)(v >> 8 * plane));
		return;
	}
	memcpy(&bits, &d, sizeof(bits));
	buf_le64(&o->bytes, bits);
}

static enum clew_err put_rows(struct page_out *o, const struct page_column *c, unsigned int plane)
{
	enum clew_err err = CLEW_OK;
	uint64_t v = 0;
	size_t n;

	o->last_time = o->page->first;
	for (uint64_t at = 0; at < o->page->nr && err == CLEW_OK; at += n) {
		n = page_rows_read(o->page, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n; i++) {
			if (c->of_row(o, &o->page->rows[i], &v))
				put_value(o, c->kind, plane, v);
		}
		progress_add(o->progress, n);
		err = flush(o, FLUSH_BYTES);
	}
	return err;
}

static enum clew_err put_items(struct page_out *o, const struct page_column *c, unsigned int plane)
{
	enum clew_err err = CLEW_OK;

	for (uint64_t i = 0; i < c->nr && err == CLEW_OK; i++) {
		put_value(o, c->kind, plane, c->of_item(o, i));
		err = flush(o, FLUSH_BYTES);
	}
	return err;
}

struct putting {
	struct page_out *out;
	const struct page_column *column;
	unsigned int plane;
	enum clew_err err;
};

static void put_interval(void *ctx, const struct page_interval *i)
{
	struct putting *p = ctx;

	put_value(p->out, p->column->kind, p->plane, p->column->of_interval(p->out, i));
	if (p->err == CLEW_OK)
		p->err = flush(p->out, FLUSH_BYTES);
}

/* Levels and calls have numbers of threads already. */
static const struct map_u64 *threads_of(const struct page_out *o, const struct page_intervals *v)
{
	return v == &o->page->intervals ? &o->page->thread_of : NULL;
}

static enum clew_err put_intervals(struct page_out *o, const struct page_column *c,
				   unsigned int plane)
{
	struct putting p = {o, c, plane, CLEW_OK};
	enum clew_err err;

	o->last_time = o->page->first;
	err = page_intervals_each(c->intervals, threads_of(o, c->intervals), put_interval, &p);
	return err == CLEW_OK ? p.err : err;
}

/* What is known of no time is at the last one that is. */
static uint64_t time_since(struct page_out *o, const struct page_row *r)
{
	uint64_t d = r->time > o->last_time ? r->time - o->last_time : 0;

	o->last_time += d;
	return d;
}

/* Times are differences: those above 32 bits are in a column of their own. */
static bool dt(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	uint64_t d = time_since(o, r);

	*ret = d < PAGE_WIDE ? d : PAGE_WIDE;
	return true;
}

static bool dt_wide(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	*ret = time_since(o, r);
	return *ret >= PAGE_WIDE;
}

static bool thread(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	(void)o;
	*ret = r->thread;
	return true;
}

static bool cpu(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	(void)o;
	*ret = r->cpu;
	return true;
}

static bool stack(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	*ret = o->tree->stack_of[o->tree->node_of[r->node]];
	return true;
}

static bool event(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	(void)o;
	*ret = r->event;
	return true;
}

static bool cgroup(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	(void)o;
	*ret = r->cgroup;
	return true;
}

static bool weight(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	(void)o;
	*ret = r->weight;
	return true;
}

/* Ends, as differences. */
static uint64_t iv_gap(struct page_out *o, const struct page_interval *i)
{
	uint64_t d = i->end > o->last_time ? i->end - o->last_time : 0;

	o->last_time += d;
	return d;
}

static uint64_t iv_length(struct page_out *o, const struct page_interval *i)
{
	(void)o;
	return i->length;
}

static uint64_t iv_thread(struct page_out *o, const struct page_interval *i)
{
	(void)o;
	return i->thread;
}

static uint64_t iv_place(struct page_out *o, const struct page_interval *i)
{
	(void)o;
	return i->place;
}

static uint64_t iv_kind(struct page_out *o, const struct page_interval *i)
{
	(void)o;
	return i->kind;
}

/* How far before the node: callees stand close to their callers. */
static uint64_t parent(struct page_out *o, uint64_t i)
{
	return i ? i - o->tree->tree.nodes.data[i].parent : 0;
}

/* Frame 0 is the root's. */
static uint64_t frame(struct page_out *o, uint64_t i)
{
	return i ? o->tree->tree.nodes.data[i].frame + 1u : 0;
}

static uint64_t stack_node(struct page_out *o, uint64_t i)
{
	return o->tree->stacks[i];
}

static bool nr(struct page_out *o, const struct page_row *r, uint64_t *ret)
{
	(void)o;
	*ret = r->nr;
	return true;
}

static bool is_small(const struct page_out *o, uint64_t i)
{
	return i > report_feed_nr_groups(o->feed);
}

/* Of what @p of_group has for each group: 0 of the root and of what is small. */
static uint64_t group_value(const struct page_out *o, const uint32_t *of_group, uint64_t i)
{
	return i && !is_small(o, i) ? of_group[i - 1] : 0;
}

static uint64_t group_name(const struct page_out *o, const uint32_t *of_group, uint64_t i)
{
	return is_small(o, i) ? o->small_name : group_value(o, of_group, i);
}

static uint64_t name(struct page_out *o, uint64_t i)
{
	return group_name(o, o->names, i);
}

static uint64_t dso(struct page_out *o, uint64_t i)
{
	return group_value(o, o->dsos, i);
}

static uint64_t pair_name(struct page_out *o, uint64_t i)
{
	return group_name(o, o->pair_names, i);
}

static uint64_t pair_dso(struct page_out *o, uint64_t i)
{
	return group_value(o, o->pair_dsos, i);
}

static uint64_t file(struct page_out *o, uint64_t i)
{
	return group_value(o, o->files, i);
}

static uint64_t line(struct page_out *o, uint64_t i)
{
	return group_value(o, o->lines, i);
}

static uint64_t kind_of(struct page_out *o, uint64_t i)
{
	enum { INLINED = 6, UNNAMED = 0x80 };
	struct report_frame_text t;

	if (!i)
		return 0;
	if (is_small(o, i))
		return (i - 1 - report_feed_nr_groups(o->feed)) | UNNAMED;
	t = report_feed_frame(o->feed, report_feed_group_frame(o->feed, (uint32_t)i - 1));
	return page_level_of(t.level) | (t.is_inlined ? 1 << INLINED : 0) | (t.sym ? 0 : UNNAMED);
}

static enum page_kind kind_for(uint64_t max)
{
	return max <= UINT8_MAX  ? PAGE_B1
	     : max <= UINT16_MAX ? PAGE_B2
	     : max < 1u << 24    ? PAGE_B3
	     : max <= UINT32_MAX ? PAGE_B4
				 : PAGE_F64;
}

static void add(struct page_columns *c, struct page_column column)
{
	const struct page_column *last = c->nr ? &c->all[c->nr - 1] : NULL;

	if (last)
		column.at = (last->at + last->nr * last->kind + 7) & ~7ull;
	c->all[c->nr++] = column;
}

static void add_items(struct page_columns *c, const char *name, uint64_t nr, uint64_t max,
		      uint64_t (*of_item)(struct page_out *, uint64_t))
{
	add(c, (struct page_column){
		       .name = name, .kind = kind_for(max), .nr = nr, .of_item = of_item});
}

static void add_rows(struct page_columns *c, const struct page_out *o, const char *name,
		     uint64_t max,
		     bool (*of_row)(struct page_out *, const struct page_row *, uint64_t *))
{
	add(c, (struct page_column){
		       .name = name, .kind = kind_for(max), .nr = o->page->nr, .of_row = of_row});
}

static void add_intervals(struct page_columns *c, struct page_intervals *v, const char *name,
			  uint64_t max,
			  uint64_t (*of_interval)(struct page_out *, const struct page_interval *))
{
	add(c, (struct page_column){.name = name,
				    .kind = kind_for(max),
				    .nr = v->nr_shown,
				    .of_interval = of_interval,
				    .intervals = v});
}

void page_columns_plan(struct page_columns *c, const struct page_out *o)
{
	struct page_feed *p = o->page;
	uint64_t nodes = o->tree->tree.nodes.nr, frames = 1;
	bool has_no_cpu = p->nr_without_cpu > 0;

	frames += report_feed_nr_groups(o->feed) +
		  (o->tree->nr_small || o->tree->small_node ? PAGE_NR_SMALL : 0);
	*c = (struct page_columns){0};
	add_items(c, "node_parent", nodes, nodes, parent);
	add_items(c, "node_frame", nodes, frames, frame);
	add_items(c, "stack_node", o->tree->nr_stacks, nodes, stack_node);
	add_items(c, "frame_name", frames, o->strings.strs.nr, name);
	add_items(c, "frame_dso", frames, o->strings.strs.nr, dso);
	add_items(c, "frame_file", frames, o->strings.strs.nr, file);
	add_items(c, "frame_line", frames, UINT32_MAX, line);
	add_items(c, "frame_kind", frames, UINT8_MAX, kind_of);
	if (o->pair_names) {
		add_items(c, "pair_name", frames, o->strings.strs.nr, pair_name);
		add_items(c, "pair_dso", frames, o->strings.strs.nr, pair_dso);
	}
	add_rows(c, o, "dt", p->nr_wide ? PAGE_WIDE : p->max_dt, dt);
	add(c, (struct page_column){
		       .name = "dt_wide", .kind = PAGE_F64, .nr = p->nr_wide, .of_row = dt_wide});
	add_rows(c, o, "stack", o->tree->nr_stacks, stack);
	if (p->differs_thread)
		add_rows(c, o, "thread", p->threads.nr, thread);
	if (p->differs_cpu)
		add_rows(c, o, "cpu", has_no_cpu ? UINT32_MAX : p->max_cpu, cpu);
	if (p->differs_event)
		add_rows(c, o, "event", UINT8_MAX, event);
	if (p->differs_cgroup)
		add_rows(c, o, "cgroup", p->cgroups.strs.nr, cgroup);
	if (p->nr && p->min_weight != p->max_weight)
		add_rows(c, o, "weight", p->max_weight, weight);
	if (p->max_nr > 1)
		add_rows(c, o, "nr", p->max_nr, nr);
	add_intervals(c, &p->intervals, "iv_gap", p->intervals.max_gap, iv_gap);
	add_intervals(c, &p->intervals, "iv_length", p->intervals.max_length, iv_length);
	add_intervals(c, &p->intervals, "iv_lane", p->threads.nr, iv_thread);
	add_intervals(c, &p->intervals, "iv_kind", UINT8_MAX, iv_kind);
	if (p->levels.nr_shown) {
		add_intervals(c, &p->levels, "level_gap", p->levels.max_gap, iv_gap);
		add_intervals(c, &p->levels, "level_length", p->levels.max_length, iv_length);
		add_intervals(c, &p->levels, "level_lane", p->threads.nr, iv_thread);
		add_intervals(c, &p->levels, "level_cpu", has_no_cpu ? UINT32_MAX : p->max_cpu,
			      iv_place);
		add_intervals(c, &p->levels, "level_kind", UINT8_MAX, iv_kind);
	}
	if (p->calls.nr_shown) {
		add_intervals(c, &p->calls, "call_gap", p->calls.max_gap, iv_gap);
		add_intervals(c, &p->calls, "call_length", p->calls.max_length, iv_length);
		add_intervals(c, &p->calls, "call_lane", p->threads.nr, iv_thread);
		add_intervals(c, &p->calls, "call_node", nodes, iv_place);
	}
}

static enum clew_err put_column(struct page_out *o, const struct page_column *c)
{
	unsigned int planes = c->kind == PAGE_F64 ? 1 : c->kind;
	enum clew_err err = CLEW_OK;

	for (unsigned int k = 0; k < planes && c->nr && err == CLEW_OK; k++)
		err = c->of_row      ? put_rows(o, c, k)
		    : c->of_interval ? put_intervals(o, c, k)
				     : put_items(o, c, k);
	return err;
}

uint64_t page_columns_work(const struct page_columns *c)
{
	uint64_t work = 0;

	for (size_t i = 0; i < c->nr; i++)
		work += c->all[i].of_row && c->all[i].nr
			      ? c->all[i].nr * (c->all[i].kind == PAGE_F64 ? 1 : c->all[i].kind)
			      : 0;
	return work;
}

enum clew_err page_columns_put(const struct page_columns *c, struct page_out *o)
{
	enum clew_err err = CLEW_OK;
	uint64_t at = 0;

	for (size_t i = 0; i < c->nr && err == CLEW_OK; i++) {
		const struct page_column *x = &c->all[i];

		buf_fill(&o->bytes, 0, (size_t)(x->at - at));
		err = put_column(o, x);
		at = x->at + x->nr * x->kind;
		if (err == CLEW_OK)
			err = flush(o, 0);
	}
	return err;
}
