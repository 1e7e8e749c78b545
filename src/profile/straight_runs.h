/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_STRAIGHT_RUNS_H
#define PROFILE_STRAIGHT_RUNS_H

#include "profile/counted_code.h"

/**
 * Drop the runs of @p b that cannot have been straight: before their end there is a branch that is
 * always taken. By the code of a user binary, where that is at hand; not 32-bit Arm's, of which it
 * is unknown which of two instruction sets it is. Before counted_code_finish(), and as that when
 * nothing else uses the dsos. *ret_nr: executions of these are added.
 * @return false: out of memory.
 */
bool straight_runs_check(struct counted_binary *b, uint64_t *ret_nr);

#endif
