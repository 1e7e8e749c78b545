/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_ELF_MAPPING_H
#define ELF_ELF_MAPPING_H

#include <string.h>

#include "elf/elf_file.h"

/** From an address on: 'x' A64, 'a' A32, 't' T32, 'd' data. */
struct elf_mapping {
	uint64_t at; /* linked address */
	char kind;
};

/** Of an Arm file: the kind of mapping symbol that is named so; 0: @p name is none. */
static inline char elf_mapping_kind(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.')
		     ? name[1]
		     : 0;
}

/**
 * The mapping symbols ($x, $a, $t, $d) of an Arm file in [@p start, @p end), and before them the
 * last one at or before @p start, in order of address. The first @p max of them. O(symbols).
 * Spec: ELF for the Arm Architecture, "Mapping symbols".
 */
size_t elf_mappings(const struct elf_file *f, uint64_t start, uint64_t end, struct elf_mapping *ret,
		    size_t max);

#endif
