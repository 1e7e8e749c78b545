/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_IPT_PROGRAM_H
#define TESTS_MAKE_IPT_PROGRAM_H

#include "make/ipt_code.h"
#include "make/ipt_encode.h"

/*
 * A random machine: code of 64, 32 and 16 bits, a processor that executes it as a random generator
 * decides, and Intel PT that watches. What it did is the encoder's truth.
 *
 * Executed: branches of every class, calls deeper than the return stack, returns to elsewhere,
 * interrupts, far transfers between modes, MOV to CR3, VM entries and exits, transactions,
 * PTWRITE. Traced: with and without return compression, deferred TIPs, every form of an address,
 * timing packets, PSB+, overflow, filters of addresses, tracing off and on, power events, Event
 * Trace, PEBS.
 */
enum { IPT_MAX_REGIONS = 6, IPT_MAX_CALLS = 512 };

struct ipt_program_opts {
	uint64_t seed;
	uint64_t nr_insns; /* about */
	bool is_plain;     /* no return compression, no timing packets */
	/** Only what libipt 2.0.5 reads, with the rule of returns that it has; docs/decisions/
	 * intel-pt.md says why. */
	bool for_libipt;
};

struct ipt_place {
	uint32_t region, insn;
};

struct ipt_program {
	/* For the decoder. */
	struct ipt_config config;
	struct code_source source;
	struct ipt_encoder encoder; /* out: the trace; truth */

	struct ipt_program_opts opts;
	uint64_t random;
	struct ipt_code_opts code;
	struct ipt_region regions[IPT_MAX_REGIONS];
	unsigned int nr_regions;
	bool has_filter, has_tracestop;
	uint32_t lose_every, stop_every, interrupt_every, stray_every; /* one in so many */
	uint32_t region_bytes; /* of what the source hands out at a time */

	/* The processor. */
	struct ipt_place at, fallback; /* fallback: of the transaction */
	bool is_in_transaction;
	struct ipt_place calls[IPT_MAX_CALLS];
	unsigned int nr_calls;
};

/** Equal options, equal bytes. @return false: no memory. */
bool ipt_program_make(struct ipt_program *p, const struct ipt_program_opts *o);
void ipt_program_done(struct ipt_program *p);
/** "seed 7, returns, tsc mtc cyc, ...", in static storage. */
const char *ipt_program_text(const struct ipt_program *p);

#endif
