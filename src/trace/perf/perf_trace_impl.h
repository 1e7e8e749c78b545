/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_TRACE_IMPL_H
#define TRACE_PERF_PERF_TRACE_IMPL_H

#include "analyze/ana_places.h"
#include "analyze/ana_read.h"
#include "trace/perf/aux_chunks.h"
#include "trace/perf/aux_protocol.h"
#include "trace/perf/perf_trace.h"
#include "trace/perf/trace_code.h"
#include "trace/perf/trace_patches.h"
#include "who/who_history.h"

/* An open recording: perf_trace.c makes it, trace_records.c fills it, the others ask. */

struct perf_trace {
	struct trace_input trace;
	struct perf_input input;
	struct perf_file *file;
	struct ana_reader reader;
	struct ana_places own, *places; /* places: our own, or those of an analysis of the file */
	const struct aux_protocol *protocol; /* NULL: no trace that is decoded is in it */
	void *protocol_units;
	struct who_history history;
	struct trace_patches patches;
	struct aux_chunks chunks;
	struct perf_time_conv time_conv;
	uint64_t nr_records; /* stands in for time where records have none */
	bool has_time_conv, has_clock, is_of_tasks;
	struct arena memory; /* what units refer to */
	struct {
		VEC(struct trace_unit);
	} units;
	struct map_u64 by_cpu; /* -> unit */
	struct os_lock *lock;  /* of all that a look at code may load */
	struct map_u64 locs;   /* hash of (place, address) -> struct ana_loc * */
};

/** The unit of @p u->cpu: named and given its code here. @return false: no memory. */
bool perf_trace_add_unit(struct perf_trace *p, const struct trace_unit *u);

/* --- trace_records.c: all records but the trace itself --- */

enum clew_err trace_records_read(struct perf_trace *p, struct clew_diag *diag);
/** Do records have the time of CLOCK_MONOTONIC, as what is not the kernel uses it? */
bool trace_is_monotonic(const struct perf_trace *p);

#endif
