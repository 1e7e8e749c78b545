/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_PROGRESS_H
#define CLI_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/progress.h"

/*
 * A line on the terminal for what takes over a second, taken away again at the end:
 *
 *	clew: reading: 34 %, 87 MB/s, 12 s left
 *
 * Only where standard error is a terminal and notes are wanted (not after cli_set_quiet()); it is
 * drawn by a separate thread, so it does not slow the work. In a command:
 *
 *	cli_progress_begin("merging stacks", nr_bytes);     0: unknown
 *	... cli_progress_at(done) as often as it suits: one store ...
 *	cli_progress_end();
 *
 * A second begin without an end is the next phase. The library gets cli_progress() and reports its
 * phases itself (base/progress.h). One thread calls these.
 */
void cli_progress_begin(const char *phase, uint64_t total);
void cli_progress_at(uint64_t done);
void cli_progress_end(void);

/** What is shown, for the library to write; from cli_progress_begin() to cli_progress_end(). */
struct progress *cli_progress(void);

/** How far a phase has come. */
struct cli_progress_state {
	const char *phase;
	uint64_t done, total; /* as of struct progress */
	bool has_bytes;
	uint64_t spent_ns,
		went; /* since the phase was first seen: how long, and how much was done */
};

/** Writes the line, always ending it. A speed and the time left are not said in the first second.
 */
void cli_progress_text(const struct cli_progress_state *s, char *to, size_t size);

/** Other text goes to the terminal now: the line is removed until cli_progress_resume(). */
void cli_progress_pause(void);
void cli_progress_resume(void);

/** There is no line from here on: the terminal belongs to the output, or notes are not wanted. */
void cli_progress_stop(void);

#endif
