/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_REC_SESSION_H
#define RECORD_SESSION_REC_SESSION_H

#include "record/plan/event_list.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"
#include "record/plan/rec_ui.h"

/** What a recording came to. */
struct rec_result {
	uint64_t samples, lost, bytes; /* bytes: of all files */
	uint32_t nr_files;
	const char *why_empty; /* static sentence where there are no samples, else NULL */
	int exit_code;         /* of the command as a shell reports it; 0 without a command */
	int signal;            /* that stopped the recording, 0: none did */
	bool was_disk_full, has_command_failed_to_start;
	char last_path[4096];
};

/**
 * Record, from opening the events to the finished file. Returns when the command ends, the watched
 * tasks are gone, a signal or a control command says so, or the size limit is reached.
 *
 * @p events: borrowed; must hold at least one. @return CLEW_OK also when nothing was sampled
 * (why_empty) or the disk was full (the file is whole up to there); else the sentence in @p error.
 * Thread: the caller's alone. Signals: see os/signals.h; given back on return.
 */
enum clew_err rec_session_run(const struct rec_options *o, struct rec_event_list *events,
			      const struct rec_ui *ui, struct rec_result *ret,
			      struct rec_error *error);

#endif
