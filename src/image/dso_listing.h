/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_LISTING_H
#define IMAGE_DSO_LISTING_H

#include "elf/elf_mapping.h"
#include "image/code_source.h"
#include "image/dso.h"

/* A function's code, for people to read. */

/**
 * The bytes around @p rel, in the dso's own terms, of any machine: of the very file that was
 * recorded, or what equals it by build id; of the kernel's image; of code made at run time, what
 * its jitdump file has. @p ret_machine: EM_ of it, 0: unknown. They live as long as the store.
 * @return NULL, or why there are none: static words.
 */
const char *dso_find_listing(struct dso *d, uint64_t rel, struct code_region *ret,
			     uint16_t *ret_machine);

/** elf_mappings() of [@p start, @p end) in the dso's terms, and in these. */
size_t dso_find_mappings(struct dso *d, uint64_t start, uint64_t end, struct elf_mapping *ret,
			 size_t max);

#endif
