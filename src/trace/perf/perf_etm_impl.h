/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_ETM_IMPL_H
#define TRACE_PERF_PERF_ETM_IMPL_H

#include "analyze/ana_places.h"
#include "analyze/ana_read.h"
#include "trace/perf/perf_etm.h"
#include "trace/perf/perf_etm_code.h"
#include "trace/perf/perf_etm_meta.h"
#include "trace/perf/perf_etm_patches.h"
#include "trace/perf/perf_etm_queue.h"
#include "who/who_history.h"

/* An open recording: perf_etm.c makes it, perf_etm_read.c fills it, the others ask. */

struct pe_unit {
	uint32_t cpu_index; /* in meta */
	enum pe_pid_format pid_format;
	char name[24];
};

struct perf_etm {
	struct etm_trace trace;
	struct perf_input input;
	struct perf_file *file;
	struct ana_reader reader;
	struct ana_places own, *places; /* places: our own, or those of an analysis of the file */
	struct pe_meta meta;
	struct who_history history;
	struct pe_patches patches;
	struct pe_queues queues;
	struct perf_time_conv time_conv;
	uint64_t nr_records; /* stands in for time where records have none */
	bool has_time_conv, has_clock, is_of_tasks;
	struct {
		VEC(struct etm_unit);
	} units;
	struct pe_unit *more;         /* of each unit */
	struct pe_unit_code *sources; /* of each unit */
	struct map_u64 by_id, by_cpu; /* (sink, trace ID), cpu -> unit */
	struct os_lock *lock;         /* of all that a look at code may load */
	struct map_u64 locs;          /* hash of (place, address) -> struct ana_loc * */
};

/* --- perf_etm_read.c: all records but the trace itself --- */

enum clew_err pe_read(struct perf_etm *p, struct clew_diag *diag);
bool pe_is_monotonic(const struct perf_etm *p);

#endif
