/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_RESTART_H
#define RECORD_AUX_AUX_RESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Must the trace event of a buffer be switched off and on again? A full buffer ends the trace, and
 * on no kernel and in no scope does anything less revive it everywhere (Linux 6.12 leaves an event
 * of a whole CPU "enabled" and dead). A restart of what runs costs a gap, so it is made only when
 * something says that the trace stands.
 */
struct aux_restart {
	bool has_truncated; /* AUX TRUNCATED: read since the last drain */
	bool has_lost; /* LOST read, or the event's own count of lost records moved: a TRUNCATED may
			  be among them, and no LOST record follows the last record */
	size_t area, fill, watermark, page; /* bytes; watermark 0: half the area */
	/*
	 * How long the event ran, and how long it should have: as long as a software event of the
	 * same task and CPU, which nothing stops. Without one: as long as it was enabled, if it can
	 * only stand still by fault; an event that is off then goes unseen.
	 */
	bool has_times;
	uint64_t ran_before, due_before; /* ns: at the last drain, after its restart */
	uint64_t ran, due;               /* now */
};

/** After a drain of @p r->fill bytes. */
bool aux_restart_is_due(const struct aux_restart *r);

#endif
