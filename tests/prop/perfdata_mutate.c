/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "make/perf_random.h"
#include "os/file.h"
#include "prop/perfdata_walk.h"
#include "unit/tap.h"

/*
 * The builder's recordings and real ones (the arguments), cut and damaged in many ways, then used
 * as a whole in this process: no crash, no hang, no sanitizer report, memory bounded.
 *
 * CLEW_TEST_MUTATIONS: how many random mutations a file (default 10000); CLEW_TEST_SECONDS: how
 * long a file may take (default 8; the rest is then left out, and the output says how much).
 */

struct run {
	struct bytes file;
	uint8_t *copy; /* of file, damaged; as large, so that cuts have their end in the middle */
	struct perf_random random;
	uint64_t nr_walks, nr_over_budget, nr_left_out;
	clock_t deadline;
};

static uint64_t number_of_env(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

static bool is_time_up(struct run *r)
{
	if (clock() < r->deadline)
		return false;
	r->nr_left_out++;
	return true;
}

static void walk(struct run *r, struct bytes b)
{
	struct perf_walk w;

	/* Every fourth time through read(), in pieces of some odd size. */
	perf_walk(b, r->nr_walks % 4 == 3 ? 1 + perf_random_below(&r->random, 100000) : 0, &w);
	r->nr_walks++;
	r->nr_over_budget += w.is_over_budget;
}

/* The prefix in memory of its own, so that reading past it shows. */
static void walk_prefix(struct run *r, size_t size)
{
	uint8_t *prefix;

	if (is_time_up(r))
		return;
	prefix = mem_alloc(size);
	if (!prefix)
		return;
	if (size)
		memcpy(prefix, r->file.pos, size);
	walk(r, bytes_of(prefix, size));
	mem_free(prefix);
}

enum { EDGE = 64 << 10, RANDOM_CUTS = 1000 };

static void cut(struct run *r, size_t step)
{
	size_t size = bytes_left(&r->file);

	for (size_t n = 0; n < size && n < EDGE; n += step)
		walk_prefix(r, n);
	for (size_t n = size > 2 * (size_t)EDGE ? size - EDGE : EDGE; n < size; n += step)
		walk_prefix(r, n);
	for (int i = 0; i < RANDOM_CUTS; i++)
		walk_prefix(r, perf_random_below(&r->random, size));
}

static const uint64_t nasty[] = {0,          1,
				 7,          8,
				 0xff,       0xffff,
				 0x7fffffff, 0x8000,
				 0xffffffff, (uint64_t)1 << 31,
				 UINT64_MAX, (uint64_t)1 << 63};

static void damage(struct run *r, size_t size)
{
	size_t at = perf_random_below(&r->random, size);
	uint64_t v = nasty[perf_random_below(&r->random, sizeof(nasty) / sizeof(*nasty))];
	size_t width = (size_t)1 << perf_random_below(&r->random, 4);

	/* The header and the first records are where the sizes of everything else stand. */
	if (perf_random_below(&r->random, 3) == 0)
		at %= 512;
	switch (perf_random_below(&r->random, 4)) {
	case 0:
		r->copy[at] ^= (uint8_t)(1u << perf_random_below(&r->random, 8));
		break;
	case 1:
		r->copy[at] = (uint8_t)perf_random_u64(&r->random);
		break;
	case 2:
		at &= ~(width - 1);
		memcpy(r->copy + at, &v, size - at < width ? size - at : width);
		break;
	default:
		v = perf_random_below(&r->random, size);
		width = perf_random_below(&r->random, 64);
		if (size - at >= width && size - v >= width)
			memmove(r->copy + at, r->copy + v, width);
		break;
	}
}

static void mutate(struct run *r, uint64_t n)
{
	size_t size = bytes_left(&r->file);

	for (uint64_t i = 0; i < n && size; i++) {
		if (is_time_up(r))
			continue;
		memcpy(r->copy, r->file.pos, size);
		for (uint64_t k = 1 + perf_random_below(&r->random, 8); k; k--)
			damage(r, size);
		walk(r, bytes_of(r->copy, size));
	}
}

static void test_bytes(const char *name, struct bytes file)
{
	struct run r = {.file = file, .random = {.state = 31}};
	size_t step = 1 + bytes_left(&file) / (256 << 10);
	uint64_t seconds = number_of_env("CLEW_TEST_SECONDS", 8);

	r.copy = mem_alloc(bytes_left(&file));
	/* Half of the time for each. */
	r.deadline = clock() + (clock_t)(seconds * CLOCKS_PER_SEC / 2);
	mutate(&r, number_of_env("CLEW_TEST_MUTATIONS", 10000));
	r.deadline = clock() + (clock_t)(seconds * CLOCKS_PER_SEC / 2);
	cut(&r, step);
	CHECK(r.nr_over_budget == 0,
	      "%s: %llu damaged copies, each read to an end (%llu left out for time)", name,
	      (unsigned long long)r.nr_walks, (unsigned long long)r.nr_left_out);
	mem_free(r.copy);
}

static void test_built(const char *name, struct perf_build_opts opts, uint32_t compress_type)
{
	struct perf_random r = {.state = 41};
	struct perf_build b = {0};

	perf_random_fill(&r,
			 &(struct perf_random_opts){.build = opts,
						    .nr_records = 100,
						    .compress_type = compress_type,
						    .is_ordered = true},
			 &b);
	test_bytes(name, perf_build_finish(&b));
	perf_build_done(&b);
	perf_random_done(&r);
}

static void test_path(const char *path)
{
	struct os_map map = {0};
	char name[256];

	if (os_map_file(path, &map, NULL) != CLEW_OK) {
		snprintf(name, sizeof(name), "cannot read %s", path);
		SKIP(name);
		return;
	}
	test_bytes(path, bytes_of(map.data, map.size));
	os_map_done(&map);
}

int main(int argc, char **argv)
{
	struct rusage usage;

	test_built("file", (struct perf_build_opts){0}, 0);
	test_built("big-endian pipe", (struct perf_build_opts){.pipe = true, .big = true}, 0);
	test_built("compressed", (struct perf_build_opts){0}, PERF_RECORD_COMPRESSED2);
	for (int i = 1; i < argc; i++)
		test_path(argv[i]);
	getrusage(RUSAGE_SELF, &usage);
	CHECK(usage.ru_maxrss < 1 << 20, "peak memory below 1 GiB (%ld KiB)", usage.ru_maxrss);
	return tap_done();
}
