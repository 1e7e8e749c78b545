/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/demangle.h"
#include "elf/elf_main.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "record/event/event_addr.h"
#include "record/event/event_symbol.h"

enum { PATH_BYTES = 4096, MAX_SYMBOL = 4096 };

/** An open file, and its symbols by file offset. */
struct code_file {
	struct event_parse *p;
	const char *path;
	struct os_map map;
	struct elf_file elf;
	struct addr_symbols found;
};

/* --- The path --- */

static enum clew_err real_path(struct event_parse *p, struct addr_filter *f)
{
	char name[PATH_BYTES], real[PATH_BYTES];
	int err;

	snprintf(name, sizeof(name), "%.*s", (int)f->file.n, f->file.s);
	err = f->file.n < sizeof(name) ? os_real_path(name, real, sizeof(real)) : -ENAMETOOLONG;
	if (err)
		return event_fail(p, f->file.s, CLEW_OS, "the filter's file '%s': %s", name,
				  strerror(-err));
	if (!os_is_regular(real))
		return event_fail(p, f->file.s, CLEW_INVALID,
				  "the filter's file '%s' is not a program or library", name);
	if (strpbrk(real, " \t\n,"))
		return event_fail(p, f->file.s, CLEW_INVALID,
				  "the kernel takes no path with a blank or comma, such as '%s'; "
				  "make a link of another name: ln",
				  real);
	f->path = event_copy(p, real, strlen(real));
	return f->path ? CLEW_OK : event_no_memory(p);
}

/* --- Symbols --- */

static bool is_code(const struct code_file *c, uint64_t offset)
{
	for (size_t i = 0; i < c->elf.nr_segments; i++) {
		const struct elf_segment *s = &c->elf.segments[i];

		if (s->is_load && s->is_code && offset >= s->offset &&
		    offset - s->offset < s->file_bytes)
			return true;
	}
	return false;
}

/* @p is_exact: as the table has it; else as clew prints it. */
static bool has_name(const struct sym_table *t, const struct sym *s, const char *name,
		     bool is_exact)
{
	clew_auto(buf_done) struct buf shown = {0};
	const char *link_name = sym_name(t, s);

	if (!name || is_exact)
		return !name || !strcmp(link_name, name);
	return demangle(link_name, &shown) &&
	       sym_name_is(buf_cstr(&shown), link_name, name, strlen(name));
}

static bool take_named(struct code_file *c, const struct sym_table *t, const char *name,
		       bool is_exact)
{
	vec_for_each (&t->added, n) {
		struct addr_symbol s = {n->s.start, n->s.end, n->bind != STB_LOCAL};

		if (!has_name(t, &n->s, name, is_exact) || !is_code(c, s.start))
			continue;
		if (!vec_push(&c->found, s))
			return false;
	}
	return true;
}

/* The only "main" there is, of a program without its name. */
static bool take_main(struct code_file *c, const char *name)
{
	uint64_t address, offset;

	if (c->found.nr || !name || strcmp(name, "main") != 0 ||
	    !elf_main_address(&c->elf, &address) || !elf_file_offset(&c->elf, address, &offset))
		return true;
	return vec_push(&c->found, ((struct addr_symbol){offset, offset, true}));
}

/* The symbols of that name; NULL: all. A symbol table has each name of an address until it is
 * finished, and after that the ends. */
static bool find_named(struct code_file *c, struct sym_table *t, const char *name)
{
	c->found.nr = 0;
	if (!take_named(c, t, name, true) || (!c->found.nr && !take_named(c, t, name, false)) ||
	    !take_main(c, name))
		return false;
	if (!sym_table_finish(t, SYM_FILL_ELF))
		return false;
	vec_for_each (&c->found, s) {
		const struct sym *covers = s->end > s->start ? NULL : sym_table_find(t, s->start);

		if (covers && covers->start == s->start)
			s->end = covers->end;
	}
	return true;
}

static enum clew_err read_symbols(struct code_file *c, const char *name, struct event_word at)
{
	struct sym_table t;
	enum clew_err err;

	sym_table_init(&t, NULL, 0);
	err = elf_sym_collect(&t, &c->elf, &c->elf, ELF_SYM_OFFSETS, NULL);
	if (err == CLEW_OK && !find_named(c, &t, name))
		err = CLEW_NO_MEMORY;
	sym_table_done(&t);
	if (err == CLEW_NO_MEMORY)
		return event_no_memory(c->p);
	if (c->found.nr)
		return CLEW_OK;
	return event_no_symbol(c->p, &c->elf, c->path, at);
}

static enum clew_err look_up(void *ctx, const struct addr_place *place, struct addr_symbol *ret)
{
	struct code_file *c = ctx;
	char name[MAX_SYMBOL];
	enum clew_err err;

	if (place->symbol.n >= sizeof(name))
		return event_fail(c->p, place->symbol.s, CLEW_INVALID,
				  "longer than a symbol may be");
	snprintf(name, sizeof(name), "%.*s", (int)place->symbol.n, place->symbol.s);
	err = read_symbols(c, name, place->symbol);
	return err == CLEW_OK ? event_addr_choose(c->p, place, &c->found, c->path, ret) : err;
}

/* As perf does: from the first symbol to the last. */
static enum clew_err take_whole(struct code_file *c, struct addr_filter *f)
{
	enum clew_err err = read_symbols(c, NULL, f->start.symbol);
	uint64_t end = 0;

	if (err != CLEW_OK)
		return err;
	f->from = UINT64_MAX;
	vec_for_each (&c->found, s) {
		f->from = s->start < f->from ? s->start : f->from;
		end = s->end > end ? s->end : end;
	}
	f->bytes = end - f->from;
	return CLEW_OK;
}

/* --- A defect of the kernel --- */

/*
 * A range that begins where a mapping of the file ends is matched with that mapping, too, and
 * becomes a range of size 0: no trace. Text segments mostly follow a read-only segment that way.
 * Spec: Linux 6.12 to 7.3, kernel/events/core.c, "perf_addr_filter_match": filter->offset may be
 * equal to the end of the mapping.
 */
static bool is_at_end_of_segment(const struct code_file *c, uint64_t offset)
{
	uint64_t page = os_page_bytes();

	for (size_t i = 0; i < c->elf.nr_segments; i++) {
		const struct elf_segment *s = &c->elf.segments[i];

		if (s->is_load && s->file_bytes &&
		    align_up(s->offset + s->file_bytes, page) == offset)
			return true;
	}
	return false;
}

static bool has_fixed_width(const struct elf_file *f)
{
	return f->machine == EM_AARCH64;
}

static void avoid_segment_start(struct code_file *c, struct addr_filter *f, const char **note)
{
	uint64_t step = has_fixed_width(&c->elf) ? 4 : 1;
	char text[PATH_BYTES + 256];

	if (!f->bytes || f->bytes <= step || !is_code(c, f->from) ||
	    !is_at_end_of_segment(c, f->from))
		return;
	f->from += step;
	f->bytes -= step;
	snprintf(
		text, sizeof(text),
		"--filter: the range in '%s' begins at 0x%llx, %llu byte%s later than asked for: at "
		"the first byte of a segment this kernel would trace nothing",
		f->path, (unsigned long long)f->from, (unsigned long long)step,
		step == 1 ? "" : "s");
	*note = event_copy(c->p, text, strlen(text));
}

enum clew_err event_addr_in_file(struct event_parse *p, struct addr_filter *f, const char **note)
{
	struct code_file c = {.p = p};
	struct clew_diag diag = {0};
	enum clew_err err = real_path(p, f);
	bool needs_symbols = f->start.symbol.n || f->end.symbol.n;

	if (err != CLEW_OK)
		return err;
	c.path = f->path;
	err = os_map_file(c.path, &c.map, &diag);
	if (err == CLEW_OK)
		err = elf_file_open(&c.elf, c.map.data, c.map.size, &diag);
	if (err != CLEW_OK && needs_symbols)
		err = event_not_readable(p, f->file.s, c.path, &diag);
	else if (f->is_whole)
		err = take_whole(&c, f);
	else
		err = event_addr_range(p, f, look_up, &c); /* with numbers alone, of any file */
	if (err == CLEW_OK)
		avoid_segment_start(&c, f, note);
	vec_done(&c.found);
	elf_file_done(&c.elf);
	os_map_done(&c.map);
	return err;
}
