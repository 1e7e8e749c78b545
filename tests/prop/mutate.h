/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_MUTATE_H
#define TESTS_PROP_MUTATE_H

#include "make/perf_random.h"

/**
 * Gives damaged copies of a recording to a function: cut at every byte of the first and last 64 KiB
 * (every n-th in larger files) and at 1,000 random places, and with random bytes, bits, numbers and
 * moved pieces in it.
 *
 * The defaults of the environment's CLEW_TEST_MUTATIONS (10000 a file) and CLEW_TEST_SECONDS (5 of
 * CPU time a file); what there is no time for is left out and counted.
 */
struct mutate {
	/* @p nr: which copy it is. @return false: that went wrong (counted). */
	bool (*use)(void *ctx, struct bytes copy, uint64_t nr);
	void *ctx;
	uint64_t nr_used, nr_wrong, nr_left_out;
};

/** All copies of @p file; one TAP line named @p name. */
void mutate_bytes(struct mutate *m, const char *name, struct bytes file);

/** A recording of the builder. */
void mutate_built(struct mutate *m, const char *name, struct perf_build_opts opts,
		  uint32_t compress_type);

/** A file on disk; skipped where it cannot be read. */
void mutate_path(struct mutate *m, const char *path);

/** A TAP line about this process's peak memory. */
void mutate_check_memory(void);

/** The plan. @return the exit status. */
int mutate_done(void);

#endif
