/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_BOLT_TEXT_H
#define FORMAT_PROFILE_BOLT_TEXT_H

#include "base/sink.h"
#include "profile/counted_code.h"

/*
 * BOLT's pre-aggregated profile of one binary, which perf2bolt --pa turns into its own form:
 *
 *	B FROM TO COUNT MISPREDICTED
 *	                    taken branches; X:0 is an address in another binary, or unknown
 *	F FIRST LAST COUNT  a straight run of instructions; if its branch was not taken, the run
 *	                    includes the instruction after that, so that BOLT counts the edge
 *	f FIRST LAST COUNT  the same, entered by a return: after a call
 *
 * Addresses are the linked file's. Spec: LLVM, bolt/include/bolt/Profile/DataAggregator.h.
 */

/** @return the sink's error; CLEW_NO_MEMORY. */
enum clew_err bolt_text(const struct counted_binary *b, const struct clew_sink *sink);

#endif
