/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_SCRIPT_RAW_H
#define CLI_SCRIPT_RAW_H

#include "cli/common/input.h"

/** `clew script -D`: each record with its bytes. @return exit code. */
int script_raw_dump(struct cli_input *in);

#endif
