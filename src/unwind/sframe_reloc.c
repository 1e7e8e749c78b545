/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_reloc.h"

#include "unwind/sframe_impl.h"

/* Bytes of a relocation "symbol + addend - place"; 0: another kind. */
static unsigned int pcrel_bytes(enum unw_arch arch, uint64_t type)
{
	switch (arch) {
	case UNW_X86_64:
		return type == R_X86_64_PC64 ? 8 : type == R_X86_64_PC32 ? 4 : 0;
	case UNW_AARCH64:
		return type == R_AARCH64_PREL64 ? 8 : type == R_AARCH64_PREL32 ? 4 : 0;
	case UNW_S390X:
		return type == R_390_PC64 ? 8 : type == R_390_PC32 ? 4 : 0;
	}
	return 0;
}

static void store(uint8_t *p, uint64_t v, unsigned int bytes, bool is_big)
{
	for (unsigned int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (is_big ? bytes - 1 - i : i));
}

static void relocate_one(const struct sframe *s, const GElf_Rela *rela, const GElf_Sym *sym,
			 uint8_t *copy, size_t size)
{
	unsigned int bytes = pcrel_bytes(s->arch, GELF_R_TYPE(rela->r_info));
	bool is_big = sframe_machines[s->abi].is_big;
	uint64_t value = sym->st_value + (uint64_t)rela->r_addend - s->addr - rela->r_offset;

	if (bytes && range_fits(rela->r_offset, bytes, size))
		store(copy + rela->r_offset, value, bytes, is_big);
}

void sframe_relocate(const struct elf_file *f, const struct sframe *s, uint8_t *copy, size_t size)
{
	struct elf_section relas, symbols;
	Elf_Data *data, *sym_data;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!elf_file_section(f, ".rela.sframe", &relas) || relas.h.sh_type != SHT_RELA ||
	    !elf_file_section_at(f, relas.h.sh_link, &symbols))
		return;
	data = elf_getdata(relas.scn, NULL);
	sym_data = elf_getdata(symbols.scn, NULL);
	if (!data || !sym_data || data->d_type != ELF_T_RELA || sym_data->d_type != ELF_T_SYM)
		return;
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		uint64_t index = GELF_R_SYM(rela.r_info);

		if (index <= INT32_MAX && gelf_getsym(sym_data, (int)index, &sym))
			relocate_one(s, &rela, &sym, copy, size);
	}
}
