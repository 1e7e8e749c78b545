/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_TRACER_IMPL_H
#define TESTS_MAKE_ETM_TRACER_IMPL_H

#include "make/etm_tracer.h"

enum { TRACER_ATOMS = 48, TRACER_STACK = 16 };

struct tracer_atom {
	uint64_t address; /* of the waypoint */
	bool is_e, is1, has_address;
};

struct etm_tracer {
	struct etm_tracer_opts opts;
	const struct etm_config *config;
	struct buf *out;
	uint64_t random;
	/* What the decoder knows. */
	struct etm_place history[3];
	uint64_t timestamp;
	struct enc_context sent;
	/* What is not written yet: atoms, then a context and an address. */
	struct tracer_atom atoms[TRACER_ATOMS];
	unsigned int nr_atoms;
	bool has_context, has_address, was_predicted;
	struct enc_context context;
	struct etm_place address;
	/* Where execution is, if that is known. */
	bool is_here;
	struct etm_place here;
	struct etm_place stack[TRACER_STACK];
	unsigned int stack_nr, stack_depth;
	uint32_t depth; /* P0 elements that are not committed */
	bool is_synced, is_wrong;
	size_t last_nr;
	uint64_t since_sync;
	struct etm_tracer_stats stats;
};

uint64_t tracer_random(struct etm_tracer *t, uint64_t below);
/** @return whether a choice that happens in @p percent of the cases does. */
bool tracer_chance(struct etm_tracer *t, unsigned int percent);
/** Whether to do something unusual here. */
bool tracer_varies(struct etm_tracer *t);

/** @p n more P0 elements were written. */
void tracer_p0(struct etm_tracer *t, uint32_t n);

void tracer_add_atom(struct etm_tracer *t, const struct tracer_atom *a);
void tracer_flush_atoms(struct etm_tracer *t);

void tracer_put_address(struct etm_tracer *t, struct etm_place a);
void tracer_put_source(struct etm_tracer *t, struct etm_place a);

/** The last waypoint's atom is in the queue: after it, a wrong path; with @p is_flipped the atom is
 * the wrong one, too. Nothing of it stays. */
void tracer_wrong_path(struct etm_tracer *t, bool is_flipped);

#endif
