/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_EXPORT_JUMPS_H
#define CLI_EXPORT_JUMPS_H

#include "base/intern.h"
#include "cli/export_run.h"
#include "export/export_jumps.h"

/** What jumped where in a recording. Zeroed struct = empty. */
struct cli_jumps {
	struct export_jumps all;
	struct intern paths;
};

/** Of the input's trace, else of its branch stacks: in a pass of its own, before others open the
 * input. None without addresses or with --by, of what cannot be read twice, and of a trace that
 * filters apply to. @return the exit status; failures are reported. */
int cli_jumps_read(struct cli_jumps *j, struct export_run *r);
void cli_jumps_done(struct cli_jumps *j);

#endif
