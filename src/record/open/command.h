/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_COMMAND_H
#define RECORD_OPEN_COMMAND_H

#include "os/child.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"
#include "record/plan/rec_ui.h"

/* The command that is recorded or counted: options.argv. */

/** Fork it, held before its exec. One that cannot run is known before anything is made for it.
 * @p ret_exit_code: as a shell has it; set where it cannot run. */
enum clew_err rec_command_fork(struct os_child *ret, const struct rec_options *o,
			       int *ret_exit_code, struct rec_error *error);

/** Let it exec. On failure it is gone, and @p ret_exit_code set. */
enum clew_err rec_command_start(struct os_child *c, const struct rec_options *o, int *ret_exit_code,
				struct rec_error *error);

/** It goes where the recording ends, as with perf: by HUP where @p signal is that, else by TERM.
 * One that ignores it is left running, with a warning. @p signal_fd: of os_signal_open(). */
void rec_command_end(struct os_child *c, const struct rec_options *o, const struct rec_ui *ui,
		     int signal_fd, int signal, int *ret_exit_code);

#endif
