/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_TRACE_IMPL_H
#define TRACE_PERF_PERF_TRACE_IMPL_H

#include "analyze/ana_places.h"
#include "analyze/ana_read.h"
#include "analyze/ana_tracing.h"
#include "analyze/ana_windows.h"
#include "trace/perf/aux_chunks.h"
#include "trace/perf/aux_protocol.h"
#include "trace/perf/aux_wanted.h"
#include "trace/perf/perf_trace.h"
#include "trace/perf/trace_code.h"
#include "trace/perf/trace_marks.h"
#include "trace/perf/trace_patches.h"
#include "trace/perf/trace_ran.h"
#include "who/who_history.h"

/* An open recording: perf_trace.c makes it, trace_records.c fills it, the others ask. */

struct perf_trace {
	struct trace_input trace;
	struct perf_input input;
	struct perf_trace_wishes wishes;
	struct perf_file *file;
	struct ana_reader reader;
	struct ana_places own, *places; /* places: our own, or those of an analysis of the file */
	struct aux_units protocols[AUX_MAX_PROTOCOLS];
	uint32_t nr_protocols; /* 0: no trace that is decoded is in it */
	struct who_history history;
	struct trace_ran ran;
	struct trace_marks marks;
	struct trace_patches patches;
	struct aux_chunks chunks;
	struct aux_wanted wanted;
	struct ana_tracing tracing;
	struct ana_windows windows;
	bool wants_windows; /* else the analysis of the file has them */
	struct perf_time_conv time_conv;
	uint64_t nr_records; /* stands in for time where records have none */
	bool has_time_conv, has_clock, is_of_tasks;
	enum code_arch arch; /* of its first trace */
	/* User code at a chunk's start, of the host or of a guest, is taken for the host's. */
	bool is_trial;
	struct arena memory; /* what units refer to */
	struct {
		VEC(struct trace_unit);
	} units;
	struct map_u64 by_cpu; /* of each protocol: perf_trace_cpu_key() -> unit */
	struct os_lock *lock;  /* of all that a look at code may load */
	struct map_u64 locs;   /* hash of (place, address) -> struct ana_loc * */
};

static inline uint64_t perf_trace_cpu_key(uint32_t protocol, uint32_t cpu)
{
	return (uint64_t)protocol << 32 | cpu;
}

/** The protocol of @p unit. */
static inline const struct aux_units *perf_trace_units_of(const struct perf_trace *p, uint32_t unit)
{
	const struct aux_units *u = p->protocols;

	while (unit - u->first >= u->nr)
		u++;
	return u;
}

/** Does its trace show all that runs, with exception levels? Operations do not. */
static inline bool perf_trace_has_levels(const struct perf_trace *p, uint32_t unit)
{
	return perf_trace_units_of(p, unit)->protocol->kernel_level;
}

/** The number in the list of the protocol with aux_protocol.type @p type; nr_protocols: the
 * recording has none of it. */
static inline uint32_t perf_trace_protocol(const struct perf_trace *p, uint32_t type)
{
	uint32_t i = 0;

	while (i < p->nr_protocols && p->protocols[i].protocol->type != type)
		i++;
	return i;
}

/** Who runs on @p unit, as far as @p c says. */
static inline struct aux_who perf_trace_who(const struct perf_trace *p, uint32_t unit,
					    const struct code_context *c)
{
	const struct aux_units *u = perf_trace_units_of(p, unit);

	return u->protocol->who(u->units, unit - u->first, c);
}

/* --- perf_units.c --- */

/** Named and given its code here. @return false: no memory. */
bool perf_trace_add_unit(struct perf_trace *p, const struct trace_unit *u);
/** Only addresses that @p filters have are traced. Borrowed. */
void perf_trace_set_filters(struct perf_trace *p, uint32_t unit, const struct aux_filters *filters);
/** Of all protocols. @return false: no memory. */
bool perf_trace_make_units(struct perf_trace *p);

/* --- trace_records.c: all records but the trace itself --- */

enum clew_err trace_records_read(struct perf_trace *p, struct clew_diag *diag);
/** Do records have the time of CLOCK_MONOTONIC, as what is not the kernel uses it? */

#endif
