/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROP_SEEDS_H
#define PROP_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Seeds of a test, by its arguments FIRST NR; else from 1 on, for some seconds of CPU time. */

enum { SEEDS_MAX_WRONG = 20 };

struct seeds {
	uint64_t done, nr_wrong;
};

/** @p seconds unless CLEW_TEST_SECONDS says otherwise. Ends after SEEDS_MAX_WRONG wrong ones. */
static inline struct seeds seeds_try(int argc, char **argv, unsigned long seconds,
				     bool (*try_one)(void *ctx, uint64_t seed), void *ctx)
{
	const char *s = getenv("CLEW_TEST_SECONDS");
	clock_t until = clock() + (clock_t)(s ? strtoul(s, NULL, 0) : seconds) * CLOCKS_PER_SEC;
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t nr = argc > 2 ? strtoull(argv[2], NULL, 0) : UINT64_MAX;
	struct seeds r = {0, 0};

	for (; r.done < nr && (argc > 2 || clock() < until) && r.nr_wrong < SEEDS_MAX_WRONG;
	     r.done++)
		r.nr_wrong += !try_one(ctx, first + r.done);
	return r;
}

#endif
