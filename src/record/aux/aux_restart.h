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
	bool has_truncated, has_lost;        /* AUX TRUNCATED, LOST: read since the last drain */
	size_t area, fill, watermark, page;  /* bytes; watermark 0: half the area */
	bool has_times;                      /* the event's, if it can only stand still by fault */
	uint64_t enabled_before, ran_before; /* at the last drain */
	uint64_t enabled, ran;               /* now */
};

/** After a drain of @p r->fill bytes. */
bool aux_restart_is_due(const struct aux_restart *r);

#endif
