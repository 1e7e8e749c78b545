/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_GOLDEN_PT_TEXT_H
#define TESTS_GOLDEN_PT_TEXT_H

#include "base/buf.h"
#include "flow/flow.h"

/** What a flow of Intel PT says, in lines as tests/golden/pt/README.md has them. For
 * flow_opts.batch; ctx: the struct buf. */
enum clew_err pt_text_batch(void *ctx, const struct flow_batch *b);

#endif
