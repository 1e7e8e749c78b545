/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/common/options.h"
#include "cli/trace/trace_commands.h"

/** In the order of the help. NULL: no more. */
const struct cli_entry *cli_command_at(size_t i);
const struct cli_entry *cli_command_find(const char *name);

/** Report an unknown command, with the one that may be meant or a substitute. @return CLI_USAGE.
 */
int cli_command_refuse(const char *name);

/** Let an option that one command rejects be looked for in the others. */
void cli_commands_begin(void);

/* One function per command; those of cli/trace are in trace_commands.h: argv[0] is the command's
 * name. Each returns the exit status. */
int cmd_diff(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_evlist(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_header(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_sframe(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_view(int argc, char **argv);

#endif
