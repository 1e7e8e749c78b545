/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <clew/version.h>

#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/report_page.h"
#include "os/create.h"
#include "os/map_guard.h"
#include "os/output.h"

static void print_usage(FILE *to)
{
	const struct cli_entry *c;

	fprintf(to,
		"Usage: clew COMMAND [OPTIONS]\n\nRecords and reports where programs spend their "
		"time, with the callers, on Linux.\n\n");
	for (size_t i = 0; (c = cli_command_at(i)) != NULL; i++)
		fprintf(to, "  %-8s  %s\n", c->name, c->summary);
	fprintf(to, "\nSee 'clew COMMAND --help' and 'man clew-COMMAND'.\nStart with:  clew "
		    "record -g -- PROGRAM && clew report\n");
}

static int run_help(int argc, char **argv)
{
	const struct cli_entry *c = argc > 1 ? cli_command_find(argv[1]) : NULL;
	char help[] = "--help", *args[] = {argc > 1 ? argv[1] : help, help, NULL};

	if (c && c->run)
		return c->run(2, args);
	if (argc > 1 && !c && argv[1][0] != '-')
		return cli_command_refuse(argv[1]);
	print_usage(stdout);
	return CLI_OK;
}

/* The command's own, and of what is inside its pages; libraries that it is linked with have theirs.
 */
static void print_licenses(void)
{
	printf("\nclew: LGPL-2.1-or-later; its programs for the kernel (BPF): GPL-2.0-only.\n\n"
	       "Pages of 'clew report --html', 'clew view', 'clew diff --html' and 'clew annotate "
	       "--html':\n");
	fwrite(report_page_licenses.text, 1, report_page_licenses.size, stdout);
}

static int print_version(int argc, char **argv)
{
	const char *word = argc > 2 ? argv[2] : "";

	printf(strcmp(word, "--json") ? "clew %s\n" : "{\"version\":\"%s\"}\n", clew_version());
	if (!strcmp(word, "--licenses"))
		print_licenses();
	return CLI_OK;
}

static int run_command(int argc, char **argv)
{
	const struct cli_entry *c;

	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v") || !strcmp(argv[1], "version"))
		return print_version(argc, argv);
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_help(argc - 1, argv + 1);
	c = cli_command_find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : cli_command_refuse(argv[1]);
}

/* Flushing stdio may fail on a full disk; a reader that closed the pipe is not an error. */
int main(int argc, char **argv)
{
	int status;

	os_map_guard();
	os_ignore_sigxfsz();
	cli_commands_begin();
	status = run_command(argc, argv);
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE || os_is_pipe(STDOUT_FILENO))
		return status;
	cli_error("standard output: %s", errno ? strerror(errno) : "the output is incomplete");
	return status == CLI_OK ? CLI_FAILED : status;
}
