/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_USER_STACKS_IMPL_H
#define RECORD_STACKS_USER_STACKS_IMPL_H

#include "record/stacks/user_stacks.h"

/** What BPF brings goes into @p u. */
struct defer_sink user_stacks_sink(struct user_stacks *u);

/** Tables go to the kernel at once. Stacks wait for the records of this pass, which show whether
 * they may still be believed. */
void user_stacks_take_ready(struct user_stacks *u);

/** The same, all tables in one step. */
void user_stacks_take_results(struct user_stacks *u);

#endif
