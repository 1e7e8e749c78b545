/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DWARF_DISCRIMINATOR_H
#define ELF_DWARF_DISCRIMINATOR_H

#include <stdint.h>

/*
 * LLVM packs several numbers into a discriminator: which block of the line it is, then by how many
 * the code was multiplied (a loop was unrolled or vectorized), then which copy it is. Each takes
 *
 *	1 bit    xxxxxxx1          it is 0
 *	7 bits   0 abcde 0         5 bits
 *	14 bits  fghijkl 1 abcde 0 12 bits: fghijkl are the upper ones
 *
 * Spec: LLVM 19, llvm/IR/DebugInfoMetadata.h, DILocation.
 */
static inline uint32_t dwarf_packed_number(uint32_t d)
{
	if (d & 1)
		return 0;
	d >>= 1;
	return d & 0x20 ? (d >> 1 & 0xfe0) | (d & 0x1f) : d & 0x1f;
}

static inline uint32_t dwarf_packed_rest(uint32_t d)
{
	return d & 1 ? d >> 1 : d & 0x40 ? d >> 14 : d >> 7;
}

#endif
