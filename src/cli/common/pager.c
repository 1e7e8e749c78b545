/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/pager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "os/file.h"
#include "os/output.h"
#include "os/stdout.h"
#include "os/terminal.h"

enum { MAX_WORDS = 32, MAX_COMMAND = 1024 };

static int pager_pid;
static bool is_terminal, is_wanted, has_begun;

static const char *pager_command(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		return "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/** @p text, which is changed, split at blanks. @return false: too many words, or what only a shell
 * understands. */
static bool split_words(char *text, char *words[MAX_WORDS + 1])
{
	size_t nr = 0;
	char *rest;

	if (strpbrk(text, "|&;<>()$`\\\"'*?[]#~{}!\n"))
		return false;
	for (char *w = strtok_r(text, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
		if (nr == MAX_WORDS)
			return false;
		words[nr++] = w;
	}
	words[nr] = NULL;
	return nr;
}

/** A shell could be made to run anything: a user's own $PAGER is given to one, root's is not. */
static int start(const char *command)
{
	char text[MAX_COMMAND], shell[] = "/bin/sh", dash_c[] = "-c";
	char *words[MAX_WORDS + 1];

	if ((size_t)snprintf(text, sizeof(text), "%s", command) >= sizeof(text))
		return -E2BIG;
	if (!os_has_more_rights() && strcmp(command, "less") != 0)
		return os_stdout_page((char *[]){shell, dash_c, text, NULL});
	if (split_words(text, words))
		return os_stdout_page(words);
	cli_warn("$PAGER is not used: run as root, it has to be a program and its arguments, "
		 "without shell syntax");
	return -EINVAL;
}

void cli_pager_start(void)
{
	os_ignore_sigpipe();
	is_terminal = isatty(STDOUT_FILENO);
	is_wanted = is_terminal && pager_command();
}

/* A progress line would disturb output on the same terminal, but not output to a file. */
static void begin_output(void)
{
	has_begun = true;
	if (is_terminal || os_is_pipe(STDOUT_FILENO))
		cli_progress_stop();
	if (!is_wanted)
		return;
	/* Quit if all fits one screen, show colours, leave the text on the screen. */
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	os_interrupt_init();
	pager_pid = start(pager_command());
}

void cli_pager_open(void)
{
	if (!has_begun)
		begin_output();
}

void cli_pager_done(void)
{
	fflush(stdout);
	if (pager_pid > 0) {
		clearerr(stdout); /* the pager was left early: nothing failed */
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
	int err;

	if (!size)
		return CLEW_OK;
	cli_pager_open();
	err = os_write_all(STDOUT_FILENO, data, size);
	if (!err)
		return CLEW_OK;
	return err == -EPIPE ? CLEW_STOPPED : clew_fail_os(ctx, -err, "writing");
}

struct clew_sink cli_stdout_sink(struct clew_diag *diag)
{
	return (struct clew_sink){write_stdout, diag};
}
