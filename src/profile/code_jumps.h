/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_CODE_JUMPS_H
#define PROFILE_CODE_JUMPS_H

#include "profile/counted_code.h"

/** A branch inside of a binary that was taken, and is neither a call nor a return. */
struct code_jump {
	uint64_t from, to; /* linked addresses */
	uint64_t nr;       /* how often it went there */
	uint64_t nr_run;   /* how often its instruction ran, as far as that is known: at least nr */
	bool is_conditional; /* false also where it is unknown how often it was not taken */
};

/** Each of @p b, which is finished, in order of from and to; those without an instruction in the
 * file are omitted. Opens files: when nothing else uses the dsos. @return false: @p take was false,
 * or memory is short. */
bool code_jumps_walk(const struct counted_binary *b,
		     bool (*take)(void *ctx, const struct code_jump *j), void *ctx);

#endif
