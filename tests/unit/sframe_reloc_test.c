/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_reloc.h"

#include "make/elf_build.h"
#include "unit/tap.h"
#include "unwind/sframe_write.h"

/* Relocations of .sframe in an object file, and such that cannot be. */

enum { FUNCTIONS = 3, AMD64_ROW_CFA = 8 };

static struct buf section_of(uint8_t version)
{
	const struct sframe_write_opts opts = {.version = version,
					       .abi = SFRAME_ABI_AMD64_ENDIAN_LITTLE};
	const struct unw_rule r = {.cfa = UNW_CFA_REG,
				   .cfa_reg = 7,
				   .cfa_off = AMD64_ROW_CFA,
				   .ra = UNW_AT_CFA,
				   .ra_off = -8};
	struct sframe_writer *w = sframe_writer_new(&opts);
	struct sframe_written n;
	struct buf b = {0};

	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		sframe_writer_begin(w, 0, 16, 0);
		sframe_writer_row(w, 0, &r);
	}
	sframe_writer_finish(w, &b, &n);
	sframe_writer_free(w);
	return b;
}

static void check(uint8_t version, uint64_t type, uint64_t fde_bytes)
{
	static const uint8_t code[64];
	struct elf_build b = {0};
	struct buf bytes = section_of(version);
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, 0, code, sizeof(code));
	uint16_t at = elf_build_section(&b, ".sframe", SHT_PROGBITS, 0, bytes.data, bytes.nr);
	const struct elf_build_sym syms[] = {
		{"f", 0x100, 16, STB_GLOBAL, STT_FUNC, text}
        };
	uint16_t symbols = elf_build_syms(&b, SHT_SYMTAB, syms, 1);
	const Elf64_Rela relas[] = {
		{28,                 ELF64_R_INFO(1,  type),        0   },
		{28 + fde_bytes,     ELF64_R_INFO(1,  type),        0x20},
		{28 + 2 * fde_bytes, ELF64_R_INFO(1,  R_X86_64_64), 0   },
		{bytes.nr - 3,       ELF64_R_INFO(1,  type),        0   },
		{UINT64_MAX,         ELF64_R_INFO(1,  type),        0   },
		{28,                 ELF64_R_INFO(77, type),        0   },
	};
	uint16_t rela = elf_build_section(&b, ".rela.sframe", SHT_RELA, 0, relas, sizeof(relas));
	struct elf_file f = {0};
	struct sframe s;
	struct sframe_function fn[FUNCTIONS];
	uint8_t *copy = (uint8_t *)bytes.data;

	b.sections[rela].sh_link = symbols;
	b.sections[rela].sh_entsize = sizeof(*relas);
	(void)at;
	elf_build_finish(&b);
	CHECK(!elf_file_open(&f, b.file.data, b.file.nr, NULL) &&
		      !sframe_open(&s, &(struct unw_section){copy, bytes.nr, 0}, NULL),
	      "version %u: an object file", version);
	sframe_relocate(&f, &s, copy, bytes.nr);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		sframe_function(&s, i, &fn[i], NULL);
	CHECK_EQ(fn[0].start, 0x100, "the symbol");
	CHECK_EQ(fn[1].start, 0x120, "and its addend");
	CHECK_EQ(fn[2].start, 0, "another kind of relocation is left alone");
	elf_file_done(&f);
	elf_build_done(&b);
	buf_done(&bytes);
}

int main(void)
{
	check(3, R_X86_64_PC64, 16);
	check(2, R_X86_64_PC32, 20);
	return tap_done();
}
