/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "elf/dwarf_discriminator.h"
#include "elf/dwarf_lines_impl.h"

enum {
	MAX_UNITS = 1024 * 1024,
	MAX_RANGES = 16 * 1024 * 1024,
	MAX_LEVELS = 256,
	/* Of libdw 0.188 to 0.192, measured: a compile unit; a row of a line table, of which there
	 * may be one a byte, while the table is read, and once it is. */
	UNIT_BYTES = 512,
	ROW_BYTES_READING = 112,
	ROW_BYTES = 48,
	/* An entry of a list of files, in the table and beside its path. */
	FILE_LEAST = 4,
	FILE_BYTES = 40,
	AT_GNU_DISCRIMINATOR = 0x2136, /* of an inlined call; dwarf.h does not name it */
};

bool dwarf_has_info(const struct elf_file *f)
{
	struct elf_section s;

	return f->elf && elf_file_section(f, ".debug_info", &s) && s.h.sh_type != SHT_NOBITS;
}

static int by_start(const void *a, const void *b)
{
	const struct dwarf_unit_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static bool charge(struct dwarf_lines *l, uint64_t bytes, const char *what)
{
	if (!budget_take_for(l->budget, bytes, what, l->name))
		return false;
	l->charged += bytes;
	return true;
}

/** Before a vector grows to twice its size. */
#define CHARGE_GROWTH(l, v) \
 ((v)->nr < (v)->cap ||     \
  charge((l), ((v)->cap ? (v)->cap : 8) * sizeof(*(v)->data), "the compile units of"))

static bool add_unit(struct dwarf_lines *l, const Dwarf_Die *die)
{
	Dwarf_Die copy = *die;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (l->ranges.nr < MAX_RANGES &&
	       (at = dwarf_ranges(&copy, at, &base, &start, &end)) > 0) {
		/* Code that the linker threw away is left at 0. */
		if (!start || start >= end)
			continue;
		if (!CHARGE_GROWTH(l, &l->ranges) ||
		    !vec_push(&l->ranges,
			      (struct dwarf_unit_range){start, end, (uint32_t)l->units.nr}))
			return false;
	}
	return charge(l, UNIT_BYTES, "the compile units of") && CHARGE_GROWTH(l, &l->units) &&
	       vec_push(&l->units, (struct dwarf_unit){.die = copy});
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

#define TABLE_MAX ((uint64_t)1 << 48) /* more than any budget */

/** The longest text in @p b, which may hold other things, too. */
static uint64_t longest_text(struct bytes b)
{
	uint64_t most = 0;

	while (bytes_left(&b)) {
		const uint8_t *nul = memchr(b.pos, '\0', bytes_left(&b));
		size_t n = nul ? (size_t)(nul - b.pos) : bytes_left(&b);

		most = n > most ? n : most;
		bytes_skip(&b, n + (nul != NULL));
	}
	return most;
}

/** As libdw sees it, which has unpacked it by now. */
static struct bytes section_of(const struct elf_file *f, const char *name, const char *old_name)
{
	struct elf_section s;
	Elf_Data *data = NULL;

	if (elf_file_section(f, name, &s) || elf_file_section(f, old_name, &s))
		data = elf_rawdata(s.scn, NULL);
	return data && data->d_buf ? bytes_of(data->d_buf, data->d_size) : (struct bytes){0};
}

struct dwarf_lines *dwarf_lines_open(struct elf_file *f, struct elf_file *alt)
{
	struct dwarf_lines *l;

	if (dwarf_has_info(f) &&
	    !(elf_file_charge_debug(f) && (!alt || elf_file_charge_debug(alt))))
		return NULL;
	l = mem_zalloc(sizeof(*l));
	if (!l)
		return NULL;
	l->budget = f->budget;
	l->name = f->name;
	l->is_swapped =
		(f->data[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	l->dw = dwarf_has_info(f) ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
	if (l->dw && alt && (l->alt = dwarf_begin_elf(alt->elf, DWARF_C_READ, NULL)))
		dwarf_setalt(l->dw, l->alt);
	l->line_section = section_of(f, ".debug_line", ".zdebug_line");
	l->longest_line_str = longest_text(section_of(f, ".debug_line_str", ".zdebug_line_str"));
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
	map_u64_done(&l->tables);
	arena_done(&l->text);
	dwarf_end(l->dw);
	dwarf_end(l->alt);
	budget_give(l->budget, l->charged);
	mem_free(l);
}

struct bytes dwarf_table_at(const struct dwarf_lines *l, uint64_t offset, bool *ret_is_64)
{
	struct bytes b = l->line_section, table = {0};
	uint64_t bytes;
	uint32_t word;

	if (offset > bytes_left(&b) || !bytes_skip(&b, offset) ||
	    !bytes_u32(&b, l->is_swapped, &word))
		return table;
	bytes = word;
	*ret_is_64 = word == UINT32_MAX;
	if (*ret_is_64 && !bytes_u64(&b, l->is_swapped, &bytes))
		return table;
	bytes_take(&b, bytes < bytes_left(&b) ? (size_t)bytes : bytes_left(&b), &table);
	return table;
}

/** What libdw makes of the list of files: a path of directory and name for each, of which there may
 * be one every few bytes. Spec: DWARF 5, 6.2.4. */
static uint64_t file_bytes(struct dwarf_lines *l, struct bytes table, bool is_64)
{
	uint64_t bytes, text;
	uint16_t version;
	uint32_t word;

	if (!bytes_u16(&table, l->is_swapped, &version) ||
	    (version >= 5 && !bytes_skip(&table, 2)) ||
	    !(is_64 ? bytes_u64(&table, l->is_swapped, &bytes)
		    : bytes_u32(&table, l->is_swapped, &word)))
		return 0;
	bytes = is_64 ? bytes : word;
	if (bytes < bytes_left(&table))
		table.end = table.pos + bytes;
	text = longest_text(table);
	if (version >= 5 && l->longest_line_str > text)
		text = l->longest_line_str;
	if (__builtin_mul_overflow(bytes_left(&table) / FILE_LEAST, FILE_BYTES + 2 * text,
				   &bytes) ||
	    bytes > TABLE_MAX)
		return TABLE_MAX;
	return bytes;
}

/** Let libdw read the unit's line table, which it keeps. @return false: there is no room for it. */
static bool read_table(struct dwarf_lines *l, struct dwarf_unit *u, uint64_t offset)
{
	bool is_64 = false;
	struct bytes table = dwarf_table_at(l, offset, &is_64);
	uint64_t bytes = bytes_left(&table) * (uint64_t)ROW_BYTES_READING, kept = 0, files;
	Dwarf_Lines *lines;
	size_t nr;

	files = file_bytes(l, table, is_64);
	if (!charge(l, bytes + files, "a line table of"))
		return false;
	if (!dwarf_getsrclines(&u->die, &lines, &nr))
		kept = nr * ROW_BYTES;
	if (kept < bytes) {
		budget_give(l->budget, bytes - kept);
		l->charged -= bytes - kept;
	}
	return true;
}

bool dwarf_unit_table(struct dwarf_unit *u, uint64_t *ret_offset)
{
	Dwarf_Attribute mem;
	Dwarf_Word offset;

	if (dwarf_formudata(dwarf_attr(&u->die, DW_AT_stmt_list, &mem), &offset))
		return false;
	*ret_offset = offset;
	return true;
}

/** May libdw be asked for the unit's lines? Units may share a table. */
static bool has_lines(struct dwarf_lines *l, struct dwarf_unit *u)
{
	uint64_t offset, *seen;
	bool ok;

	if (!l->budget || !dwarf_unit_table(u, &offset))
		return true;
	seen = map_u64_get(&l->tables, offset);
	if (seen)
		return *seen;
	ok = read_table(l, u, offset);
	return map_u64_put(&l->tables, offset, ok) && ok;
}

/** The functions of a unit, as far as half of what is left of the budget holds them. */
static void read_funcs(struct dwarf_lines *l, struct dwarf_unit *u)
{
	uint64_t bytes;

	if (!dwarf_funcs_read(&u->funcs, &u->die, budget_left(l->budget) / 2)) {
		dwarf_funcs_done(&u->funcs);
		return;
	}
	bytes = u->funcs.funcs.cap * sizeof(*u->funcs.funcs.data) +
		u->funcs.ranges.cap * sizeof(*u->funcs.ranges.data);
	if (!charge(l, bytes, "the functions of a compile unit of"))
		dwarf_funcs_done(&u->funcs);
}

/** rustc and others name the LLVM that they use. */
static bool is_llvm(Dwarf_Die *unit)
{
	Dwarf_Attribute mem;
	const char *by = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &mem));

	return by && (strstr(by, "clang") || strstr(by, "LLVM"));
}

void dwarf_unit_read(struct dwarf_lines *l, struct dwarf_unit *u)
{
	Dwarf_Attribute mem;

	if (u->is_read)
		return;
	u->is_read = true;
	u->dir = dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &mem));
	u->is_llvm = is_llvm(&u->die);
	u->has_lines = has_lines(l, u);
	read_funcs(l, u);
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_lines *l, uint64_t addr, uint64_t *ret_end)
{
	size_t after = search_first(l->ranges.nr, i, l->ranges.data[i].start > addr);
	const struct dwarf_unit_range *r = after ? &l->ranges.data[after - 1] : NULL;

	if (!r || addr >= r->end)
		return NULL;
	*ret_end = after < l->ranges.nr && r[1].start < r->end ? r[1].start : r->end;
	return &l->units.data[r->unit];
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

const char *dwarf_full_path(struct dwarf_lines *l, struct dwarf_unit *u, const char *path)
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

static void set_discriminator(const struct dwarf_unit *u, uint32_t d, struct dwarf_line *ret)
{
	uint32_t factor = u->is_llvm ? dwarf_packed_number(dwarf_packed_rest(d)) : 0;

	ret->discriminator = u->is_llvm ? dwarf_packed_number(d) : d;
	ret->copies = factor ? factor : 1;
}

static void place_of_address(struct dwarf_lines *l, struct dwarf_unit *u, uint64_t addr,
			     struct dwarf_line *ret)
{
	Dwarf_Line *line = u->has_lines ? dwarf_getsrc_die(&u->die, addr) : NULL;
	unsigned int d;
	int n;

	if (!line)
		return;
	ret->file = dwarf_full_path(l, u, dwarf_linesrc(line, NULL, NULL));
	if (!dwarf_lineno(line, &n) && n > 0)
		ret->line = (uint32_t)n;
	if (!dwarf_linecol(line, &n) && n > 0)
		ret->column = (uint32_t)n;
	if (!dwarf_linediscriminator(line, &d))
		set_discriminator(u, d, ret);
}

void dwarf_describe_call(struct dwarf_lines *l, struct dwarf_unit *u, Dwarf_Die *die,
			 struct dwarf_line *ret)
{
	Dwarf_Files *files;
	size_t nr_files;
	uint32_t file = number_of(die, DW_AT_call_file);

	if (u->has_lines && !dwarf_getsrcfiles(&u->die, &files, &nr_files) && file < nr_files)
		ret->file = dwarf_full_path(l, u, dwarf_filesrc(files, file, NULL, NULL));
	ret->line = number_of(die, DW_AT_call_line);
	ret->column = number_of(die, DW_AT_call_column);
	set_discriminator(u, number_of(die, AT_GNU_DISCRIMINATOR), ret);
}

/* Of a copy, what its origin says. The list of files is that of the unit at hand, as the table of
 * another is not charged. */
static void place_of_declaration(struct dwarf_lines *l, struct dwarf_unit *u, Dwarf_Die *die,
				 struct dwarf_line *ret)
{
	Dwarf_Attribute mem;
	Dwarf_Attribute *a = dwarf_attr_integrate(die, DW_AT_decl_line, &mem);
	Dwarf_Files *files;
	size_t nr_files;
	Dwarf_Word v;

	if (a && !dwarf_formudata(a, &v) && v <= UINT32_MAX)
		ret->decl_line = (uint32_t)v;
	a = dwarf_attr_integrate(die, DW_AT_decl_file, &mem);
	if (!a || a->cu != die->cu || !u->has_lines || dwarf_formudata(a, &v) ||
	    dwarf_getsrcfiles(&u->die, &files, &nr_files) || v >= nr_files)
		return;
	ret->decl_file = dwarf_full_path(l, u, dwarf_filesrc(files, v, NULL, NULL));
}

void dwarf_describe(struct dwarf_lines *l, struct dwarf_unit *u, Dwarf_Die *die,
		    struct dwarf_line *ret)
{
	ret->name = name_of(die);
	place_of_declaration(l, u, die, ret);
}

size_t dwarf_lines_find(struct dwarf_lines *l, uint64_t vaddr, struct dwarf_line *ret, size_t max)
{
	uint64_t end;
	struct dwarf_unit *u = dwarf_unit_at(l, vaddr, &end);
	struct dwarf_line at = {.copies = 1};
	uint32_t func;
	size_t nr = 0;

	if (!u || !max)
		return 0;
	dwarf_unit_read(l, u);
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
		dwarf_describe(l, u, &die, &at);
		at.is_inlined = f->is_inlined;
		ret[nr++] = at;
		at = (struct dwarf_line){.copies = 1};
		if (f->is_inlined)
			dwarf_describe_call(l, u, &die, &at);
		func = f->caller;
	}
	return nr;
}
