/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_FUZZ_FUZZ_SEEDS_H
#define TESTS_FUZZ_FUZZ_SEEDS_H

#include <stdio.h>

#include "base/buf.h"

/** A program that writes inputs for a fuzzer to start from. */

static inline int fuzz_seed_write(const char *dir, unsigned int i, const struct buf *b)
{
	char path[4096];
	FILE *f;
	int status = 1;

	snprintf(path, sizeof(path), "%s/%02u", dir, i);
	f = fopen(path, "wb");
	if (f && !b->is_failed && fwrite(b->data, 1, b->nr, f) == b->nr)
		status = 0;
	if (f && fclose(f))
		status = 1;
	return status;
}

/** main(): @p make fills input number 0 to @p nr - 1, or leaves it out by leaving it empty.
 * Usage: NAME DIR. @return the exit code. */
static inline int fuzz_seeds(int argc, char **argv, unsigned int nr,
			     void (*make)(struct buf *b, unsigned int i))
{
	int status = 0;

	if (argc != 2)
		return 2;
	for (unsigned int i = 0; i < nr; i++) {
		struct buf b = {0};

		make(&b, i);
		if (b.nr || b.is_failed)
			status |= fuzz_seed_write(argv[1], i, &b);
		buf_done(&b);
	}
	return status;
}

#endif
