/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: elf_seeds DIR: write inputs for elf_fuzz to start from. */
#include <stdio.h>

#include "make/dwarf_build.h"

static const char *dir;

static void seed(const char *name, char reader, const void *data, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f)
		return;
	fputc(reader, f);
	fwrite(data, 1, size, f);
	fclose(f);
}

static void seed_elf(void)
{
	static const uint8_t code[128], id[20] = {1};
	struct elf_build b = {.base = 0x10000};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, sizeof(code));
	uint64_t at = elf_build_addr(&b, text);
	struct elf_build_sym syms[] = {
		{"f", at,     16, STB_GLOBAL, STT_FUNC,   text},
		{"g", at + 8, 4,  STB_WEAK,   STT_FUNC,   text},
		{"h", at + 8, 0,  STB_LOCAL,  STT_NOTYPE, text}
        };

	elf_build_id(&b, id, sizeof(id));
	elf_build_debuglink(&b, "f.debug", 0);
	elf_build_syms(&b, SHT_SYMTAB, syms, 3);
	elf_build_syms(&b, SHT_DYNSYM, syms, 2);
	dwarf_build(&b, &(struct dwarf_shape){.low = at, .size = 128, .depth = 2});
	elf_build_finish(&b);
	seed("symbols", 0, b.file.data, b.file.nr);
	seed("lines", 1, b.file.data, b.file.nr);
	elf_build_done(&b);
}

int main(int argc, char **argv)
{
	static const char kallsyms[] = "ffffffff81000000 T _text\nffffffffc0000000 t f\t[m]\n";
	static const char map[] = "1000 20 JS:~f a.js:1\n1010 20 over\n";
	static const char name[] = "_ZNK2ns1AImE3runEm", rust[] = "_RNvCskwGfYPst2Cb_3foo3bar";
	static const uint32_t dump[] = {0x4a695444, 1, 40,  62, 0, 1, 0, 0,  0, 0, /* LOAD */ 0,
					59,         0, 0,   1,  1, 0, 0, 16, 0, 1, 0,
					1,          0, 'f', 0,  0};

	if (argc < 2)
		return 2;
	dir = argv[1];
	seed_elf();
	seed("kallsyms", 2, kallsyms, sizeof(kallsyms) - 1);
	seed("perf_map", 2, map, sizeof(map) - 1);
	seed("jitdump", 3, dump, sizeof(dump));
	seed("cpp", 4, name, sizeof(name) - 1);
	seed("rust", 4, rust, sizeof(rust) - 1);
	return 0;
}
