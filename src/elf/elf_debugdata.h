/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DEBUGDATA_H
#define ELF_DEBUGDATA_H

#include "base/buf.h"
#include "elf/elf_file.h"

enum { ELF_DEBUGDATA_MAX_BYTES = 64 * 1024 * 1024 };

/**
 * Unpack .gnu_debugdata ("mini debug info"): an xz stream that holds an ELF file with a .symtab.
 * @return CLEW_NOT_FOUND: no such section; CLEW_BAD_FILE: no xz stream; CLEW_LIMIT: it unpacks to
 *         more than ELF_DEBUGDATA_MAX_BYTES, or than f->budget has left; CLEW_NO_MEMORY. @p ret
 * then holds nothing of use. The caller gives ret->nr bytes back to the budget with @p ret.
 */
enum clew_err elf_debugdata_unpack(const struct elf_file *f, struct buf *ret,
				   struct clew_diag *diag);

#endif
