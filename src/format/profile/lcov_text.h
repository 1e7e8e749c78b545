/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_LCOV_TEXT_H
#define FORMAT_PROFILE_LCOV_TEXT_H

#include "base/sink.h"
#include "profile/line_counts.h"

/*
 * LCOV's tracefile, as genhtml and lcov read it: for each source file
 *
 *	TN:
 *	SF:PATH
 *	FN:LINE,NAME           functions, then as many FNDA:COUNT,NAME
 *	FNF:FOUND  FNH:HIT
 *	BRDA:LINE,BLOCK,BRANCH,COUNT
 *	                       BLOCK: a conditional branch of the line, in order of address; BRANCH:
 *	                       0 taken, 1 not taken; COUNT: - where the branch never ran
 *	BRF:FOUND  BRH:HIT
 *	DA:LINE,COUNT          LF:FOUND  LH:HIT
 *	end_of_record
 *
 * Names are linkage names. What is not printable is written as \xNN, a comma in names as '_'.
 * Spec: geninfo(1), "Tracefile format".
 */

/** After line_counts_finish(). @return the sink's error; CLEW_NO_MEMORY. */
enum clew_err lcov_text(const struct line_counts *c, const struct clew_sink *sink);

#endif
