/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_SFRAME_USE_H
#define TESTS_PROP_SFRAME_USE_H

#include <stdbool.h>

#include "unwind/sframe.h"

/**
 * Do with a section all that clew does with one: text, counts, rows, table, look-ups at the edges
 * of every function. @return false: a look-up gave something that is not in the table.
 */
bool sframe_use(const struct unw_section *section);

/** The same with the section of an ELF file, relocations applied. @p bytes may be written to. */
bool sframe_use_elf(uint8_t *bytes, size_t size);

#endif
