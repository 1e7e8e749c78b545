/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_RESOLVE_H
#define ANALYZE_ANA_RESOLVE_H

#include "analyze/analyze.h"
#include "base/arena.h"
#include "who/who.h"

/* Addresses to locations, chains to interned chains. */

struct ana_cache {
	struct arena memory; /* locs and chains of this epoch */
	struct ana_loc_slot {
		uint64_t ip;
		uint32_t space, generation;
		uint8_t arrival;     /* enum ana_arrival */
		struct ana_loc *loc; /* NULL: empty */
	} * locs;
	size_t nr_locs, cap_locs; /* nr_locs: slots in use */
	struct ana_chain_slot {
		uint64_t hash;
		const struct ana_chain *chain; /* NULL: empty */
		const uint8_t *words;          /* as recorded */
		uint32_t nr_words, space, generation, kernel_generation;
		uint8_t callers;
	} * chains;
	size_t nr_chains, cap_chains;
	uint32_t next_loc_id, next_chain_id;
	uint64_t epoch;
};

/** Code that is made at run time changes without a record of its maps: @p t's is another one now,
 * or was not asked for yet. */
void ana_resolve_other_code(struct analyze *a, struct who_thread *t, struct clew_perf_ns time);

const struct ana_loc *ana_resolve(struct analyze *a, struct who_thread *t, enum ana_level level,
				  uint64_t ip);
/** The same of an address that a branch comes from, with ana_loc.source. */
const struct ana_loc *ana_resolve_source(struct analyze *a, struct who_thread *t,
					 enum ana_level level, uint64_t ip);

/** Of which frames of a chain what does not follow a mark is looked up as a caller (ana_caller.h);
 * all others are looked up at their addresses themselves, as perf does it. */
enum {
	ANA_CALLERS_USER = 1 << 0,
	ANA_CALLERS_OTHER = 1 << 1,
	ANA_CALLERS_ENTERED = 1 << 2 /* with both: sampled in the kernel */
};

/** *ret stays NULL for a chain that names no address. @p callers: ANA_CALLERS_ */
enum clew_err ana_resolve_chain(struct analyze *a, struct who_thread *t,
				const struct perf_words *words, uint8_t callers,
				const struct ana_chain **ret);

/** Asked for each sample more than once. */
static inline enum ana_level ana_level_of_misc(uint16_t misc)
{
	static const uint8_t levels[PERF_RECORD_MISC_CPUMODE_MASK + 1] = {
		[PERF_RECORD_MISC_KERNEL] = ANA_KERNEL,
		[PERF_RECORD_MISC_USER] = ANA_USER,
		[PERF_RECORD_MISC_HYPERVISOR] = ANA_HYPERVISOR,
		[PERF_RECORD_MISC_GUEST_KERNEL] = ANA_GUEST_KERNEL,
		[PERF_RECORD_MISC_GUEST_USER] = ANA_GUEST_USER,
	};

	return (enum ana_level)levels[misc & PERF_RECORD_MISC_CPUMODE_MASK];
}

bool ana_cache_is_full(const struct analyze *a);
void ana_cache_reset(struct ana_cache *c);
void ana_cache_done(struct ana_cache *c);

#endif
