/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_TARGET_H
#define RECORD_OPEN_TARGET_H

#include "base/vec.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"
#include "record/plan/rec_ui.h"

struct rec_ints {
	VEC(int);
};

/** The tasks and CPUs that counters are opened on: every task of tids on every CPU of cpus. */
struct rec_target {
	struct rec_ints tids; /* -1 alone: every task */
	struct rec_ints cpus; /* -1 alone: wherever the task runs */
	struct rec_ints pids; /* processes of which the sideband is to be read from /proc */
	bool is_system_wide;  /* tids is -1 */
	bool is_attached;     /* -p, -t, -u: tasks that already run */
	bool is_inherited;
};

/**
 * "0-3,8" as numbers, ascending, each once. @return CLEW_INVALID with a sentence, CLEW_NO_MEMORY.
 */
enum clew_err rec_cpus_parse(const char *text, struct rec_ints *ret, struct rec_error *error);

/**
 * Find the tasks and CPUs that @p o asks for. A command's pid, still unknown, is 0 in tids.
 * Tasks that end meanwhile are omitted; none left is CLEW_NOT_FOUND.
 */
enum clew_err rec_target_resolve(struct rec_target *ret, const struct rec_options *o,
				 const struct rec_ui *ui, struct rec_error *error);

/** CPUs there may ever be: above the largest number of one. */
uint32_t rec_nr_possible_cpus(void);

void rec_target_done(struct rec_target *t);

#endif
