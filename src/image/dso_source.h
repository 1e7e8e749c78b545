/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_SOURCE_H
#define IMAGE_DSO_SOURCE_H

#include "elf/dwarf_walk.h"
#include "elf/elf_sym.h"
#include "image/dso.h"

/* Source of a whole file, at linked addresses (dso_link_address()). Opens files: when nothing else
 * uses the dsos. */

/** dso_find_lines() of a linked address. */
size_t dso_find_linked_lines(const struct dso *d, uint64_t address, struct dso_line *ret,
			     size_t max);

/** dwarf_lines_walk(). @return false: the walk was ended. */
bool dso_walk_source(const struct dso *d, const struct dwarf_walker *w);

/** Is there debug information for the walk? */
bool dso_has_source(const struct dso *d);

/** dwarf_lines_version(). */
unsigned int dso_line_version(const struct dso *d);

/** elf_sym_walk() of the file: linked addresses. @return false: the walk was ended. */
bool dso_walk_symbols(const struct dso *d, bool (*take)(void *ctx, const struct elf_sym_entry *s),
		      void *ctx);

/**
 * The file's bytes of the linked address @p address, in the file; borrowed for the store's life.
 * @p ret_machine: EM_ of them. @return how many; 0: none.
 */
size_t dso_linked_bytes(const struct dso *d, uint64_t address, const uint8_t **ret,
			uint16_t *ret_machine);

#endif
