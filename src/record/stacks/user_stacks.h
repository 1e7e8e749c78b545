/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_USER_STACKS_H
#define RECORD_STACKS_USER_STACKS_H

#include "record/open/counters.h"
#include "record/plan/source.h"
#include "record/stacks/stack_choice.h"

/**
 * User stacks that do not come as the kernel writes them: read in BPF (defer_bpf.h) or copied
 * (copy_stacks.h). This source reads the forward rings, merged by time, and rewrites their samples
 * on the way into the file; requests and stacks come first, then the samples. A sample of BPF gets
 * the cookie of its request (defer_join.h), and its stack is a separate record. A sample with a
 * copy is unwound (tables/live_space.h) and keeps only its call chain. Tables are compiled in a
 * separate thread (tables/table_worker.h).
 *
 * After the counters were opened; @p c and @p o are borrowed. @p choice->bpf is taken over, also
 * on a failure; every event that wants it is attached.
 * @p ret: ops NULL: no event's samples are rewritten.
 * @return CLEW_UNSUPPORTED: BPF cannot sit on one of these events.
 */
enum clew_err user_stacks_open(struct rec_source *ret, struct rec_counters *c,
			       const struct rec_options *o, struct rec_stack_choice *choice,
			       struct rec_error *error);

#endif
