/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TRACE_TRACE_COMMANDS_H
#define CLI_TRACE_TRACE_COMMANDS_H

/* As the commands of cli/commands.h. */
int cmd_dump(int argc, char **argv);
int cmd_trace(int argc, char **argv);

#endif
