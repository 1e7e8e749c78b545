/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_COUNT_REC_COUNT_H
#define RECORD_COUNT_REC_COUNT_H

#include "record/plan/event_list.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"
#include "record/plan/rec_ui.h"
#include "report/counts.h"

/** How to count; zeroed: once, all in all. */
struct rec_count_plan {
	enum count_by by;
	uint32_t nr_runs;       /* of the command; 0 is 1 */
	uint32_t interval_ms;   /* 0: at the end only */
	uint32_t timeout_ms;    /* 0: none */
	uint64_t max_intervals; /* stop after so many; 0: no limit */
	bool is_unscaled;       /* counts as they were counted */
	/** An interval has passed; @p c has what was counted in it. */
	void (*interval)(void *ctx, const struct counts *c);
	void *ctx;
};

struct rec_count_result {
	int exit_code; /* of the command as a shell reports it; 0 without a command */
	int signal;    /* that stopped it, 0: none did */
	bool has_command_failed_to_start;
};

/**
 * Count @p events (none is fine: times alone) for a command, tasks or CPUs, until the command ends,
 * the tasks are gone, the time is over or a signal says so. @p o: is_counting is set. An event that
 * this machine does not have is not supported, and the others are counted.
 *
 * @p ret: zeroed; counts_done() in any case. @return else the sentence in @p error.
 * Thread: the caller's alone. Signals: see os/signals.h; given back on return.
 */
enum clew_err rec_count_run(const struct rec_options *o, const struct rec_count_plan *plan,
			    struct rec_event_list *events, const struct rec_ui *ui,
			    struct counts *ret, struct rec_count_result *result,
			    struct rec_error *error);

#endif
