/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/mutate.h"
#include "prop/perfdata_walk.h"

/*
 * Recordings of the builder and real ones (the arguments), damaged in many ways, then used through
 * all of src/perfdata in this process: no crash, no hang, no sanitizer report, memory bounded.
 */

/* Every fourth time through read(), in pieces of some odd size. */
static bool walk(void *ctx, struct bytes copy, uint64_t nr)
{
	struct perf_walk w;

	(void)ctx;
	perf_walk(copy, nr % 4 == 3 ? 1 + nr * 7919 % 100000 : 0, &w);
	return !w.is_over_budget;
}

int main(int argc, char **argv)
{
	struct mutate m = {.use = walk};

	mutate_built(&m, "file", (struct perf_build_opts){0}, 0);
	mutate_built(&m, "big-endian pipe", (struct perf_build_opts){.pipe = true, .big = true}, 0);
	mutate_built(&m, "compressed", (struct perf_build_opts){0}, PERF_RECORD_COMPRESSED2);
	for (int i = 1; i < argc; i++)
		mutate_path(&m, argv[i]);
	mutate_check_memory();
	return mutate_done();
}
