/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map_u64.h"
#include "base/mem.h"
#include "base/vec.h"
#include "elf/dwarf_funcs.h"

enum { MAX_UNITS = 1024 * 1024, MAX_RANGES = 16 * 1024 * 1024, MAX_LEVELS = 256 };

struct unit {
	Dwarf_Die die;
	const char *dir; /* of the compiler run */
	bool is_read;
	struct dwarf_funcs funcs;
};

struct unit_range {
	uint64_t start, end;
	uint32_t unit;
};

struct dwarf_lines {
	Dwarf *dw, *alt;
	struct {
		VEC(struct unit);
	} units;
	struct {
		VEC(struct unit_range);
	} ranges; /* sorted by start */
	struct arena text;
	struct map_u64 full_paths; /* relative path's address -> with its directory */
};

bool dwarf_has_info(const struct elf_file *f)
{
	struct elf_section s;

	return f->elf && elf_file_section(f, ".debug_info", &s) && s.h.sh_type != SHT_NOBITS;
}

static int by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static bool add_unit(struct dwarf_lines *l, const Dwarf_Die *die)
{
	Dwarf_Die copy = *die;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (l->ranges.nr < MAX_RANGES &&
	       (at = dwarf_ranges(&copy, at, &base, &start, &end)) > 0) {
		/* Code that the linker threw away is left at 0. */
		if (start && start < end &&
		    !vec_push(&l->ranges, (struct unit_range){start, end, (uint32_t)l->units.nr}))
			return false;
	}
	return vec_push(&l->units, (struct unit){.die = copy});
}

static bool read_units(struct dwarf_lines *l)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (l->units.nr < MAX_UNITS &&
	       dwarf_get_units(l->dw, cu, &cu, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_compile && !add_unit(l, &die))
			return false;
	}
	if (l->ranges.nr)
		qsort(l->ranges.data, l->ranges.nr, sizeof(*l->ranges.data), by_start);
	return true;
}

struct dwarf_lines *dwarf_lines_open(const struct elf_file *f, const struct elf_file *alt)
{
	struct dwarf_lines *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->dw = dwarf_has_info(f) ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
	if (l->dw && alt && (l->alt = dwarf_begin_elf(alt->elf, DWARF_C_READ, NULL)))
		dwarf_setalt(l->dw, l->alt);
	if (l->dw && read_units(l))
		return l;
	dwarf_lines_free(l);
	return NULL;
}

void dwarf_lines_free(struct dwarf_lines *l)
{
	if (!l)
		return;
	vec_for_each (&l->units, u)
		dwarf_funcs_done(&u->funcs);
	vec_done(&l->units);
	vec_done(&l->ranges);
	map_u64_done(&l->full_paths);
	arena_done(&l->text);
	dwarf_end(l->dw);
	dwarf_end(l->alt);
	mem_free(l);
}

/** The unit whose range starts last at or before @p addr and covers it. */
static struct unit *unit_at(struct dwarf_lines *l, uint64_t addr)
{
	size_t lo = 0, hi = l->ranges.nr;
	struct unit *u;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->ranges.data[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= l->ranges.data[lo - 1].end)
		return NULL;
	u = &l->units.data[l->ranges.data[lo - 1].unit];
	if (!u->is_read) {
		Dwarf_Attribute mem;

		u->is_read = true;
		u->dir = dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &mem));
		if (!dwarf_funcs_read(&u->funcs, &u->die))
			dwarf_funcs_done(&u->funcs);
	}
	return u;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	Dwarf_Attribute *a = dwarf_attr_integrate(die, DW_AT_linkage_name, &mem);

	if (!a)
		a = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &mem);
	return a ? dwarf_formstring(a) : dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute mem;
	Dwarf_Word v;

	if (dwarf_formudata(dwarf_attr(die, attr, &mem), &v))
		return 0;
	return v <= UINT32_MAX ? (uint32_t)v : 0;
}

/** libdw leaves relative paths of DWARF 5 as they are. */
static const char *full_path(struct dwarf_lines *l, struct unit *u, const char *path)
{
	uint64_t *at = map_u64_get(&l->full_paths, (uintptr_t)path);
	size_t dir_bytes, path_bytes;
	char *full;

	if (at)
		return (const char *)(uintptr_t)*at;
	if (!path || path[0] == '/' || !u->dir)
		return path;
	dir_bytes = strlen(u->dir);
	path_bytes = strlen(path);
	full = arena_alloc(&l->text, dir_bytes + path_bytes + 2);
	if (!full || !map_u64_put(&l->full_paths, (uintptr_t)path, (uintptr_t)full))
		return path;
	memcpy(full, u->dir, dir_bytes);
	full[dir_bytes] = '/';
	memcpy(full + dir_bytes + 1, path, path_bytes + 1);
	return full;
}

static void place_of_address(struct dwarf_lines *l, struct unit *u, uint64_t addr,
			     struct dwarf_line *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, addr);
	int n;

	if (!line)
		return;
	ret->file = full_path(l, u, dwarf_linesrc(line, NULL, NULL));
	if (!dwarf_lineno(line, &n) && n > 0)
		ret->line = (uint32_t)n;
	if (!dwarf_linecol(line, &n) && n > 0)
		ret->column = (uint32_t)n;
}

static void place_of_call(struct dwarf_lines *l, struct unit *u, Dwarf_Die *die,
			  struct dwarf_line *ret)
{
	Dwarf_Files *files;
	size_t nr_files;
	uint32_t file = number_of(die, DW_AT_call_file);

	if (!dwarf_getsrcfiles(&u->die, &files, &nr_files) && file < nr_files)
		ret->file = full_path(l, u, dwarf_filesrc(files, file, NULL, NULL));
	ret->line = number_of(die, DW_AT_call_line);
	ret->column = number_of(die, DW_AT_call_column);
}

size_t dwarf_lines_find(struct dwarf_lines *l, uint64_t vaddr, struct dwarf_line *ret, size_t max)
{
	struct unit *u = unit_at(l, vaddr);
	struct dwarf_line at = {0};
	uint32_t func;
	size_t nr = 0;

	if (!u || !max)
		return 0;
	place_of_address(l, u, vaddr, &at);
	func = dwarf_funcs_find(&u->funcs, vaddr);
	if (func == DWARF_NO_FUNC) {
		ret[0] = at;
		return at.file != NULL;
	}
	/* A caller's index is below its callee's, so this ends. */
	while (func != DWARF_NO_FUNC && nr < max && nr < MAX_LEVELS) {
		const struct dwarf_func *f = &u->funcs.funcs.data[func];
		Dwarf_Die die;

		if (!dwarf_offdie(l->dw, f->die, &die))
			break;
		at.name = name_of(&die);
		at.is_inlined = f->is_inlined;
		ret[nr++] = at;
		at = (struct dwarf_line){0};
		if (f->is_inlined)
			place_of_call(l, u, &die, &at);
		func = f->caller;
	}
	return nr;
}
