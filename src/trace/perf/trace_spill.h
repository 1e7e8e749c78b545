/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_SPILL_H
#define TRACE_PERF_TRACE_SPILL_H

#include "os/file.h"
#include "who/who_runs.h"

/* The switches of a day do not fit into memory: they go to a file without a name, which is gone
 * with its descriptor. */
struct trace_spill {
	int fd;
	bool is_open, has_failed;
	uint64_t nr_bytes;
	struct os_map map;
};

/** @p s stays where it is. */
struct who_spill trace_spill_of(struct trace_spill *s);
/** Also unmaps what was mapped. */
void trace_spill_done(struct trace_spill *s);

#endif
