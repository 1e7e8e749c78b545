/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DWARF_LINES_H
#define ELF_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/** Source lines and inlined calls of one ELF file, by libdw. */
struct dwarf_lines;

/** One level of inlining. Texts live as long as the struct dwarf_lines. */
struct dwarf_line {
	const char *name; /* linkage name, else the source's; NULL: unknown */
	const char *file; /* directory included; NULL: unknown */
	uint32_t line, column;
	uint32_t discriminator; /* of blocks of one line; 0: none */
	uint32_t copies;        /* the compiler multiplied the code by that; LLVM says it */
	const char *decl_file;  /* where the function is declared; NULL: unknown */
	uint32_t decl_line;     /* 0: unknown */
	bool is_inlined;        /* false: the function that contains all of them */
};

/** Does @p f have .debug_info? */
bool dwarf_has_info(const struct elf_file *f);

/**
 * @p f, and @p alt (.gnu_debugaltlink's target, NULL: none), are borrowed until dwarf_lines_free();
 * their bytes must be writable where sections are compressed: libelf unpacks them in place.
 * Reads the list of compile units, nothing else: each one is read when an address in it is asked
 * for. What that takes is charged to f->budget before libdw is asked: a unit for which there is no
 * room has no lines.
 * @return NULL: no DWARF, memory is short, or there is no room for its unpacked sections.
 */
struct dwarf_lines *dwarf_lines_open(struct elf_file *f, struct elf_file *alt);
void dwarf_lines_free(struct dwarf_lines *l);

/**
 * Fill @p ret with the code at link-time address @p vaddr: [0] is the innermost inlined function,
 * its file and line are those of the address; each later one has file and line of the call before.
 * Where there are more than @p max levels the outer ones are omitted.
 * @return number of entries, 0: not covered. O(log n) once the unit is read.
 */
size_t dwarf_lines_find(struct dwarf_lines *l, uint64_t vaddr, struct dwarf_line *ret, size_t max);

#endif
