/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_LLVM_TEXT_H
#define FORMAT_PROFILE_LLVM_TEXT_H

#include "base/sink.h"
#include "profile/inline_profile.h"

/*
 * LLVM's sample profile as text, as clang -fprofile-sample-use and llvm-profdata merge --sample
 * read it. A function, and what was inlined into it one blank deeper each:
 *
 *	NAME:TOTAL:ENTERED
 *	 OFFSET[.DISCRIMINATOR]: COUNT [CALLEE:COUNT ...]
 *	 OFFSET[.DISCRIMINATOR]: CALLEE:TOTAL
 *	  ...
 *
 * Names are linkage names; in them what is not printable is written as \xNN, a blank as '_'.
 * Spec: LLVM 19, llvm/ProfileData/SampleProfReader.h.
 */

/** @return the sink's error; CLEW_NO_MEMORY. */
enum clew_err llvm_text(const struct inline_profile *p, const struct clew_sink *sink);

#endif
