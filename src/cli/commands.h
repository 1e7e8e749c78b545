/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

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
