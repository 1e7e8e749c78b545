/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_STAT_ARGS_H
#define CLI_STAT_ARGS_H

#include "format/stat/stat_text.h"
#include "record/count/rec_count.h"
#include "record/plan/rec_options.h"

/** What the command line of `clew stat` asked for. */
struct stat_args {
	struct rec_options o;
	struct rec_event_list events;
	struct rec_count_plan plan;
	struct stat_style style;
	const char *output; /* NULL: standard error */
	uint64_t nr_runs, interval_ms, timeout_ms;
	bool is_appended, is_null, has_groups, is_scaled, is_json, is_quiet;
	bool by_cpu, by_core, by_socket, by_thread;
	unsigned int detail, verbose;
};

/** argv is permuted. @return the exit status where the command is to end now, else -1. In any case,
 * stat_args_done() at the end. */
int stat_args_parse(struct stat_args *a, int argc, char **argv);
void stat_args_done(struct stat_args *a);

#endif
