/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/search.h"
#include "base/u64.h"
#include "format/export/callgrind.h"
#include "image/dso_source.h"

/*
 * Jumps inside of functions that samples are in, for views of assembly: they cost nothing.
 * Spec: Valgrind manual, "Callgrind Format Specification": jump=, jcnd=, jfi=, jfn=; a target
 * position has as many parts as other positions, and the line after it is where the jump is.
 */

/* A symbol that samples are in, at linked addresses. */
struct span {
	uint64_t start, end;
	const struct dso *dso;
	const struct dso_sym *sym;
	uint8_t level;
};

struct spans {
	VEC(struct span);
};

/* --- where a jump is --- */

static int compare_ids(const struct dso_build_id *a, const struct dso_build_id *b)
{
	return a->size != b->size ? a->size - b->size : memcmp(a->bytes, b->bytes, a->size);
}

static int compare_spans(const void *x, const void *y)
{
	const struct span *a = x, *b = y;
	const struct dso *i = a->dso, *j = b->dso;
	int order = i == j ? 0 : strcmp(dso_path(i), dso_path(j));

	if (!order && i != j) {
		struct dso_build_id p = dso_file_id(i), q = dso_file_id(j);

		order = compare_ids(&p, &q);
	}
	return order ? order : u64_compare(a->start, b->start);
}

static bool add_span(struct spans *s, struct map_u64 *seen, const struct export_place *p)
{
	struct span span = {.dso = p->dso, .sym = p->sym, .level = p->level};
	size_t n;

	if (!p->dso || !p->sym)
		return true;
	if (!map_u64_number(seen, (uintptr_t)p->sym, s->nr, SIZE_MAX, &n))
		return false;
	if (n < s->nr)
		return true;
	/* One without an address in the file is empty. */
	if (dso_link_address(p->dso, p->sym->start, &span.start))
		span.end = span.start + (p->sym->end - p->sym->start);
	return vec_push(s, span);
}

static bool make_spans(struct spans *s, const struct export_tables *t)
{
	struct map_u64 seen = {0};
	bool ok = true;

	vec_for_each (&t->places, p)
		ok = ok && add_span(s, &seen, p);
	map_u64_done(&seen);
	if (ok && s->nr)
		qsort(s->data, s->nr, sizeof(*s->data), compare_spans);
	return ok;
}

static int compare_to_jump(const struct span *s, const struct export_jump *j, uint64_t address)
{
	struct dso_build_id id = dso_file_id(s->dso);
	int order = strcmp(dso_path(s->dso), j->path);

	order = order ? order : compare_ids(&id, &j->build_id);
	return order ? order : u64_compare(s->start, address);
}

/* The last that begins at or before @p address, if it reaches it. */
static const struct span *span_at(const struct spans *s, const struct export_jump *j,
				  uint64_t address)
{
	size_t after = search_first(s->nr, i, compare_to_jump(&s->data[i], j, address) > 0);
	const struct span *last = after ? &s->data[after - 1] : NULL;

	if (!last || compare_to_jump(last, j, last->start) || address >= last->end)
		return NULL;
	return last;
}

/* The innermost frame at @p address. @p ret: EXPORT_NONE: no function with samples is there. */
static enum clew_err frame_at(struct export_tables *t, const struct spans *s,
			      const struct export_jump *j, uint64_t address, uint32_t *ret)
{
	const struct span *span = span_at(s, j, address);
	struct dso_line lines[DSO_MAX_LEVELS];
	struct ana_loc loc = {.lines = lines};
	enum clew_err err;
	uint32_t place;

	*ret = EXPORT_NONE;
	if (!span)
		return CLEW_OK;
	loc.dso = span->dso;
	loc.sym = span->sym;
	loc.level = span->level;
	loc.rel = span->sym->start + (address - span->start);
	loc.nr_lines = (uint32_t)dso_find_linked_lines(loc.dso, address, lines, DSO_MAX_LEVELS);
	err = export_place_of(t, &loc, &place);
	if (err == CLEW_OK)
		*ret = t->places.data[place].first_frame;
	return err == CLEW_LIMIT ? CLEW_OK : err;
}

static bool place_jump(struct export *x, const struct spans *s, const struct export_jump *j)
{
	struct export_tables *t = export_tables_mut(x);
	struct callgrind *c = export_state(x);
	struct callgrind_jump jump = {0, 0, j->nr, j->nr_run, j->is_conditional};

	if (frame_at(t, s, j, j->from, &jump.from) != CLEW_OK ||
	    frame_at(t, s, j, j->to, &jump.to) != CLEW_OK)
		return false;
	return jump.from == EXPORT_NONE || jump.to == EXPORT_NONE || vec_push(&c->jumps, jump);
}

static int in_order(const void *a, const void *b, void *tables)
{
	const struct callgrind_jump *i = a, *j = b;
	const struct export_tables *t = tables;
	const struct export_frame *f = &t->frames.data[i->from], *g = &t->frames.data[j->from];
	int order = u64_compare(f->function, g->function);

	if (!order)
		order = u64_compare(f->file, g->file);
	if (!order)
		order = u64_compare(t->places.data[f->place].address,
				    t->places.data[g->place].address);
	f = &t->frames.data[i->to];
	g = &t->frames.data[j->to];
	return order ? order
		     : u64_compare(t->places.data[f->place].address,
				   t->places.data[g->place].address);
}

bool callgrind_place_jumps(struct export *x)
{
	const struct export_jumps *jumps = export_opts(x)->jumps;
	struct callgrind *c = export_state(x);
	struct spans spans = {0};
	bool ok = !jumps || !jumps->nr || make_spans(&spans, export_tables(x));

	for (size_t i = 0; ok && spans.nr && i < jumps->nr; i++)
		ok = place_jump(x, &spans, &jumps->data[i]);
	if (ok && c->jumps.nr)
		qsort_r(c->jumps.data, c->jumps.nr, sizeof(*c->jumps.data), in_order,
			export_tables_mut(x));
	vec_done(&spans);
	return ok;
}

/* --- the file --- */

static void put_position(struct export *x, const struct export_frame *f)
{
	callgrind_put_address(x, &export_tables(x)->places.data[f->place]);
	buf_printf(export_out(x), "%u\n", f->line);
}

static void put_jump(struct export *x, const struct callgrind_jump *j)
{
	const struct export_tables *t = export_tables(x);
	const struct export_frame *from = &t->frames.data[j->from], *to = &t->frames.data[j->to];
	struct buf *out = export_out(x);

	callgrind_use_file(x, from->file, from->file != t->functions.data[from->function].file);
	if (to->file != from->file)
		callgrind_put_file(x, "jfi", to->file);
	if (to->function != from->function)
		callgrind_put_function(x, "jfn", to->function);
	buf_printf(out, j->is_conditional ? "jcnd=%llu/" : "jump=%llu ", (unsigned long long)j->nr);
	if (j->is_conditional)
		buf_printf(out, "%llu ", (unsigned long long)j->nr_run);
	put_position(x, to);
	put_position(x, from);
}

enum clew_err callgrind_put_jumps(struct export *x)
{
	struct callgrind *c = export_state(x);
	uint32_t function = EXPORT_NONE;
	enum clew_err err = CLEW_OK;

	vec_for_each (&c->jumps, j) {
		uint32_t of = export_tables(x)->frames.data[j->from].function;

		if (err != CLEW_OK)
			break;
		if (of != function)
			callgrind_begin_function(x, of);
		function = of;
		put_jump(x, j);
		err = export_flush(x);
	}
	return err;
}
