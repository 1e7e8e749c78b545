/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_REPORT_ARGS_IMPL_H
#define CLI_REPORT_ARGS_IMPL_H

#include "cli/report_args.h"

/* --- report_args_sort.c: for rows of options --- */
int report_args_set_keys(void *args, const char *arg, bool is_negated);
int report_args_set_fields(void *args, const char *arg, bool is_negated);

/* --- report_args_graph.c --- */
int report_args_set_graph(void *args, const char *arg, bool is_negated);
/** perf takes "-g caller" as well as a bare -g: join the two words if the second belongs to -g.
 * @return argc of then. */
int report_args_join_graph(struct report_args *a, int argc, char **argv);

/* --- report_args_output.c --- */
/** Which output it is, and what follows from that. @return the exit status of what does not go
 * together; -1. */
int report_args_choose_output(struct report_args *a);

#endif
