/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/dwarf_walk.h"
#include "make/dwarf_build.h"
#include "unit/tap.h"

static const uint8_t code[256];

enum { MAX = 300 };

struct opened {
	struct elf_build b;
	struct elf_file f;
	struct dwarf_lines *l;
	uint64_t low;
};

static void open_shape(struct opened *o, struct dwarf_shape shape)
{
	uint16_t text;

	*o = (struct opened){.b = {.base = 0x10000}};
	text = elf_build_section(&o->b, ".text", SHT_PROGBITS, SHF_ALLOC, code, sizeof(code));
	o->low = shape.low = elf_build_addr(&o->b, text);
	shape.size = sizeof(code);
	dwarf_build(&o->b, &shape);
	elf_build_finish(&o->b);
	if (!elf_file_open(&o->f, o->b.file.data, o->b.file.nr, NULL))
		o->l = dwarf_lines_open(&o->f, NULL);
}

static void close_shape(struct opened *o)
{
	dwarf_lines_free(o->l);
	elf_file_done(&o->f);
	elf_build_done(&o->b);
}

static void test_inlined(void)
{
	struct dwarf_line r[MAX];
	struct opened o;

	open_shape(&o, (struct dwarf_shape){.depth = 2});
	CHECK(o.l, "a file with DWARF");
	CHECK_EQ(dwarf_lines_find(o.l, o.low + 33, r, MAX), 3,
		 "two inlined calls and their function");
	CHECK(r[0].is_inlined && r[0].line == 3 && !strcmp(r[0].file, "/src/a.c"),
	      "the innermost has the line of the address");
	CHECK_STR(r[0].name, "_ZN2ns6calleeEi", "and the linkage name");
	CHECK(r[1].is_inlined && r[1].line == 102, "the next one the line of the call in it");
	CHECK(!r[2].is_inlined && r[2].line == 101 && !strcmp(r[2].name, "outer"),
	      "the last is the function");
	CHECK_EQ(dwarf_lines_find(o.l, o.low + 254, r, MAX), 2, "after the inner call");
	CHECK_EQ(dwarf_lines_find(o.l, o.low + 255, r, MAX), 1, "after both");
	CHECK_EQ(dwarf_lines_find(o.l, o.low + 256, r, MAX), 0, "after the unit");
	CHECK_EQ(dwarf_lines_find(o.l, o.low - 1, r, MAX), 0, "before it");
	CHECK_EQ(dwarf_lines_find(o.l, o.low + 33, r, 1), 1, "no more than asked for");
	CHECK_EQ(dwarf_lines_find(o.l, o.low + 33, r, 0), 0, "not even one");
	close_shape(&o);
}

static void test_depth(void)
{
	struct dwarf_line r[MAX];
	struct opened o;
	size_t nr;

	open_shape(&o, (struct dwarf_shape){.depth = 100});
	CHECK_EQ(dwarf_lines_find(o.l, o.low, r, MAX), 101, "100 levels");
	close_shape(&o);
	open_shape(&o, (struct dwarf_shape){.depth = 200 * 1000});
	nr = o.l ? dwarf_lines_find(o.l, o.low, r, MAX) : 0;
	CHECK(nr <= 256, "200,000 levels end somewhere");
	close_shape(&o);
	open_shape(&o, (struct dwarf_shape){.depth = 2, .is_cyclic = true});
	CHECK(o.l && dwarf_lines_find(o.l, o.low, r, MAX) == 3 && !r[0].name,
	      "an origin that is its own has no name");
	close_shape(&o);
}

struct walked {
	size_t nr_rows, nr_entries, max_rows;
	struct dwarf_row first, last;
	struct dwarf_entry entry; /* the last */
	bool is_named;
};

static bool take_row(void *ctx, const struct dwarf_row *row)
{
	struct walked *w = ctx;

	if (!w->nr_rows++)
		w->first = *row;
	w->last = *row;
	return w->nr_rows != w->max_rows;
}

static bool take_entry(void *ctx, const struct dwarf_entry *e)
{
	struct walked *w = ctx;

	w->nr_entries++;
	w->entry = *e;
	w->is_named |= e->function.name != NULL;
	return true;
}

static void test_walk(void)
{
	struct walked w = {0};
	struct dwarf_walker walker = {take_row, take_entry, &w};
	struct opened o;

	open_shape(&o, (struct dwarf_shape){.depth = 2});
	CHECK(dwarf_lines_walk(o.l, &walker), "walked");
	CHECK(w.nr_rows == 16 && w.first.start == o.low && w.first.end == o.low + 16 &&
		      w.first.line == 1 && !strcmp(w.first.file, "/src/a.c"),
	      "rows with their code");
	CHECK(w.last.line == 16 && w.last.end == o.low + 256, "up to the end of the unit");
	CHECK(w.nr_entries == 3 && w.entry.address == o.low && w.entry.function.is_inlined &&
		      w.entry.call.line == 102,
	      "a function, and the copies that were inlined");
	CHECK_STR(w.entry.function.name, "_ZN2ns6calleeEi", "with its linkage name");
	CHECK_EQ(dwarf_lines_version(o.l), 4, "the version of the line table");
	w = (struct walked){.max_rows = 3};
	CHECK(!dwarf_lines_walk(o.l, &walker) && w.nr_rows == 3 && !w.nr_entries,
	      "ended by who takes them");
	close_shape(&o);
}

static void test_shared_table(void)
{
	struct walked w = {0};
	struct dwarf_walker walker = {take_row, take_entry, &w};
	struct opened o;

	open_shape(&o, (struct dwarf_shape){.depth = 2, .shared = 96});
	CHECK(dwarf_lines_walk(o.l, &walker) && w.nr_rows == 16 && w.last.line == 16 &&
		      w.last.end == o.low + 256,
	      "units that share a line table: rows of each, once");
	close_shape(&o);
}

static size_t walk_damaged(struct dwarf_lines *l)
{
	struct walked w = {0};
	struct dwarf_walker walker = {take_row, take_entry, &w};

	dwarf_lines_version(l);
	dwarf_lines_walk(l, &walker);
	return w.nr_rows + w.nr_entries;
}

static void test_damaged(void)
{
	struct dwarf_line r[MAX];
	struct opened o;
	size_t nr_found = 0;
	uint8_t *copy;

	open_shape(&o, (struct dwarf_shape){.depth = 3});
	copy = malloc(o.b.file.nr);
	for (size_t i = sizeof(Elf64_Ehdr); i < o.b.file.nr; i++) {
		struct elf_file f = {0};
		struct dwarf_lines *l = NULL;

		memcpy(copy, o.b.file.data, o.b.file.nr);
		copy[i] ^= (uint8_t)(1 << i % 8);
		if (!elf_file_open(&f, copy, o.b.file.nr, NULL))
			l = dwarf_lines_open(&f, NULL);
		if (l)
			nr_found += dwarf_lines_find(l, o.low, r, MAX) + walk_damaged(l);
		dwarf_lines_free(l);
		elf_file_done(&f);
	}
	CHECK(nr_found > 0, "one bit of each byte turned over");
	free(copy);
	close_shape(&o);
}

int main(void)
{
	test_inlined();
	test_depth();
	test_walk();
	test_shared_table();
	test_damaged();
	return tap_done();
}
