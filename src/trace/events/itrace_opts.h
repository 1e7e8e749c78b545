/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_ITRACE_OPTS_H
#define TRACE_EVENTS_ITRACE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/err.h>

/* Which events to make of a hardware trace, as perf's --itrace spells it.
 * Spec: perf-itrace(1), "itrace options" (tools/perf/Documentation/itrace.txt, Linux 7.3). */

enum itrace_unit { ITRACE_INSNS, ITRACE_TICKS, ITRACE_NS };

enum {
	ITRACE_DEFAULT_NS = 100000,
	ITRACE_DEFAULT_CHAIN = 16,
	ITRACE_DEFAULT_BRANCHES = 64,
	ITRACE_MAX_DEPTH = 1024, /* of chains and of last branches */
};

struct itrace_opts {
	bool branches;                                  /* b; with calls or returns: those alone */
	bool calls, returns;                            /* c, r */
	bool insns;                                     /* i */
	bool errors;                                    /* e */
	bool transactions, ptwrites, power, interrupts; /* x, w, p, I: of Intel PT */
	bool memory, remote; /* M, a: of sampled operations, as the next three */
	bool l1, last_level; /* f, m: accesses and misses of these caches, */
	bool tlb;            /* t: and of the TLB */
	bool aux_outputs;    /* o: samples of events that wrote into the trace (PEBS) */
	bool is_default;     /* nothing was asked for: sampled operations are instructions, too */
	bool chains;         /* g: on the instructions */
	bool last_branches;  /* l: on the instructions */
	bool is_timeless;    /* Z */
	bool is_kernel_time; /* T: the trace's ticks are the recording's nanoseconds */
	bool is_rough;       /* A: cycles also where they do not end with the branch */
	uint8_t detail;      /* q, qq: enum flow_detail; of Intel PT */
	uint32_t max_chain, max_branches;
	uint8_t unit; /* enum itrace_unit, of the period */
	uint64_t period;
	uint64_t nr_skipped;                /* s: events skipped at the start */
	uint32_t errors_plus, errors_minus; /* e's flags: bit 0 'a' ... bit 25 'z' */
	/* Asked for, without a meaning for ETM, each once: M a f m t have one for SPE. */
	char ignored[24];
};

/** What is made when nothing was asked for: @p is_sampled: instructions every 100 us, branches and
 * errors (report); else branches and errors (script). */
void itrace_opts_default(struct itrace_opts *o, bool is_sampled);

/**
 * Parse "i100us,b,e-o": blanks and commas between, or nothing. *ret is as it was on failure.
 * @return CLEW_INVALID: *ret_what says in static words what is wrong at *ret_at.
 */
enum clew_err itrace_opts_parse(struct itrace_opts *ret, const char *text, const char **ret_at,
				const char **ret_what);

#endif
