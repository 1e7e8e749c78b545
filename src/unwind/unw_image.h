/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_IMAGE_H
#define UNWIND_UNW_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/bytes.h"
#include "elf/elf_file.h"
#include "unwind/unw_rule.h"

/*
 * What the producers of rows see of a binary: borrowed bytes and where they are linked to.
 */
struct unw_section {
	const uint8_t *bytes; /* NULL: no such section */
	size_t size;
	uint64_t addr; /* link-time address of bytes[0] */
};

/** An executable PT_LOAD. rel = addr - vaddr + offset. */
struct unw_segment {
	uint64_t vaddr, size, offset;
	const uint8_t *bytes; /* size of them, borrowed; NULL: not at hand */
};

enum {
	UNW_MAX_SEGMENTS = 32,
	/* A larger section is not looked at: files may say anything, sparse ones cost nothing. */
	UNW_MAX_SECTION_BYTES = 128 << 20
};

struct unw_image {
	enum unw_arch arch;
	bool is_swapped; /* byte order is not ours */
	bool is_relocatable;
	uint64_t entry; /* e_entry; 0: none */
	struct unw_section sframe, eh_frame, eh_frame_hdr, debug_frame;
	struct unw_section symbols,
		strings; /* Elf64_Sym of .symtab, else of .dynsym; their names */
	struct unw_segment segments[UNW_MAX_SEGMENTS];
	size_t nr_segments;
};

/** @return CLEW_UNSUPPORTED-like for another machine or 32 bits. Sections are found by name, or by
 * PT_GNU_SFRAME / PT_GNU_EH_FRAME where there are no section headers. */
enum clew_err unw_image_of_elf(struct unw_image *ret, const struct elf_file *f);

/** Link-time address to rel; false: in no executable segment. */
bool unw_image_rel(const struct unw_image *i, uint64_t vaddr, uint64_t *ret);

/** Code [vaddr, vaddr + size), in one segment; NULL: not at hand. */
const uint8_t *unw_image_code(const struct unw_image *i, uint64_t vaddr, uint64_t size);
/** And back, by the first segment that holds @p rel. */
bool unw_image_vaddr(const struct unw_image *i, uint64_t rel, uint64_t *ret);

#endif
