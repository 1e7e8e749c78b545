/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_plt.h"

#include "base/buf.h"

struct plt {
	const struct elf_file *f;
	Elf_Data *relocs, *dynsyms;
	size_t nr_relocs;
	size_t strings; /* section index of the names */
	bool is_rela;
	uint64_t offset, entry_bytes;
};

/** The entry before the first function's, and each function's. */
static uint64_t header_bytes(uint16_t machine, uint64_t entry)
{
	switch (machine) {
	case EM_ARM:
		return 20;
	case EM_AARCH64:
		return 32;
	default:
		return entry;
	}
}

static uint64_t entry_bytes(uint16_t machine, uint64_t entry)
{
	switch (machine) {
	case EM_ARM:
		return 12;
	case EM_AARCH64:
		return 16;
	default:
		return entry;
	}
}

static bool open_plt(const struct elf_file *f, struct plt *ret)
{
	struct elf_section relocs, plt, dynsym;
	struct plt p = {.f = f};
	size_t reloc_bytes;

	p.is_rela = elf_file_section(f, ".rela.plt", &relocs);
	if (!p.is_rela && !elf_file_section(f, ".rel.plt", &relocs))
		return false;
	if (!elf_file_section(f, ".dynsym", &dynsym) ||
	    relocs.h.sh_link != elf_ndxscn(dynsym.scn) || !elf_file_section(f, ".plt", &plt) ||
	    plt.h.sh_type == SHT_NOBITS)
		return false;
	reloc_bytes = gelf_fsize(f->elf, p.is_rela ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	p.relocs = elf_getdata(relocs.scn, NULL);
	p.dynsyms = elf_getdata(dynsym.scn, NULL);
	if (!p.relocs || !p.dynsyms || !reloc_bytes)
		return false;
	p.nr_relocs = p.relocs->d_size / reloc_bytes;
	p.strings = dynsym.h.sh_link;
	p.entry_bytes = entry_bytes(f->machine, plt.h.sh_entsize);
	p.offset = plt.h.sh_offset + header_bytes(f->machine, plt.h.sh_entsize);
	*ret = p;
	return true;
}

static bool symbol_of(const struct plt *p, size_t i, const char **ret_name)
{
	GElf_Rela rela;
	GElf_Rel rel;
	GElf_Sym s;
	uint64_t info;

	if (p->is_rela) {
		if (!gelf_getrela(p->relocs, (int)i, &rela))
			return false;
		info = rela.r_info;
	} else {
		if (!gelf_getrel(p->relocs, (int)i, &rel))
			return false;
		info = rel.r_info;
	}
	if (!gelf_getsym(p->dynsyms, (int)GELF_R_SYM(info), &s))
		return false;
	*ret_name = elf_strptr(p->f->elf, p->strings, s.st_name);
	return *ret_name != NULL;
}

static bool add_entry(struct sym_table *t, const struct plt *p, uint64_t offset, const char *name)
{
	struct sym s = {
		.start = offset, .end = offset + p->entry_bytes, .is_own = 1, .type = STT_FUNC};
	size_t len = strlen(name);

	if (!buf_reserve(&t->own, len + 5) || t->own.nr + len + 5 >= UINT32_MAX)
		return false;
	s.name = (uint32_t)t->own.nr;
	buf_add(&t->own, name, len);
	buf_add(&t->own, "@plt", 5);
	return sym_table_add(t, &s, STB_GLOBAL);
}

bool elf_plt_collect(struct sym_table *t, const struct elf_file *f)
{
	struct plt p;
	const char *name;

	if (!open_plt(f, &p))
		return true;
	for (size_t i = 0; i < p.nr_relocs; i++) {
		if (symbol_of(&p, i, &name) &&
		    !add_entry(t, &p, p.offset + i * p.entry_bytes, name))
			return false;
	}
	return true;
}
