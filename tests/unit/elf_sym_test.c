/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_sym.h"

#include "elf/demangle.h"
#include "elf/elf_mapping.h"
#include "make/elf_build.h"
#include "unit/tap.h"

static const uint8_t code[4096];

static const char *name_at(const struct sym_table *t, uint64_t addr)
{
	const struct sym *s = sym_table_find(t, addr);

	return s ? sym_name(t, s) : NULL;
}

/** Collect from a finished file; an empty table where it cannot be read. */
static enum clew_err load(const struct elf_build *b, struct elf_file *f, struct sym_table *t)
{
	enum clew_err err = elf_file_open(f, b->file.data, b->file.nr, NULL);

	sym_table_init(t, NULL, 0);
	if (!err)
		err = elf_sym_collect(t, f, f, ELF_SYM_OFFSETS, NULL);
	if (!err)
		sym_table_finish(t, SYM_FILL_ELF);
	return err;
}

static void test_kinds(void)
{
	struct elf_build b = {.base = 0x400000};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, 4096);
	uint16_t note = elf_build_section(&b, ".gnu.warning", SHT_PROGBITS, 0, code, 16);
	uint16_t init = elf_build_section(&b, ".init", SHT_PROGBITS, SHF_ALLOC, code, 256);
	uint64_t at = elf_build_addr(&b, text), off = at - 0x400000;
	/* clang-format off */
	const struct elf_build_sym syms[] = {
		{"function", at, 16, STB_GLOBAL, STT_FUNC, text},
		{"ifunc", at + 16, 16, STB_GLOBAL, STT_GNU_IFUNC, text},
		{"object", at + 32, 16, STB_GLOBAL, STT_OBJECT, text},
		{"label", at + 48, 16, STB_LOCAL, STT_NOTYPE, text},
		{"undefined", at + 64, 16, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
		{"absolute", at + 64, 16, STB_GLOBAL, STT_FUNC, SHN_ABS},
		{"not_loaded", at + 64, 16, STB_GLOBAL, STT_FUNC, note},
		{"section", at + 64, 16, STB_LOCAL, STT_SECTION, text},
		{"tls", at + 64, 16, STB_GLOBAL, STT_TLS, text},
		{"no_such_section", at + 64, 16, STB_GLOBAL, STT_FUNC, 200},
		{"label_in_init", elf_build_addr(&b, init), 16, STB_LOCAL, STT_NOTYPE, init},
	};
	/* clang-format on */
	struct elf_file f = {0};
	struct sym_table t;

	elf_build_syms(&b, SHT_SYMTAB, syms, sizeof(syms) / sizeof(*syms));
	elf_build_finish(&b);
	CHECK_EQ(load(&b, &f, &t), CLEW_OK, "a file with every kind of symbol");
	CHECK_STR(name_at(&t, off), "function", "a function, by file offset");
	CHECK_STR(name_at(&t, off + 31), "ifunc", "an indirect function");
	CHECK_STR(name_at(&t, off + 32), "object", "an object");
	CHECK_STR(name_at(&t, off + 50), "label", "a label in .text");
	CHECK_STR(name_at(&t, off + 64), NULL, "nothing that is undefined, absolute, unloaded");
	CHECK_STR(name_at(&t, elf_build_addr(&b, init) - 0x400000), NULL,
		  "no label outside of text and data");
	sym_table_done(&t);
	elf_file_done(&f);
	elf_build_done(&b);
}

/* musl's, stripped: setjmp has no size, and the trampoline after it no symbol. */
static void test_trampoline(void)
{
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct elf_build b = {.base = 0x400000};
	uint8_t text_bytes[256] = {0};
	struct elf_file f = {0};
	struct sym_table t;
	uint16_t text;
	uint64_t at, off;

	memcpy(text_bytes + 44, sigreturn, sizeof(sigreturn));
	memcpy(text_bytes + 128, sigreturn, sizeof(sigreturn));
	memcpy(text_bytes + 200, sigreturn, sizeof(sigreturn));
	text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, text_bytes,
				 sizeof(text_bytes));
	at = elf_build_addr(&b, text);
	off = at - 0x400000;
	{
		const struct elf_build_sym syms[] = {
			{"setjmp",       at,       0,  STB_GLOBAL, STT_FUNC,   text},
			{"after",        at + 53,  0,  STB_GLOBAL, STT_FUNC,   text},
			{"__restore_rt", at + 128, 0,  STB_LOCAL,  STT_NOTYPE, text},
			{"sized",        at + 192, 32, STB_GLOBAL, STT_FUNC,   text},
		};

		elf_build_syms(&b, SHT_SYMTAB, syms, sizeof(syms) / sizeof(*syms));
	}
	elf_build_finish(&b);
	CHECK_EQ(load(&b, &f, &t), CLEW_OK, "a file with signal trampolines");
	CHECK_STR(name_at(&t, off + 43), "setjmp", "a function without size");
	CHECK_STR(name_at(&t, off + 44), NULL, "does not reach into a trampoline");
	CHECK_STR(name_at(&t, off + 52), NULL, "nor beyond");
	CHECK_STR(name_at(&t, off + 53), "after", "the next one starts right there");
	CHECK_STR(name_at(&t, off + 127), "after", "and reaches to a symbol, as ever");
	CHECK_STR(name_at(&t, off + 128), "__restore_rt", "one with a symbol has its name");
	CHECK_STR(name_at(&t, off + 200), "sized", "a size counts");
	sym_table_done(&t);
	elf_file_done(&f);
	elf_build_done(&b);
}

static void test_plt(void)
{
	static const struct elf_build_sym dyn[] = {
		{"read",    0,    0,  STB_GLOBAL, STT_FUNC, SHN_UNDEF},
		{"_Znwm",   0,    0,  STB_GLOBAL, STT_FUNC, SHN_UNDEF},
		{"defined", 0x40, 16, STB_GLOBAL, STT_FUNC, 1        },
	};
	static const Elf64_Rela relocs[] = {
		{.r_info = ELF64_R_INFO(2, R_X86_64_JUMP_SLOT)},
		{.r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT)},
		{.r_info = ELF64_R_INFO(99, R_X86_64_JUMP_SLOT)},
	};
	struct elf_build b = {0};
	struct elf_file f = {0};
	struct sym_table t;
	struct buf shown = {0};
	uint16_t plt, rela, dynsym;
	uint64_t off;

	elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, 256);
	plt = elf_build_section(&b, ".plt", SHT_PROGBITS, SHF_ALLOC, code, 64);
	b.sections[plt].sh_entsize = 16;
	dynsym = elf_build_syms(&b, SHT_DYNSYM, dyn, 3);
	rela = elf_build_section(&b, ".rela.plt", SHT_RELA, SHF_ALLOC, relocs, sizeof(relocs));
	b.sections[rela].sh_link = dynsym;
	b.sections[rela].sh_entsize = sizeof(*relocs);
	elf_build_finish(&b);
	off = b.sections[plt].sh_offset;
	CHECK_EQ(load(&b, &f, &t), CLEW_OK, "a file with a PLT and no .symtab");
	CHECK_STR(name_at(&t, off), NULL, "the first entry belongs to the linker");
	CHECK_STR(name_at(&t, off + 16), "_Znwm@plt", "names come from the relocations");
	CHECK_STR(name_at(&t, off + 32), "read@plt", "in the order of the entries");
	CHECK_STR(name_at(&t, off + 48), NULL, "a relocation against no symbol");
	CHECK(demangle("_Znwm@plt", &shown) && !strcmp(buf_cstr(&shown), "operator new@plt"),
	      "@plt survives demangling");
	buf_done(&shown);
	sym_table_done(&t);
	elf_file_done(&f);
	elf_build_done(&b);
}

static void test_arm(void)
{
	struct elf_build b = {.machine = EM_AARCH64};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, 256);
	uint64_t at = elf_build_addr(&b, text);
	const struct elf_build_sym syms[] = {
		{"$x",    at,      0, STB_LOCAL, STT_NOTYPE, text},
		{"$d.12", at + 8,  0, STB_LOCAL, STT_NOTYPE, text},
		{"$kept", at + 16, 0, STB_LOCAL, STT_NOTYPE, text},
	};
	struct elf_mapping m[4];
	struct elf_file f = {0};
	struct sym_table t;

	elf_build_syms(&b, SHT_SYMTAB, syms, 3);
	elf_build_finish(&b);
	CHECK(load(&b, &f, &t) == CLEW_OK && t.nr == 1, "Arm's mapping symbols are no names");
	CHECK_EQ(elf_mappings(&f, at + 4, at + 64, m, 4), 2, "but say what is code");
	CHECK(m[0].at == at && m[0].kind == 'x' && m[1].at == at + 8 && m[1].kind == 'd',
	      "the one before the range, and those in it");
	CHECK_EQ(elf_mappings(&f, at - 8, at + 8, m, 4), 1, "none before: those in it");
	CHECK_EQ(elf_mappings(&f, at + 9, at + 64, m, 1), 1, "as many as there is room for");
	CHECK(m[0].kind == 'd', "of these the one that holds at the start");
	sym_table_done(&t);
	elf_file_done(&f);
	elf_build_done(&b);
}

static void test_demangle(void)
{
	static const struct {
		const char *in, *want; /* NULL: not mangled */
	} rows[] = {
		{"_ZN2ns3FooC1Ei",                                 "ns::Foo::Foo"             },
		{"_ZNK2ns1AImE3runEm",                             "ns::A<unsigned long>::run"},
		{"_ZN4core3fmt9Formatter3new17h0123456789abcdefE", "core::fmt::Formatter::new"},
		{"_RNvCskwGfYPst2Cb_3foo3bar",                     "foo::bar"                 },
		{"camlStdlib__List__map_456",                      "Stdlib.List.map_456"      },
		{"camlFoo__$2b_1",                                 "Foo.+_1"                  },
		{"camlfoo",					NULL                       },
		{"main",					   NULL                       },
		{"_Z",					     NULL                       },
		{"_start",					 NULL                       },
		{"",					       NULL                       },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = {0};
		bool ok = demangle(rows[i].in, &b);

		CHECK_STR(ok ? buf_cstr(&b) : NULL, rows[i].want, "demangle \"%s\"", rows[i].in);
		buf_done(&b);
	}
}

/** Thousands of sections of notes that share one megabyte: looking at each would take a minute. */
static void test_overlapping_notes(void)
{
	enum { NR = 30000, NOTES_BYTES = 1 << 20 };
	const size_t notes = sizeof(Elf64_Ehdr) + NR * sizeof(Elf64_Shdr);
	Elf64_Ehdr eh = {.e_ident = ELFMAG,
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = NR};
	const Elf64_Shdr sh = {.sh_type = SHT_NOTE, .sh_offset = notes, .sh_size = NOTES_BYTES};
	uint8_t id[ELF_BUILD_ID_MAX];
	struct buf b = {0};
	struct elf_file f;

	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	buf_add(&b, &eh, sizeof(eh));
	buf_fill(&b, '\0', sizeof(sh));
	for (int i = 1; i < NR; i++)
		buf_add(&b, &sh, sizeof(sh));
	buf_fill(&b, '\0', NOTES_BYTES);
	CHECK(elf_file_open(&f, b.data, b.nr, NULL) == CLEW_OK && !elf_file_build_id(&f, id),
	      "%d overlapping sections of notes", (int)NR);
	elf_file_done(&f);
	buf_done(&b);
}

/** Each template argument holds the one before twice. */
static void test_endless_name(void)
{
	static const char digits[] = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct buf name = {0}, shown = {0};

	buf_str(&name, "_Z1fISt4pairIiiE");
	for (int i = 0; i < 33; i++)
		buf_printf(&name, "S0_IS%c_S%c_E", digits[i], digits[i]);
	buf_str(&name, "Evv");
	buf_str(&shown, "x");
	CHECK(!demangle(buf_cstr(&name), &shown) && shown.nr == 1,
	      "%zu bytes that stand for %d GiB stay as they are", name.nr, 32 * 12);
	buf_done(&name);
	buf_done(&shown);
}

/** Any cut and any changed byte: an answer or an error, no crash. */
static void test_damaged(void)
{
	struct elf_build b = {.base = 0x400000};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, 64);
	const struct elf_build_sym syms[] = {
		{"function", elf_build_addr(&b, text),     16, STB_GLOBAL, STT_FUNC, text},
		{"other",    elf_build_addr(&b, text) + 8, 16, STB_GLOBAL, STT_FUNC, text},
	};
	static const uint8_t id[20] = {1, 2, 3}, values[] = {0, 1, 0x7f, 0x80, 0xff};
	uint8_t *copy, found[ELF_BUILD_ID_MAX];
	struct elf_build damaged;
	struct elf_file f = {0};
	struct sym_table t;
	size_t nr_ok = 0;

	elf_build_id(&b, id, sizeof(id));
	elf_build_debuglink(&b, "x.debug", 0x12345678);
	elf_build_syms(&b, SHT_SYMTAB, syms, 2);
	elf_build_syms(&b, SHT_DYNSYM, syms, 2);
	elf_build_finish(&b);
	copy = malloc(b.file.nr);
	for (size_t i = 0; i < b.file.nr * sizeof(values) * 2; i++) {
		size_t at = i / sizeof(values) / 2, size = i & 1 ? at : b.file.nr;
		const char *name;
		uint32_t crc;

		if ((i & 1) && i / 2 % sizeof(values))
			continue;
		memcpy(copy, b.file.data, b.file.nr);
		copy[at] = values[i / 2 % sizeof(values)];
		damaged = (struct elf_build){
			.file = {.data = (char *)copy, .nr = size}
                };
		nr_ok += load(&damaged, &f, &t) == CLEW_OK;
		name_at(&t, 0x100);
		if (f.elf) {
			elf_file_build_id(&f, found);
			elf_file_debuglink(&f, &name, &crc);
		}
		sym_table_done(&t);
		elf_file_done(&f);
		f = (struct elf_file){0};
	}
	CHECK(nr_ok > 0, "every cut, and every byte set to five values");
	free(copy);
	elf_build_done(&b);
}

int main(void)
{
	test_kinds();
	test_trampoline();
	test_plt();
	test_arm();
	test_demangle();
	test_endless_name();
	test_overlapping_notes();
	test_damaged();
	return tap_done();
}
