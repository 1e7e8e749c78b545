/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_ELF_HEAD_H
#define ELF_ELF_HEAD_H

#include "base/bytes.h"

/**
 * The notes of a 64-bit ELF file, of which the first bytes are @p head, by its program headers
 * alone: for files of which no more is to be read than that. @p i: 0 at first.
 * @return false: no more of them (or not ELF, or the headers are not within @p head).
 */
bool elf_head_next_notes(struct bytes head, unsigned int *i, uint64_t *ret_offset,
			 uint64_t *ret_size);

#endif
