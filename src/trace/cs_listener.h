/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_CS_LISTENER_H
#define TRACE_CS_LISTENER_H

#include <clew/err.h>

#include "packet/coresight/cs_frame.h"

/* What only inputs of CoreSight trace have to report: the formatter's frames. */

/** What the frames of a run held besides the units' trace. */
struct cs_leftover {
	struct cs_counts counts;
	uint64_t nr_unclaimed[CS_NR_IDS]; /* bytes of a trace ID that no unit has */
};

struct cs_listener {
	/** The last of a run; all zeros where no trace was in frames. NULL: not wanted. */
	enum clew_err (*frames)(void *ctx, const struct cs_leftover *f);
	/** Each frame and what lies between them, in order; @p file as in struct trace_unit. Slow.
	 * NULL: not wanted. */
	enum clew_err (*seen)(void *ctx, const char *file, const struct cs_seen *s);
	void *ctx;
};

#endif
