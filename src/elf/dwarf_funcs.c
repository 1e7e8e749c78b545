/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/dwarf_funcs.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

enum {
	MAX_DEPTH = 256,
	MAX_FUNCS = 4 * 1024 * 1024,
	MAX_RANGES_EACH = 4096,
	MAX_RANGES = 4 * 1024 * 1024
};

/** A range before ranges are made disjoint. */
struct raw {
	uint64_t start, end;
	uint32_t func;
	uint32_t order; /* of its DIE: a callee comes after its caller */
};

struct reader {
	struct dwarf_funcs *f;
	struct {
		VEC(struct raw);
	} raws;
	size_t max_ranges, max_funcs;
	Dwarf_Die stack[MAX_DEPTH];
	uint32_t caller[MAX_DEPTH]; /* innermost function around the DIEs of that level */
};

static bool add_ranges(struct reader *r, Dwarf_Die *die, uint32_t func)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	for (int n = 0; n < MAX_RANGES_EACH && r->raws.nr < r->max_ranges; n++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			return true;
		if (start < end &&
		    !vec_push(&r->raws, (struct raw){start, end, func, (uint32_t)r->raws.nr}))
			return false;
	}
	return true;
}

static bool add_func(struct reader *r, Dwarf_Die *die, int depth, int tag, uint32_t *ret)
{
	size_t nr_raws = r->raws.nr;
	struct dwarf_func n = {.die = dwarf_dieoffset(die),
			       .caller = r->caller[depth],
			       .is_inlined = tag == DW_TAG_inlined_subroutine};

	if (!n.is_inlined)
		n.caller = DWARF_NO_FUNC;
	*ret = r->caller[depth];
	if (r->f->funcs.nr >= r->max_funcs)
		return true;
	if (!add_ranges(r, die, (uint32_t)r->f->funcs.nr))
		return false;
	if (r->raws.nr == nr_raws) /* a declaration, or the abstract form of an inlined function */
		return true;
	*ret = (uint32_t)r->f->funcs.nr;
	return vec_push(&r->f->funcs, n);
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_compile_unit:
		return true;
	default:
		return false;
	}
}

/** Depth first, without recursion: the tree's depth is the file's choice. */
static bool walk(struct reader *r, Dwarf_Die *unit)
{
	int depth = 0;

	if (dwarf_child(unit, &r->stack[0]) != 0)
		return true;
	r->caller[0] = DWARF_NO_FUNC;
	while (depth >= 0) {
		Dwarf_Die *die = &r->stack[depth];
		int tag = dwarf_tag(die);
		uint32_t func = r->caller[depth];

		if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
		    !add_func(r, die, depth, tag, &func))
			return false;
		if (may_hold_functions(tag) && depth + 1 < MAX_DEPTH &&
		    dwarf_child(die, &r->stack[depth + 1]) == 0) {
			r->caller[++depth] = func;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&r->stack[depth], &r->stack[depth]) != 0)
			depth--;
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool emit(struct dwarf_funcs *f, uint64_t start, uint64_t end, uint32_t func)
{
	struct dwarf_func_range *last = f->ranges.nr ? &f->ranges.data[f->ranges.nr - 1] : NULL;

	if (start >= end)
		return true;
	if (last && last->end == start && last->func == func) {
		last->end = end;
		return true;
	}
	return vec_push(&f->ranges, (struct dwarf_func_range){start, end, func});
}

/** Sweep: what starts later is inside what is open, up to the limit of nesting. */
static bool make_disjoint(struct dwarf_funcs *f, struct raw *raws, size_t nr)
{
	struct raw open[MAX_DEPTH];
	size_t depth = 0;
	uint64_t at = 0;

	if (nr)
		qsort(raws, nr, sizeof(*raws), by_start);
	for (size_t i = 0; i <= nr; i++) {
		uint64_t next = i < nr ? raws[i].start : UINT64_MAX;

		while (depth && open[depth - 1].end <= next) {
			if (!emit(f, at, open[depth - 1].end, open[depth - 1].func))
				return false;
			if (open[depth - 1].end > at)
				at = open[depth - 1].end;
			depth--;
		}
		if (depth && !emit(f, at, next, open[depth - 1].func))
			return false;
		at = next;
		if (i < nr && depth < MAX_DEPTH)
			open[depth++] = raws[i];
	}
	return true;
}

/** @p bytes in equal parts for functions and ranges; vectors may be twice as large as what is in
 * them. */
static void set_limits(struct reader *r, uint64_t bytes)
{
	uint64_t funcs = bytes / 4 / sizeof(struct dwarf_func);
	uint64_t ranges = bytes / 4 / (sizeof(struct raw) + 2 * sizeof(struct dwarf_func_range));

	r->max_funcs = funcs < MAX_FUNCS ? (size_t)funcs : MAX_FUNCS;
	r->max_ranges = ranges < MAX_RANGES ? (size_t)ranges : MAX_RANGES;
}

bool dwarf_funcs_read(struct dwarf_funcs *f, Dwarf_Die *unit, uint64_t max_bytes)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	bool ok = r != NULL;

	if (ok) {
		r->f = f;
		set_limits(r, max_bytes);
		ok = walk(r, unit) && make_disjoint(f, r->raws.data, r->raws.nr);
		vec_done(&r->raws);
	}
	mem_free(r);
	return ok;
}

void dwarf_funcs_done(struct dwarf_funcs *f)
{
	vec_done(&f->funcs);
	vec_done(&f->ranges);
}

uint32_t dwarf_funcs_find(const struct dwarf_funcs *f, uint64_t addr)
{
	size_t at = search_first(f->ranges.nr, i, f->ranges.data[i].end > addr);

	if (at < f->ranges.nr && f->ranges.data[at].start <= addr)
		return f->ranges.data[at].func;
	return DWARF_NO_FUNC;
}
