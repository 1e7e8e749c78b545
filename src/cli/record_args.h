/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_RECORD_ARGS_H
#define CLI_RECORD_ARGS_H

#include "base/buf.h"
#include "record/plan/rec_options.h"

/** What the command line of `clew record` asked for. */
struct record_args {
	struct rec_options o;
	struct rec_event_list events;
	const char *count, *max_size, *max_files, *priority;
	const char *trigger, *between;
	bool is_quiet, is_json, is_dry_run, no_cache;
	bool is_always_so; /* of options for what is always done */
	unsigned int verbose;
	struct buf cache_dir;
};

/** argv is permuted. @return the exit status where the command is to end now, else -1. In any case,
 * record_args_done() at the end. */
int record_args_parse(struct record_args *a, int argc, char **argv);
void record_args_done(struct record_args *a);

#endif
