/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_EH_FRAME_H
#define UNWIND_EH_FRAME_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/** How many functions of a file are searched for how they enter an exception handler: libgcc has 4.
 * In a hostile file many functions may share much code: searching it for each would take
 * minutes. */
enum { EH_MAX_RETURNS = 256 };

struct eh_frame_counts {
	uint64_t nr_functions, nr_rows;
	uint64_t nr_eh_returns;       /* functions that enter exception handlers */
	uint64_t nr_unrepresented[8]; /* rows of UNW_CFA_NONE, by enum unw_why */
	uint64_t nr_fp_lost;          /* rows with a rule of FP that none of our forms holds */
	uint64_t nr_dropped;          /* functions of no bytes, at 0, or outside of the code */
	uint64_t nr_bad;              /* records skipped */
};

/**
 * Compile .eh_frame (@p is_debug_frame: .debug_frame) of @p image to rows, which are added to
 * @p ret. What cannot be represented is a row of UNW_CFA_NONE with its reason; damaged records are
 * skipped and counted. O(size), and so is the memory. Pointers relative to text or data, and
 * indirect ones to functions, are not resolved: their records count as bad.
 * @return CLEW_NO_MEMORY; CLEW_NOT_FOUND: no such section. @p counts: NULL or added to.
 * Spec: DWARF 5 "Call Frame Information"; LSB "Exception Frames"; docs/spec/eh_frame.md.
 */
enum clew_err eh_frame_rows(const struct unw_image *image, bool is_debug_frame,
			    struct unw_list *ret, struct eh_frame_counts *counts);

struct eh_frame_hdr_counts {
	uint64_t nr_entries;
	uint64_t nr_unordered; /* entries not above the one before */
	uint64_t nr_foreign;   /* entries without a record, or with one that starts elsewhere */
};

/** Compare the table of .eh_frame_hdr, which nothing here relies on, with the records that it
 * points at. @return CLEW_NOT_FOUND: no table. */
enum clew_err eh_frame_hdr_check(const struct unw_image *image, struct eh_frame_hdr_counts *ret);

#endif
