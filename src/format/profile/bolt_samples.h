/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_BOLT_SAMPLES_H
#define FORMAT_PROFILE_BOLT_SAMPLES_H

#include "base/sink.h"
#include "profile/counted_code.h"

/*
 * BOLT's own profile (fdata) of sampled addresses, for llvm-bolt -data:
 *
 *	no_lbr EVENT
 *	1 FUNCTION OFFSET COUNT  at a hexadecimal offset in it; FUNCTION/N: the N-th local symbol
 *	                         of that name, by address
 *
 * Where the event's name has "cycles", BOLT divides by a block's instructions: so times are called.
 * Spec: LLVM 19, bolt/include/bolt/Profile/DataReader.h.
 */

/** *ret_nr_nowhere: samples in no function, which are omitted. @return the sink's error;
 * CLEW_NO_MEMORY. Opens files: when nothing else uses the dsos. */
enum clew_err bolt_samples(const struct counted_binary *b, const char *event,
			   const struct clew_sink *sink, uint64_t *ret_nr_nowhere);

#endif
