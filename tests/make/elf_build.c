/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/elf_build.h"

#include <string.h>

enum { ALIGN = 16, HEADERS_BYTES = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) };

static void start(struct elf_build *b)
{
	if (b->nr)
		return;
	buf_fill(&b->file, '\0', HEADERS_BYTES);
	buf_char(&b->names, '\0');
	b->nr = 1; /* section 0 is none */
}

uint16_t elf_build_section(struct elf_build *b, const char *name, uint32_t type, uint64_t flags,
			   const void *data, size_t size)
{
	Elf64_Shdr *h;

	start(b);
	h = &b->sections[b->nr];
	buf_fill(&b->file, '\0', (ALIGN - b->file.nr % ALIGN) % ALIGN);
	*h = (Elf64_Shdr){.sh_name = (uint32_t)b->names.nr,
			  .sh_type = data ? type : SHT_NOBITS,
			  .sh_flags = flags,
			  .sh_offset = b->file.nr,
			  .sh_size = size,
			  .sh_addralign = 1};
	if (flags & SHF_ALLOC)
		h->sh_addr = b->base + h->sh_offset;
	buf_add(&b->names, name, strlen(name) + 1);
	if (data)
		buf_add(&b->file, data, size);
	return (uint16_t)b->nr++;
}

uint16_t elf_build_syms(struct elf_build *b, uint32_t type, const struct elf_build_sym *syms,
			size_t nr)
{
	bool is_dyn = type == SHT_DYNSYM;
	struct buf table = {0}, strings = {0};
	uint64_t flags = is_dyn ? SHF_ALLOC : 0;
	uint16_t index;

	buf_fill(&table, '\0', sizeof(Elf64_Sym));
	buf_char(&strings, '\0');
	for (size_t i = 0; i < nr; i++) {
		Elf64_Sym s = {.st_name = (uint32_t)strings.nr,
			       .st_info = (uint8_t)(syms[i].bind << 4 | syms[i].type),
			       .st_shndx = syms[i].section,
			       .st_value = syms[i].value,
			       .st_size = syms[i].size};

		buf_add(&strings, syms[i].name, strlen(syms[i].name) + 1);
		buf_add(&table, &s, sizeof(s));
	}
	index = elf_build_section(b, is_dyn ? ".dynsym" : ".symtab", type, flags, table.data,
				  table.nr);
	b->sections[index].sh_entsize = sizeof(Elf64_Sym);
	b->sections[index].sh_link = elf_build_section(b, is_dyn ? ".dynstr" : ".strtab",
						       SHT_STRTAB, flags, strings.data, strings.nr);
	buf_done(&table);
	buf_done(&strings);
	return index;
}

void elf_build_id(struct elf_build *b, const uint8_t *id, size_t size)
{
	uint32_t head[4] = {4, (uint32_t)size, NT_GNU_BUILD_ID, 0};
	struct buf note = {0};

	memcpy(&head[3], "GNU", 4);
	buf_add(&note, head, sizeof(head));
	buf_add(&note, id, size);
	elf_build_section(b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note.data, note.nr);
	buf_done(&note);
}

void elf_build_debuglink(struct elf_build *b, const char *name, uint32_t crc)
{
	struct buf link = {0};

	buf_add(&link, name, strlen(name) + 1);
	buf_fill(&link, '\0', (4 - link.nr % 4) % 4);
	for (int i = 0; i < 4; i++)
		buf_char(&link, (char)(crc >> 8 * i));
	elf_build_section(b, ".gnu_debuglink", SHT_PROGBITS, 0, link.data, link.nr);
	buf_done(&link);
}

uint64_t elf_build_addr(const struct elf_build *b, uint16_t section)
{
	return b->sections[section].sh_addr;
}

void elf_build_finish(struct elf_build *b)
{
	Elf64_Phdr ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = b->base};
	Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = b->type ? b->type : ET_DYN,
		.e_machine = b->machine ? b->machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(ph),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr)
        };

	start(b);
	ph.p_filesz = ph.p_memsz = b->file.nr;
	eh.e_shstrndx = elf_build_section(b, ".shstrtab", SHT_STRTAB, 0, "", 0);
	b->sections[eh.e_shstrndx].sh_size = b->names.nr;
	buf_add(&b->file, b->names.data, b->names.nr);
	buf_fill(&b->file, '\0', (ALIGN - b->file.nr % ALIGN) % ALIGN);
	eh.e_shoff = b->file.nr;
	eh.e_shnum = (uint16_t)b->nr;
	buf_add(&b->file, b->sections, b->nr * sizeof(*b->sections));
	memcpy(b->file.data, &eh, sizeof(eh));
	memcpy(b->file.data + sizeof(eh), &ph, sizeof(ph));
}

void elf_build_done(struct elf_build *b)
{
	buf_done(&b->file);
	buf_done(&b->names);
	*b = (struct elf_build){0};
}
