/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MAKE_ELF_BUILD_H
#define MAKE_ELF_BUILD_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { ELF_BUILD_MAX_SECTIONS = 24 };

/**
 * A 64-bit ELF file in memory, section after section. Sections with SHF_ALLOC lie at base + their
 * file offset; one PT_LOAD covers the file. Zeroed but for base = empty.
 */
struct elf_build {
	uint64_t base;
	uint16_t machine; /* 0: x86-64 */
	uint16_t type;    /* 0: ET_DYN */
	struct buf file;  /* starts with room for the headers */
	struct buf names;
	Elf64_Shdr sections[ELF_BUILD_MAX_SECTIONS];
	size_t nr;
};

struct elf_build_sym {
	const char *name;
	uint64_t value, size;
	uint8_t bind, type;
	uint16_t section;
};

/** @return the section's index. @p data NULL: SHT_NOBITS of @p size bytes. */
uint16_t elf_build_section(struct elf_build *b, const char *name, uint32_t type, uint64_t flags,
			   const void *data, size_t size);

/** .symtab and .strtab, or .dynsym and .dynstr. @return the index of the symbols. */
uint16_t elf_build_syms(struct elf_build *b, uint32_t type, const struct elf_build_sym *syms,
			size_t nr);

void elf_build_id(struct elf_build *b, const uint8_t *id, size_t size);
void elf_build_debuglink(struct elf_build *b, const char *name, uint32_t crc);

/** Address of byte 0 of a section with SHF_ALLOC. */
uint64_t elf_build_addr(const struct elf_build *b, uint16_t section);

/** Write headers and section names. The file is b->file until elf_build_done(). */
void elf_build_finish(struct elf_build *b);
void elf_build_done(struct elf_build *b);

#endif
