/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Everything in src/elf that reads bytes of others. The first byte says which reader gets the rest.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/dwarf_lines.h"
#include "elf/elf_debugdata.h"
#include "elf/elf_sym.h"
#include "elf/jitdump.h"
#include "elf/kallsyms_index.h"
#include "elf/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_LINES = 8, MAX_NAME = 2048 };

static void read_symbols(struct elf_file *f)
{
	struct sym_table t;
	struct buf unpacked = {0};
	const char *name;
	uint32_t crc;
	uint8_t id[ELF_BUILD_ID_MAX];
	struct bytes alt;

	elf_file_build_id(f, id);
	elf_file_debuglink(f, &name, &crc);
	elf_file_debugaltlink(f, &name, &alt);
	elf_debugdata_unpack(f, &unpacked, NULL);
	buf_done(&unpacked);
	sym_table_init(&t, NULL, 0);
	if (!elf_sym_collect(&t, f, f, ELF_SYM_OFFSETS_BOTH, NULL) &&
	    sym_table_finish(&t, SYM_FILL_ELF)) {
		for (uint64_t at = 0; at < 65536; at += 64)
			sym_table_find(&t, at);
	}
	sym_table_done(&t);
}

static void read_lines(struct elf_file *f)
{
	struct dwarf_lines *l = dwarf_lines_open(f, NULL);
	struct dwarf_line lines[MAX_LINES];

	for (uint64_t at = 0; l && at < 0x20000; at += 64)
		dwarf_lines_find(l, at, lines, MAX_LINES);
	dwarf_lines_free(l);
}

static void read_elf(const uint8_t *data, size_t size, void (*then)(struct elf_file *))
{
	uint8_t *copy = mem_alloc(size); /* libelf may write into it */
	struct elf_file f = {0};

	if (copy && size)
		memcpy(copy, data, size);
	if (copy && !elf_file_open(&f, copy, size, NULL))
		then(&f);
	elf_file_done(&f);
	mem_free(copy);
}

/** Where the index takes the text, it and the rest answer as one table does. */
static void read_index(const struct sym_table *all, struct bytes text)
{
	struct kallsyms_index x = {0};
	struct sym_table rest = {0};
	struct intern modules = {0};
	struct kallsyms_info info;

	if (!kallsyms_index_open(&x, &text, "_text", &info) &&
	    !kallsyms_collect(&rest, text, &modules, NULL, &info) &&
	    sym_table_finish(&rest, SYM_FILL_KALLSYMS) &&
	    kallsyms_index_is_apart(&x, &rest, &info)) {
		for (size_t i = 0; i < all->nr; i++) {
			const struct sym *s = &all->syms[i];
			struct kallsyms_line l;
			uint64_t end;

			if (kallsyms_index_find(&x, s->start, &l, &end) ? s->module || s->end != end
									: !s->module)
				abort();
		}
	}
	kallsyms_index_done(&x);
	sym_table_done(&rest);
	intern_done(&modules);
}

static void read_texts(const uint8_t *data, size_t size)
{
	struct sym_table t;
	struct intern modules = {0};
	struct kallsyms_info info;

	sym_table_init(&t, NULL, 0);
	kallsyms_collect(&t, bytes_of(data, size), &modules, "_text", &info);
	sym_table_finish(&t, SYM_FILL_KALLSYMS);
	sym_table_find(&t, 0xffffffff81000000u);
	read_index(&t, bytes_of(data, size));
	sym_table_done(&t);
	intern_done(&modules);
	sym_table_init(&t, NULL, 0);
	perf_map_collect(&t, bytes_of(data, size));
	sym_table_finish(&t, SYM_FILL_LATEST);
	sym_table_find(&t, 0x1000);
	sym_table_done(&t);
}

static void read_jitdump(const uint8_t *data, size_t size)
{
	struct jitdump d;
	struct jitdump_record r;

	if (jitdump_open(&d, bytes_of(data, size), NULL))
		return;
	while (!jitdump_next(&d, &r)) {
		struct jitdump_line line = {0};

		while (r.kind == JITDUMP_DEBUG_INFO && jitdump_next_line(&d, &r, &line))
			;
	}
}

static void read_name(const uint8_t *data, size_t size)
{
	char *name = mem_strndup((const char *)data, size < MAX_NAME ? size : MAX_NAME);
	struct buf shown = {0};

	if (name)
		demangle(name, &shown);
	buf_done(&shown);
	mem_free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 5) {
	case 0:
		read_elf(data + 1, size - 1, read_symbols);
		break;
	case 1:
		read_elf(data + 1, size - 1, read_lines);
		break;
	case 2:
		read_texts(data + 1, size - 1);
		break;
	case 3:
		read_jitdump(data + 1, size - 1);
		break;
	case 4:
		read_name(data + 1, size - 1);
		break;
	}
	return 0;
}
