/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_FP_ROWS_H
#define UNWIND_FP_ROWS_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/**
 * Rows for functions that none of @p lists covers, by their symbols and instructions: those of
 * functions that set a frame pointer up at their start (UNW_FP_PROLOGUE), from their first
 * instruction to their last. Other functions get a row without a rule, so that rows start where
 * functions do. amd64 and aarch64. O(n log n) of such functions and O(their bytes). Beyond
 * FP_MAX_CODE bytes (functions may overlap) or FP_MAX_ROWS rows none has rules.
 * @return CLEW_NO_MEMORY; CLEW_NOT_FOUND: no symbols. @p lists are sorted.
 */
enum clew_err fp_rows(const struct unw_image *image, struct unw_list *const lists[], size_t nr,
		      struct unw_list *ret);

enum { FP_MAX_CODE = 64 << 20, FP_MAX_FUNCTIONS = 1 << 20, FP_MAX_ROWS = 4 << 20 };

#endif
