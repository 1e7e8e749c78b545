/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/pager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/file.h"
#include "os/stdout.h"

static int pager_pid;
static bool is_terminal;

static const char *pager_command(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		return "exec less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

void cli_pager_start(void)
{
	const char *command;

	os_ignore_sigpipe();
	is_terminal = isatty(STDOUT_FILENO);
	command = is_terminal ? pager_command() : NULL;
	if (!command)
		return;
	/* Quit where all fits one screen, let colours through, leave the text on the screen. */
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	pager_pid = os_stdout_page(command);
}

void cli_pager_done(void)
{
	fflush(stdout);
	if (pager_pid > 0) {
		clearerr(stdout); /* it was left early: nothing failed */
		os_stdout_page_end(pager_pid);
	}
	pager_pid = 0;
}

bool cli_is_terminal(void)
{
	return is_terminal || isatty(STDOUT_FILENO);
}

static enum clew_err write_stdout(void *ctx, const void *data, size_t size)
{
	int err = os_write_all(STDOUT_FILENO, data, size);

	if (!err)
		return CLEW_OK;
	return err == -EPIPE ? CLEW_STOPPED : clew_fail_os(ctx, -err, "writing");
}

struct clew_sink cli_stdout_sink(struct clew_diag *diag)
{
	return (struct clew_sink){write_stdout, diag};
}
