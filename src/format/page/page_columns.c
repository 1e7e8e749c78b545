/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "format/page/page_impl.h"

enum { FLUSH_BYTES = 64 << 10 };

static const unsigned int size_of[] =
	{[PAGE_U8] = 1, [PAGE_U16] = 2, [PAGE_U32] = 4, [PAGE_F64] = 8};

const char *page_kind_name(enum page_kind k)
{
	static const char *const names[] = {
		[PAGE_U8] = "u8", [PAGE_U16] = "u16", [PAGE_U32] = "u32", [PAGE_F64] = "f64"};

	return names[k];
}

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

static void put_value(struct page_out *o, enum page_kind kind, uint64_t v)
{
	uint64_t le = htole64(v);
	double d = (double)v;

	if (kind == PAGE_F64) {
		memcpy(&le, &d, sizeof(le));
		le = htole64(le);
	}
	buf_add(&o->bytes, &le, size_of[kind]);
}

static enum clew_err put_rows(struct page_out *o, const struct page_column *c)
{
	enum clew_err err = CLEW_OK;
	size_t n;

	for (uint64_t at = 0; at < o->page->nr && err == CLEW_OK; at += n) {
		n = page_rows_read(o->page, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n; i++)
			put_value(o, c->kind, c->of_row(o, &o->page->rows[i]));
		progress_add(o->progress, n);
		err = flush(o, FLUSH_BYTES);
	}
	return err;
}

/* Times are differences: those above 32 bits are in a column of their own. */
static enum clew_err put_times(struct page_out *o, const struct page_column *c)
{
	uint64_t last = o->page->first;
	enum clew_err err = CLEW_OK;
	size_t n;

	if (!c->nr) {
		progress_add(o->progress, o->page->nr);
		return CLEW_OK;
	}
	for (uint64_t at = 0; at < o->page->nr && err == CLEW_OK; at += n) {
		n = page_rows_read(o->page, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n; i++) {
			uint64_t t = o->page->rows[i].time;
			uint64_t d = t > last ? t - last : 0; /* no time is known yet: 0 */

			last = t > last ? t : last;
			if (c->kind == PAGE_U32)
				put_value(o, PAGE_U32, d < PAGE_WIDE ? d : PAGE_WIDE);
			else if (d >= PAGE_WIDE)
				put_value(o, PAGE_F64, d);
		}
		progress_add(o->progress, n);
		err = flush(o, FLUSH_BYTES);
	}
	return err;
}

static uint64_t thread(const struct page_out *o, const struct page_row *r)
{
	(void)o;
	return r->thread;
}

static uint64_t cpu(const struct page_out *o, const struct page_row *r)
{
	(void)o;
	return r->cpu;
}

static uint64_t stack(const struct page_out *o, const struct page_row *r)
{
	return o->tree->node_of[r->node];
}

static uint64_t event(const struct page_out *o, const struct page_row *r)
{
	(void)o;
	return r->event;
}

static uint64_t cgroup(const struct page_out *o, const struct page_row *r)
{
	(void)o;
	return r->cgroup;
}

static uint64_t weight(const struct page_out *o, const struct page_row *r)
{
	(void)o;
	return r->weight;
}

static enum clew_err put_parents(struct page_out *o, const struct page_column *c)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < c->nr && err == CLEW_OK; i++) {
		put_value(o, c->kind, i ? o->tree->tree.nodes.data[i].parent : 0);
		err = flush(o, FLUSH_BYTES);
	}
	return err;
}

/* Frame 0 is the root's. */
static enum clew_err put_frames(struct page_out *o, const struct page_column *c)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < c->nr && err == CLEW_OK; i++) {
		put_value(o, c->kind, i ? o->tree->tree.nodes.data[i].frame + 1 : 0);
		err = flush(o, FLUSH_BYTES);
	}
	return err;
}

static enum clew_err put_names(struct page_out *o, const struct page_column *c)
{
	for (size_t i = 0; i < c->nr; i++)
		put_value(o, c->kind, i ? o->names[i - 1] : 0);
	return CLEW_OK;
}

static enum clew_err put_dsos(struct page_out *o, const struct page_column *c)
{
	for (size_t i = 0; i < c->nr; i++)
		put_value(o, c->kind, i ? o->dsos[i - 1] : 0);
	return CLEW_OK;
}

static uint8_t kind_of(struct report_frame_text t)
{
	static const char letters[] = {'!', '.', 'k', 'u', 'g', 'H'};
	enum { INLINED = 6, UNNAMED = 0x80 };
	uint8_t kind = 0;

	for (uint8_t i = 0; i < sizeof(letters); i++)
		kind = letters[i] == t.level ? i : kind;
	return (uint8_t)(kind | (t.is_inlined ? 1 << INLINED : 0) | (t.sym ? 0 : UNNAMED));
}

static enum clew_err put_kinds(struct page_out *o, const struct page_column *c)
{
	put_value(o, c->kind, 0);
	for (uint32_t i = 0; i + 1 < c->nr; i++) {
		uint32_t frame = report_feed_group_frame(o->feed, i);

		put_value(o, c->kind, kind_of(report_feed_frame(o->feed, frame)));
	}
	return CLEW_OK;
}

static void add(struct page_columns *c, struct page_column column)
{
	const struct page_column *last = c->nr ? &c->all[c->nr - 1] : NULL;

	if (last)
		column.at = (last->at + last->nr * size_of[last->kind] + 7) & ~7ull;
	c->all[c->nr++] = column;
}

static void add_rows(struct page_columns *c, const struct page_out *o, const char *name,
		     uint64_t max,
		     uint64_t (*of_row)(const struct page_out *, const struct page_row *))
{
	enum page_kind kind = max <= UINT8_MAX  ? PAGE_U8
			    : max <= UINT16_MAX ? PAGE_U16
			    : max <= UINT32_MAX ? PAGE_U32
						: PAGE_F64;

	add(c, (struct page_column){name, kind, o->page->nr, 0, put_rows, of_row});
}

void page_columns_plan(struct page_columns *c, const struct page_out *o)
{
	struct page_feed *p = o->page;
	uint64_t nodes = o->tree->tree.nodes.nr, frames = report_feed_nr_groups(o->feed) + 1ull;
	bool has_no_cpu = p->nr_without_cpu > 0;

	*c = (struct page_columns){0};
	add(c, (struct page_column){"node_parent", PAGE_U32, nodes, 0, put_parents, NULL});
	add(c, (struct page_column){"node_frame", PAGE_U32, nodes, 0, put_frames, NULL});
	add(c, (struct page_column){"frame_name", PAGE_U32, frames, 0, put_names, NULL});
	add(c, (struct page_column){"frame_dso", PAGE_U32, frames, 0, put_dsos, NULL});
	add(c, (struct page_column){"frame_kind", PAGE_U8, frames, 0, put_kinds, NULL});
	add(c, (struct page_column){"dt", PAGE_U32, p->nr, 0, put_times, NULL});
	add(c, (struct page_column){"dt_wide", PAGE_F64, p->nr_wide, 0, put_times, NULL});
	add_rows(c, o, "stack", nodes, stack);
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
}

enum clew_err page_columns_put(const struct page_columns *c, struct page_out *o)
{
	enum clew_err err = CLEW_OK;
	uint64_t at = 0;

	for (size_t i = 0; i < c->nr && err == CLEW_OK; i++) {
		const struct page_column *x = &c->all[i];

		buf_fill(&o->bytes, 0, (size_t)(x->at - at));
		err = x->put(o, x);
		at = x->at + x->nr * size_of[x->kind];
		if (err == CLEW_OK)
			err = flush(o, 0);
	}
	return err;
}
