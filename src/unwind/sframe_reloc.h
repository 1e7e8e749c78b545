/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_RELOC_H
#define UNWIND_SFRAME_RELOC_H

#include "unwind/sframe.h"

/**
 * Relocatable files: put into @p copy, the bytes of section .sframe of @p f, the starts that its
 * relocations say. Only PC-relative relocations of 32 and 64 bits; others, and what lies outside,
 * are left as they are.
 *
 * Of use only where starts count from their field (SFRAME_F_FDE_FUNC_START_PCREL): without the flag
 * the linker converts them, so that the relocated value means nothing.
 */
void sframe_relocate(const struct elf_file *f, const struct sframe *s, uint8_t *copy, size_t size);

#endif
