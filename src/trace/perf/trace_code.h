/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_CODE_H
#define TRACE_PERF_TRACE_CODE_H

#include "analyze/analyze.h"
#include "image/code_source.h"

/* The code of a recording, as a code_source for each unit; places in it. */

struct perf_trace;
struct aux_filters;

/** Space numbers: 4 * version + how to look beyond it. The first versions have no code at all: */
enum trace_no_code {
	TRACE_NO_THREAD, /* the owner of the code is unknown */
	TRACE_NO_PROCESS,
	TRACE_GUEST,
	TRACE_GUEST_UNKNOWN, /* unknown which guest's, */
	TRACE_GUEST_THREAD,  /* or which of its threads' */
	TRACE_WORLD,         /* or whether a guest's at all */
	TRACE_FIRMWARE,
	TRACE_NOT_KEPT, /* later than the budget had room for */
	TRACE_NR_NO_CODE
};

struct trace_unit_code {
	struct perf_trace *owner;
	uint32_t unit;
	struct code_source source;
	const struct aux_filters *filters; /* NULL: everything is traced */
};

uint32_t trace_code_space(void *ctx, const struct code_key *key);
bool trace_code_find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret);
enum code_landmark trace_code_landmark(void *ctx, uint32_t space, uint64_t addr);
/** Does no mapping of @p space, which is a process's of the host and has some, hold @p addr? */
bool trace_code_is_unmapped(const struct perf_trace *p, uint32_t space, uint64_t addr);
/** By the filters of the unit's recording. */
bool trace_code_is_traced(void *ctx, uint32_t space, uint64_t addr);
const char *trace_code_why(void *ctx, uint32_t space, uint64_t addr);
/** As trace_input_ops.stay. */
struct trace_stay trace_code_stay(struct perf_trace *p, uint32_t unit, const struct code_key *key);
/** @p is_return: as ana_loc.is_return; not of address 0. */
const struct ana_loc *trace_code_locate(struct perf_trace *p, uint32_t space, uint64_t addr,
					bool is_return);

#endif
