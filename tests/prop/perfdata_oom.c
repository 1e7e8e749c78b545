/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "make/perf_random.h"
#include "prop/perfdata_walk.h"
#include "unit/tap.h"

/*
 * Each allocation in turn fails: no crash, no leak (the sanitizer's matter), and the reader either
 * says CLEW_NO_MEMORY or did without.
 */
static void test_kind(const char *name, struct perf_build_opts opts, uint32_t compress_type,
		      size_t chunk)
{
	struct perf_random r = {.state = 21};
	struct perf_build b = {0};
	struct perf_walk whole, w;
	struct bytes file;
	unsigned int silent = 0, nr = 0;
	bool failed = true;

	perf_random_fill(&r,
			 &(struct perf_random_opts){.build = opts,
						    .nr_records = 60,
						    .compress_type = compress_type,
						    .is_ordered = true},
			 &b);
	file = perf_build_finish(&b);
	perf_walk(file, chunk, &whole);
	for (; failed && nr < 100000; nr++) {
		mem_fail_after(nr);
		perf_walk(file, chunk, &w);
		failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		silent += failed && w.open_err != CLEW_NO_MEMORY && w.end != CLEW_NO_MEMORY &&
			  w.hash != whole.hash;
	}
	CHECK_EQ(silent, 0, "%s: each of %u allocations fails once, and is reported", name, nr - 1);
	perf_build_done(&b);
	perf_random_done(&r);
}

int main(void)
{
	test_kind("file", (struct perf_build_opts){0}, 0, 0);
	test_kind("pipe", (struct perf_build_opts){.pipe = true}, 0, 500);
	test_kind("compressed file", (struct perf_build_opts){0}, PERF_RECORD_COMPRESSED, 0);
	test_kind("compressed2 pipe", (struct perf_build_opts){.pipe = true},
		  PERF_RECORD_COMPRESSED2, 500);
	return tap_done();
}
