/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/dwarf_walk.h"

#include <dwarf.h>

#include "elf/dwarf_lines_impl.h"

/** A line table, and the first unit that has it: others may share it. */
struct table {
	struct dwarf_unit *unit;
	uint64_t offset;
};

static bool is_of(const struct table *t, struct dwarf_unit *u)
{
	uint64_t offset;

	return u == t->unit || (u && dwarf_unit_table(u, &offset) && offset == t->offset);
}

/** libdw sorts rows by address; one that ends a sequence has no code. Only code of the table's own
 * units, or rows of many tables could cover the same. */
static bool row_at(struct dwarf_lines *l, const struct table *t, Dwarf_Lines *lines, size_t i,
		   struct dwarf_row *ret)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, i), *next = dwarf_onesrcline(lines, i + 1);
	Dwarf_Addr start, end;
	uint64_t unit_end;
	bool is_end;
	int n;

	if (!line || !next || dwarf_lineendsequence(line, &is_end) || is_end ||
	    dwarf_lineaddr(line, &start) || dwarf_lineaddr(next, &end) || start >= end ||
	    dwarf_lineno(line, &n) || n <= 0 || !is_of(t, dwarf_unit_at(l, start, &unit_end)))
		return false;
	*ret = (struct dwarf_row){start, end < unit_end ? end : unit_end,
				  dwarf_full_path(l, t->unit, dwarf_linesrc(line, NULL, NULL)),
				  (uint32_t)n};
	return ret->file;
}

/** Each table once. */
static bool walk_rows(struct dwarf_lines *l, struct dwarf_unit *u, const struct dwarf_walker *w,
		      struct map_u64 *seen)
{
	struct table t = {.unit = u};
	Dwarf_Lines *lines;
	struct dwarf_row row;
	size_t nr;

	if (!u->has_lines || !dwarf_unit_table(u, &t.offset) || map_u64_get(seen, t.offset) ||
	    !map_u64_put(seen, t.offset, 1) || dwarf_getsrclines(&u->die, &lines, &nr))
		return true;
	for (size_t i = 0; i + 1 < nr; i++) {
		if (row_at(l, &t, lines, i, &row) && !w->row(w->ctx, &row))
			return false;
	}
	return true;
}

/** Without an entry address it is where its first range starts. Spec: DWARF 5, 2.18. */
static bool entry_of(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Addr base, start, end;

	if (!dwarf_entrypc(die, ret))
		return true;
	if (dwarf_ranges(die, 0, &base, &start, &end) <= 0)
		return false;
	*ret = start;
	return true;
}

static bool walk_entries(struct dwarf_lines *l, struct dwarf_unit *u, const struct dwarf_walker *w)
{
	vec_for_each (&u->funcs.funcs, f) {
		struct dwarf_entry e = {.function.is_inlined = f->is_inlined};
		uint64_t end;
		Dwarf_Die die;

		if (!dwarf_offdie(l->dw, f->die, &die) || !entry_of(&die, &e.address) ||
		    !dwarf_unit_at(l, e.address, &end))
			continue;
		dwarf_describe(l, u, &die, &e.function);
		if (f->is_inlined)
			dwarf_describe_call(l, u, &die, &e.call);
		if (!w->entry(w->ctx, &e))
			return false;
	}
	return true;
}

bool dwarf_lines_walk(struct dwarf_lines *l, const struct dwarf_walker *w)
{
	struct map_u64 seen = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < l->units.nr; i++) {
		struct dwarf_unit *u = &l->units.data[i];

		dwarf_unit_read(l, u);
		ok = walk_rows(l, u, w, &seen) && walk_entries(l, u, w);
	}
	map_u64_done(&seen);
	return ok;
}

unsigned int dwarf_lines_version(struct dwarf_lines *l)
{
	unsigned int newest = 0;
	uint64_t offset;
	uint16_t version;
	bool is_64;

	vec_for_each (&l->units, u) {
		struct bytes table;

		if (!dwarf_unit_table(u, &offset))
			continue;
		table = dwarf_table_at(l, offset, &is_64);
		if (bytes_u16(&table, l->is_swapped, &version) && version > newest)
			newest = version;
	}
	return newest;
}
