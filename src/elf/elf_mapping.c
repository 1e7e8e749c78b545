/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_mapping.h"

#include <stdlib.h>
#include <string.h>

/** The name's letter; 0: no mapping symbol. Its bytes are compared within the section. */
static char letter_of(struct bytes names, uint32_t offset)
{
	const char *s = (const char *)names.pos + offset;

	if (offset >= bytes_left(&names) || bytes_left(&names) - offset < 3)
		return 0;
	return elf_mapping_kind(s);
}

static int by_address(const void *a, const void *b)
{
	const struct elf_mapping *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static bool open_names(const struct elf_file *f, struct elf_section *table, struct bytes *ret)
{
	struct elf_section names;

	return f->elf && (f->machine == EM_ARM || f->machine == EM_AARCH64) &&
	       elf_file_section(f, ".symtab", table) && table->h.sh_type == SHT_SYMTAB &&
	       elf_file_section_at(f, table->h.sh_link, &names) && elf_file_bytes(f, &names, ret);
}

size_t elf_mappings(const struct elf_file *f, uint64_t start, uint64_t end, struct elf_mapping *ret,
		    size_t max)
{
	struct elf_mapping before = {0};
	struct elf_section table;
	struct bytes names;
	Elf_Data *data;
	size_t nr = 1; /* [0] is for the one before */
	GElf_Sym s;

	if (!max || !open_names(f, &table, &names) || !(data = elf_getdata(table.scn, NULL)))
		return 0;
	for (int i = 0; gelf_getsym(data, i, &s); i++) {
		char kind = letter_of(names, s.st_name);

		if (!kind || s.st_value >= end)
			continue;
		if (s.st_value > start && nr < max)
			ret[nr++] = (struct elf_mapping){s.st_value, kind};
		else if (s.st_value <= start && (!before.kind || s.st_value >= before.at))
			before = (struct elf_mapping){s.st_value, kind};
	}
	qsort(ret + 1, nr - 1, sizeof(*ret), by_address);
	if (!before.kind) {
		memmove(ret, ret + 1, (nr - 1) * sizeof(*ret));
		return nr - 1;
	}
	ret[0] = before;
	return nr;
}
