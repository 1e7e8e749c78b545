/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_INJECT_STACKS_H
#define CLI_INJECT_STACKS_H

#include "cli/common/input.h"

/** clew inject --merge-stacks: the recording @p in (not open yet) with its deferred user stacks in
 * their samples, into @p to. Reports failures itself. @return an exit status. */
int inject_stacks(struct cli_input *in, const char *to);

#endif
