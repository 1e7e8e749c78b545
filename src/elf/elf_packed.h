/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_PACKED_H
#define ELF_PACKED_H

#include "base/buf.h"
#include "elf/elf_file.h"

/**
 * Unpack the SHF_COMPRESSED section @p s (zlib) into @p ret, which must be empty. Unlike
 * elf_file_unpack() it leaves the file's memory as it is, so that this may be read-only.
 * @return false: not packed so, damaged, or of more than @p max_bytes; @p ret is then empty.
 */
bool elf_packed_section(const struct elf_file *f, const struct elf_section *s, size_t max_bytes,
			struct buf *ret);

#endif
