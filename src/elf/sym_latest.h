/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_SYM_LATEST_H
#define ELF_SYM_LATEST_H

#include "elf/sym_table.h"

/**
 * Where symbols overlap, each address is that of the one added last: of code that was written over,
 * what sticks out stays. @p added: in order of insertion. O(nr log nr).
 * @return false when memory is short. Otherwise *ret (mem_free) holds nr ranges, sorted and
 * disjoint, their .sym an index into @p added.
 */
bool sym_latest_flatten(const struct sym_new *added, size_t nr, struct sym_range **ret,
			size_t *ret_nr);

#endif
