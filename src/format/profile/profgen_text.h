/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_PROFGEN_TEXT_H
#define FORMAT_PROFILE_PROFGEN_TEXT_H

#include "base/sink.h"
#include "profile/counted_code.h"

/*
 * What llvm-profgen calls an unsymbolized profile, of one binary: two lists, each after its length,
 *
 *	FIRST-LAST:COUNT   runs of instructions, both ends inclusive
 *	FROM->TO:COUNT     taken branches; FROM is 1 where that is in another binary, or unknown
 *
 * Addresses are the linked file's: llvm-profgen --unsymbolized-profile=FILE --use-offset=0.
 * Branches to elsewhere say nothing of this binary. Spec: LLVM 19, llvm-profgen.
 */

/** @return the sink's error; CLEW_NO_MEMORY. */
enum clew_err profgen_text(const struct counted_binary *b, const struct clew_sink *sink);

#endif
