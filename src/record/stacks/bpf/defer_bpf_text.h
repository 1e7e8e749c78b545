/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_BPF_DEFER_BPF_TEXT_H
#define RECORD_STACKS_BPF_DEFER_BPF_TEXT_H

#include "record/bpf/clew_bpf.h"

/** Find the kernel text that shows where an entry begins and ends: all zero where
 * the kernel hides its addresses. */
void defer_find_text(struct cb_text *ret);

#endif
