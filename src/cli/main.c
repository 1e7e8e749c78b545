/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "os/create.h"
#include "os/map_guard.h"
#include "os/output.h"

struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
};

/* In the order a new user meets them. */
static const struct command commands[] = {
	{"record",  "record a command or running tasks",                       cmd_record},
	{"report",  "show where a recording's time went",                      cmd_report},
	{"script",  "print a recording event by event",                        cmd_script},
	{"trace",   "show what a CoreSight trace says ran",                    cmd_trace },
	{"dump",    "print the packets of a CoreSight trace",                  cmd_dump  },
	{"evlist",  "list the events of a recording",                          cmd_evlist},
	{"header",  "show where, when and how a recording was made",           cmd_header},
	{"inject",  "turn hardware trace into a profile for a compiler",       cmd_inject},
	{"sframe",  "print, verify or make SFrame unwind tables",              cmd_sframe},
	{"list",    "name the events that can be recorded here",               cmd_list  },
	{"doctor",  "tell what can be recorded here, and how to get the rest", cmd_doctor},
	{"version", "print the version",                                       NULL      },
};

enum { NR_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *to)
{
	fprintf(to,
		"Usage: clew COMMAND [OPTIONS]\n\n"
		"Follows execution back: where a program spends its time, called by whom, on Linux.\n\n");
	for (int i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-8s  %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\n'clew COMMAND --help' and 'man clew-COMMAND' tell more.\n"
		    "Start with:  clew record -g -- PROGRAM && clew report\n");
}

static const struct command *find_command(const char *name)
{
	for (int i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static int refuse_command(const char *name)
{
	cli_error("there is no command '%s'", name);
	cli_hint("see 'clew --help'");
	return CLI_USAGE;
}

static int run_help(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;
	char help[] = "--help", *args[] = {argc > 1 ? argv[1] : help, help, NULL};

	if (c && c->run)
		return c->run(2, args);
	if (argc > 1 && !c && argv[1][0] != '-')
		return refuse_command(argv[1]);
	print_usage(stdout);
	return CLI_OK;
}

static int run_command(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v") ||
	    !strcmp(argv[1], "version")) {
		printf("clew %s\n", CLEW_VERSION);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_help(argc - 1, argv + 1);
	c = find_command(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : refuse_command(argv[1]);
}

/* What stdio still holds may not fit the disk; a reader that went away is no failure. */
int main(int argc, char **argv)
{
	int status;

	os_map_guard();
	os_ignore_sigxfsz();
	status = run_command(argc, argv);
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE || os_is_pipe(STDOUT_FILENO))
		return status;
	cli_error("standard output: %s", errno ? strerror(errno) : "not all was written");
	return status == CLI_OK ? CLI_FAILED : status;
}
