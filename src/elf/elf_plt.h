/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_PLT_H
#define ELF_PLT_H

#include "elf/elf_file.h"
#include "elf/sym_table.h"

/**
 * Add one symbol a PLT entry of @p f: NAME@plt, at its file offset. The names come from the
 * relocations of .rela.plt or .rel.plt, which are in the order of the entries.
 * @return false when memory is short; a file without PLT adds nothing and is fine.
 */
bool elf_plt_collect(struct sym_table *t, const struct elf_file *f);

#endif
