/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stddef.h>

/** A command, as main() and the help know it. */
struct cli_entry {
	const char *name, *summary;
	int (*run)(int argc, char **argv); /* NULL: main() itself does it */
};

/** In the order of the help. NULL: no more. */
const struct cli_entry *cli_command_at(size_t i);
const struct cli_entry *cli_command_find(const char *name);

/** Report an unknown command, with the one that may be meant or a substitute. @return CLI_USAGE.
 */
int cli_command_refuse(const char *name);

/* One function a command: argv[0] is the command's name. Each returns the exit status. */
int cmd_doctor(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_evlist(int argc, char **argv);
int cmd_header(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_sframe(int argc, char **argv);
int cmd_trace(int argc, char **argv);

#endif
