/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_STACK_PROBE_H
#define RECORD_STACKS_STACK_PROBE_H

#include "record/plan/rec_error.h"

/** Samples this thread for some milliseconds with attr.defer_callchain. @return CLEW_OK: its
 * samples came with PERF_CONTEXT_USER_DEFERRED; else what is missing. Kernels that know the bits
 * but cannot unwind accept them and record ordinary chains. */
enum clew_err rec_probe_kernel_deferral(struct rec_error *error);

/** Are copies of user registers and stacks to be had, and do we know this machine's unwinding? */
enum clew_err rec_probe_stack_copy(struct rec_error *error);

#endif
