/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BENCH_ETM_MAKE_H
#define BENCH_ETM_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A long trace of a made-up A64 program: some hundred functions that call each other, loop, and
 * branch with odds of their own, run by a random generator. Atoms, addresses of the returns and of
 * the calls through pointers, and a synchronisation every few KiB, as a trace unit sends them.
 */
struct etm_made {
	uint8_t *code; /* at ETM_MADE_BASE */
	size_t code_bytes;
	uint8_t *trace; /* of one unit, without frames */
	size_t trace_bytes;
	uint64_t nr_insns;
};

enum { ETM_MADE_BASE = 0x400000 };

/** The same for the same numbers. @return false: no memory. */
bool etm_make(struct etm_made *ret, unsigned int nr_functions, uint64_t nr_insns);

#endif
