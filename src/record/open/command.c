/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/command.h"

#include <errno.h>
#include <signal.h>

#include "os/clock.h"
#include "os/poll_set.h"
#include "os/signals.h"

enum { CHILD_GRACE_MS = 2000, CHILD_STEP_MS = 20 };

enum clew_err rec_command_fork(struct os_child *ret, const struct rec_options *o,
			       int *ret_exit_code, struct rec_error *error)
{
	int err = os_child_check(o->argv[0], o->search_path);

	if (err) {
		*ret_exit_code = err == -ENOENT ? 127 : 126;
		return rec_fail_os(error, err, "cannot run '%s'", o->argv[0]);
	}
	err = os_child_fork(ret, o->argv);
	return err ? rec_fail_os(error, err, "cannot fork") : CLEW_OK;
}

enum clew_err rec_command_start(struct os_child *c, const struct rec_options *o, int *ret_exit_code,
				struct rec_error *error)
{
	int err = os_child_go(c);

	if (!err)
		return CLEW_OK;
	os_child_reap(c, true);
	*ret_exit_code = os_child_exit_code(c);
	return rec_fail_os(error, err, "cannot run '%s'", o->argv[0]);
}

void rec_command_end(struct os_child *c, const struct rec_options *o, const struct rec_ui *ui,
		     int signal_fd, int signal, int *ret_exit_code)
{
	uint64_t until = os_clock_ns() + CHILD_GRACE_MS * NS_PER_MS;

	if (!os_child_reap(c, false))
		os_child_signal(c, signal == SIGHUP ? SIGHUP : SIGTERM);
	while (!os_child_reap(c, false) && os_clock_ns() < until) {
		struct os_poll one = {0};

		os_poll_add(&one, signal_fd);
		os_poll_wait(&one, CHILD_STEP_MS);
		os_signal_next(signal_fd);
		os_poll_done(&one);
	}
	if (c->is_ended)
		*ret_exit_code = os_child_exit_code(c);
	else
		rec_say(ui, REC_WARNING, "'%s' (pid %d) does not end: it continues unrecorded",
			o->argv[0], c->pid);
}
