/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_INLINE_PROFILE_H
#define PROFILE_INLINE_PROFILE_H

#include "base/budget.h"
#include "base/intern.h"
#include "profile/counted_code.h"

/*
 * What ran in a binary, by source: each function by its linkage name, and in it what was inlined,
 * by the place of the call. Places are lines relative to the function's own, and discriminators:
 * so do compilers find them again after the source has moved.
 *
 * Of runs (of a trace, of branch stacks) a place counts as often as the instruction of it that ran
 * most, times the copies that the compiler made of it. Of samples alone, it counts its samples.
 */

enum { INLINE_TOP = UINT32_MAX };
enum { INLINE_MAX_LEVELS = DSO_MAX_LEVELS };

struct inline_place {
	uint32_t node;
	uint32_t offset; /* of the line to the function's, modulo 65536 */
	uint32_t discriminator;
	uint64_t nr;
};

/** A call from a place. */
struct inline_target {
	struct inline_place from; /* nr: of the call */
	const char *name;
};

struct inline_node {
	uint32_t parent;                /* INLINE_TOP: a function; else it was inlined there, */
	uint32_t offset, discriminator; /* at this place */
	const char *name;               /* as linked */
	uint64_t total;                 /* of its places, and what was inlined there */
	uint64_t head;                  /* of a function: how often it was entered */
};

/** Zeroed struct = empty. */
struct inline_profile {
	struct {
		VEC(struct inline_node);
	} nodes;
	struct {
		VEC(struct inline_place);
	} places; /* by node, offset, discriminator */
	struct {
		VEC(struct inline_target);
	} targets; /* the same, then most first, then by name */
	struct {
		VEC(uint32_t);
	} order; /* nodes by parent; functions last, largest first; others by place, then name */
	uint64_t nr_known, nr_unknown; /* samples, or executed ranges, with and without a source */
	uint64_t nr_no_room;           /* not added, as there are too many */
	struct intern names, node_keys, place_keys, target_keys;
	struct budget_account account;
};

/** @p budget: NULL: no limit. Opens files: when nothing else uses the dsos. @return CLEW_OK,
 * CLEW_NO_MEMORY. */
enum clew_err inline_profile_make(struct inline_profile *p, const struct counted_binary *b,
				  struct budget *budget);
void inline_profile_done(struct inline_profile *p);

/** Where the nodes in @p parent begin in order; *ret_nr: how many there are. */
size_t inline_profile_children(const struct inline_profile *p, uint32_t parent, size_t *ret_nr);

/** The first place of @p node, and their number; the same of targets of a place. */
size_t inline_profile_places(const struct inline_profile *p, uint32_t node, size_t *ret_nr);
size_t inline_profile_targets(const struct inline_profile *p, const struct inline_place *at,
			      size_t *ret_nr);

#endif
