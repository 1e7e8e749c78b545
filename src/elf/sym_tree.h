/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_SYM_TREE_H
#define ELF_SYM_TREE_H

#include "elf/sym_table.h"

/*
 * Where symbols overlap, perf's answer for an address is the first symbol that covers it on the
 * path down a red-black tree: it depends on the tree's shape, so on the order of insertions and
 * removals. This builds the same tree (Cormen et al., "Introduction to Algorithms", red-black
 * trees; perf's is Linux's, which gives equal shapes) and flattens it into disjoint ranges.
 */

/**
 * @p added: in order of insertion, .order = index; those that are dead are removed again, in the
 * order of @p dead, before those from @p nr_early on are put in.
 * @return false when memory is short. Otherwise *ret (mem_free) holds nr ranges, their .sym an
 * index into @p added.
 */
bool sym_tree_flatten(const struct sym_new *added, size_t nr, size_t nr_early, const uint32_t *dead,
		      size_t nr_dead, struct sym_range **ret, size_t *ret_nr);

#endif
