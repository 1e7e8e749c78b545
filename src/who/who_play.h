/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_PLAY_H
#define WHO_WHO_PLAY_H

#include <clew/time.h>

#include "who/who_guests.h"

/*
 * Side-band records, played alike for samples (into a `who`), for traces (into a `who_history`) and
 * while recording (record/stacks/tables/live_space.c): parsed once, and a guest's kept apart from
 * the host's.
 */

/** Where they go. Each returns CLEW_OK or CLEW_NO_MEMORY. NULL: such records are not wanted. */
struct who_player {
	/** A guest's map, also of its kernel, is of a process with a guest's number. */
	enum clew_err (*mmap)(void *ctx, struct clew_perf_ns time, bool is_kernel,
			      const struct perf_mmap *m);
	enum clew_err (*comm)(void *ctx, struct clew_perf_ns time, const struct perf_comm *c);
	enum clew_err (*fork)(void *ctx, struct clew_perf_ns time, const struct perf_task *t);
	/** Of no use where threads are asked for later: their last samples and trace are in the
	 * kernel, after this, and a number that is used again comes with a FORK. */
	enum clew_err (*exit)(void *ctx, struct clew_perf_ns time, const struct perf_task *t);
	/** @p tid runs on a CPU from @p time on; WHO_NONE: unknown. */
	enum clew_err (*run)(void *ctx, struct clew_perf_ns time, uint32_t pid, uint32_t tid);
};

extern const struct who_player who_player_of_now;     /* @p ctx: struct who */
extern const struct who_player who_player_of_history; /* @p ctx: struct who_history */

/** What stands beside a record's body. */
struct who_stamp {
	struct clew_perf_ns time;
	uint32_t machine; /* who_guests_machine() of its event; 0: the host's */
	uint32_t cpu, pid, tid;
};

/** May a record of @p type change anything for @p player? */
bool who_plays(const struct who_player *player, uint32_t type);

/**
 * Play a record; others than those of threads, mappings and switches change nothing. @p guests
 * NULL: skip records of guests. @return CLEW_BAD_FILE: it cannot be parsed.
 */
enum clew_err who_play(const struct who_player *player, void *ctx, struct who_guests *guests,
		       const struct perf_record *r, const struct who_stamp *stamp);

#endif
