/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <string.h>

#include "image/dso_code_priv.h"

/* Names of a module's functions, out of its own file: where no kallsyms has them. */

static bool add(struct dso *d, const struct elf_file *f, size_t strings, const GElf_Sym *from)
{
	const struct dso_code_section *s = dso_code_section(d->code_image, from->st_shndx);
	const char *name = elf_strptr(f->elf, strings, from->st_name);
	struct sym n = {.is_own = 1, .type = GELF_ST_TYPE(from->st_info)};

	if (!s || !name || n.type != STT_FUNC || from->st_value >= s->size)
		return true;
	n.start = d->load_start + s->start + from->st_value;
	n.end = n.start + from->st_size;
	n.name = sym_table_own_name(&d->table, name, strlen(name));
	return n.name != SYM_NO_NAME && sym_table_add(&d->table, &n, GELF_ST_BIND(from->st_info));
}

static bool add_all(struct dso *d, const struct elf_file *f)
{
	struct elf_section s;
	Elf_Data *data;
	GElf_Sym sym;

	if (!elf_file_section(f, ".symtab", &s) || s.h.sh_type != SHT_SYMTAB)
		return false;
	data = elf_getdata(s.scn, NULL);
	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		if (!add(d, f, s.h.sh_link, &sym))
			return false;
	}
	return data;
}

bool dso_load_module_file(struct dso *d)
{
	struct code_region r;

	dso_find_code(d, CODE_ARM, d->load_start, &r); /* opens the file and lays it out */
	if (!d->code_image || !d->code_image->is_usable)
		return false;
	sym_table_init(&d->table, NULL, 0);
	d->table.budget = d->store->opts.budget;
	if (add_all(d, &d->code.elf) && dso_finish_table(d, SYM_FILL_ELF, d->code.path))
		return true;
	sym_table_done(&d->table);
	return false;
}
