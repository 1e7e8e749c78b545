/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stitch/stitch_outcome.h"

const char *stitch_state_name(enum stitch_state s)
{
	switch (s) {
	case STITCH_COMPLETE:
		return "complete";
	case STITCH_NONE_EXPECTED:
		return "none-expected";
	case STITCH_LOST:
		return "lost";
	case STITCH_PARTIAL:
		return "partial";
	case STITCH_UNPROVEN:
		return "unproven";
	}
	return "";
}

const char *stitch_reason_name(enum stitch_reason r)
{
	static const char *const names[NR_STITCH_REASONS] = {
		[STITCH_NO_REASON] = "",
		[STITCH_IDLE] = "idle",
		[STITCH_KERNEL_THREAD] = "kernel-thread",
		[STITCH_EXITING] = "exiting",
		[STITCH_NOT_ASKED] = "not-asked",
		[STITCH_NO_RECORD] = "no-record",
		[STITCH_EXIT] = "exit",
		[STITCH_EXEC] = "exec",
		[STITCH_END] = "end",
		[STITCH_BUFFER] = "buffer",
		[STITCH_TIMEOUT] = "timeout",
		[STITCH_EMPTY] = "empty",
		[STITCH_MAP_FULL] = "map-full",
		[STITCH_RING_FULL] = "ring-full",
		[STITCH_REFUSED] = "refused",
		[STITCH_UNMATCHED] = "unmatched",
		[STITCH_LATE] = "late",
	};

	return (unsigned int)r < NR_STITCH_REASONS ? names[r] : "";
}
