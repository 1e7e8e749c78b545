/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_PROGRAM_H
#define TESTS_MAKE_ETM_PROGRAM_H

#include "base/vec.h"
#include "make/enc_unit.h"
#include "packet/etm/etm_config.h"
#include "prop/etm_log.h"

/*
 * A random machine: code of several exception levels, address spaces and times at equal addresses,
 * a PE that executes it as a random generator decides, and the trace unit that watches. What the
 * PE did is the truth; what the unit wrote is what a decoder gets.
 *
 * Executed: branches of every kind, calls deeper than any return stack, exceptions and returns
 * between EL0 (A64, A32, T32) and EL1 to EL3, or of the M profile (every eighth seed), changes of
 * CONTEXTIDR, VMID and security state, code that changes at a time. Traced: atoms, every form of
 * address, return stack, branch broadcast, wrong paths that are cancelled, Q and source address
 * elements, transactions, timestamps, cycle counts, events, markers, instrumentation, overflow,
 * discard, filtering, user space only, PE reset, synchronisation in mid-stream, memory that cannot
 * be read.
 */
enum {
	ETM_NR_USERS = 3,    /* by CONTEXTIDR */
	ETM_NR_VERSIONS = 3, /* by timestamp */
	ETM_NR_SPACES = ETM_NR_USERS * ETM_NR_VERSIONS + 5,
	ETM_MAX_CALLS = 64,
	ETM_MAX_FRAMES = 8,
};

/** What is put back after a wrong path. */
struct etm_pe {
	uint64_t pc;
	enum isa isa;
	struct enc_context context; /* has_cid, has_vmid: traced */
	uint64_t transaction_pc;
	bool in_transaction;
	bool is_lost; /* the decoder has no code here, and waits for an address */
	unsigned int nr_calls, nr_frames;
	struct {
		uint64_t address;
		enum isa isa;
	} calls[ETM_MAX_CALLS];
	struct {
		uint64_t address;
		enum isa isa;
		struct enc_context context;
	} frames[ETM_MAX_FRAMES];
};

struct etm_program {
	/* For the decoder. */
	struct etm_config config;
	struct code_source source;
	bool splits_source_ranges;
	struct enc_unit unit; /* unit.out: the trace */
	/* For the judge. */
	struct {
		VEC(struct etm_log_entry);
	} truth;

	uint64_t seed;
	struct etm_random random;
	struct etm_image images[ETM_NR_SPACES];
	struct etm_pe pe;
	bool has_ts, has_cycles, has_hidden, is_user_only, has_versions, is_speculating;
	bool is_m;              /* M profile: exception returns by any branch, tail chains */
	bool has_habits;        /* most branches go the same way each time */
	bool is_after_overflow; /* and no trace on was sent yet */
	uint32_t owes_place;    /* P0 elements or so until the address that a trace info needs */
	bool lacks_target;      /* an exception came before the target of the branch before ran */
	bool is_wrong;          /* on a path that will be cancelled */
	uint32_t nr_wrong;
	uint32_t return_chance; /* of 8 */
	uint64_t ticks;
	struct {
		VEC(uint64_t);
	} run; /* plain instructions since the last P0 element */
	uint64_t run_start;
	/* Where the truth ended when each uncommitted P0 element came, and that of the last
	 * committed one. */
	struct {
		VEC(size_t);
	} ends;
	size_t safe;
};

/** Everything from @p seed: equal seeds, equal bytes. @p nr_steps: about so many P0 elements, of
 * programs with habits ten times.
 * @return false: no memory. */
bool etm_program_make(struct etm_program *p, uint64_t seed, unsigned int nr_steps);
void etm_program_done(struct etm_program *p);
/** "ETMv4.3 spec 8 ...", in static storage. */
const char *etm_program_text(const struct etm_program *p);

#endif
