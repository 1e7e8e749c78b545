/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_SFRAME_RANDOM_H
#define TESTS_MAKE_SFRAME_RANDOM_H

#include "unwind/sframe_write.h"

/*
 * Random tables that an SFrame section of some version and architecture can hold: the same seed
 * gives the same table on every machine.
 */
enum { SFRAME_RANDOM_FUNCTIONS = 24, SFRAME_RANDOM_ROWS = 16 };

struct sframe_random_function {
	uint64_t start;
	uint32_t size;
	uint8_t rep_size; /* 0: no repeat block */
	size_t nr;
	uint32_t off[SFRAME_RANDOM_ROWS];
	struct unw_rule rule[SFRAME_RANDOM_ROWS]; /* as sframe_rule() gives them back */
};

struct sframe_random {
	struct sframe_write_opts opts;
	uint64_t code_start, code_bytes; /* all functions lie in it */
	size_t nr;
	struct sframe_random_function function[SFRAME_RANDOM_FUNCTIONS];
};

/** Functions in order of address (opts.no_sort: in any order), with gaps between them. */
void sframe_random_fill(struct sframe_random *ret, const struct sframe_write_opts *opts,
			uint64_t seed);

/** Its section, by the product's own writer. @return false: no memory, or something was left out.
 */
bool sframe_random_write(const struct sframe_random *r, struct buf *ret);

#endif
