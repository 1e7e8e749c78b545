/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_EH_FRAME_H
#define UNWIND_EH_FRAME_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

struct eh_frame_counts {
	uint64_t nr_functions, nr_rows;
	uint64_t nr_unrepresented[8]; /* rows, by enum unw_why */
	uint64_t nr_bad;              /* records skipped */
};

/**
 * Compile .eh_frame (@p is_debug_frame: .debug_frame) of @p image to rows.
 * Spec: DWARF 5 "Call Frame Information"; LSB "Exception Frames"; spec/sframe.md section 8.
 */
enum clew_err eh_frame_rows(const struct unw_image *image, bool is_debug_frame,
			    struct unw_list *ret, struct eh_frame_counts *counts);

#endif
