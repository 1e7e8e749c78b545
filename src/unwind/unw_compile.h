/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_COMPILE_H
#define UNWIND_UNW_COMPILE_H

#include "unwind/unw_image.h"

/**
 * Compile all of @p image: .sframe, what it leaves open from .eh_frame, what that leaves open from
 * .debug_frame; .sframe of version 1 ranks after .eh_frame. A damaged source counts as absent.
 * @return as unw_table_build(); the block is the caller's to mem_free().
 */
enum clew_err unw_compile(const struct unw_image *image, void **ret_block, size_t *ret_size);

#endif
