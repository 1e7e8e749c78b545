/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/mutate.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "os/file.h"
#include "unit/tap.h"

struct run {
	struct mutate *m;
	struct bytes file;
	uint8_t *copy; /* of file, damaged */
	struct perf_random random;
	uint64_t nr_left_out;
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

static void use(struct run *r, struct bytes copy)
{
	r->m->nr_wrong += !r->m->use(r->m->ctx, copy, r->m->nr_used);
	r->m->nr_used++;
}

/* The prefix in memory of its own, so that reading past it shows. */
static void use_prefix(struct run *r, size_t size)
{
	uint8_t *prefix;

	if (is_time_up(r))
		return;
	prefix = mem_alloc(size);
	if (!prefix)
		return;
	if (size)
		memcpy(prefix, r->file.pos, size);
	use(r, bytes_of(prefix, size));
	mem_free(prefix);
}

enum { EDGE = 64 << 10, RANDOM_CUTS = 1000 };

static void cut(struct run *r, size_t step)
{
	size_t size = bytes_left(&r->file);

	for (size_t n = 0; n < size && n < EDGE; n += step)
		use_prefix(r, n);
	for (size_t n = size > 2 * (size_t)EDGE ? size - EDGE : EDGE; n < size; n += step)
		use_prefix(r, n);
	for (int i = 0; i < RANDOM_CUTS; i++)
		use_prefix(r, perf_random_below(&r->random, size));
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
		use(r, bytes_of(r->copy, size));
	}
}

void mutate_bytes(struct mutate *m, const char *name, struct bytes file)
{
	struct run r = {.m = m, .file = file, .random = {.state = 31}};
	size_t step = 1 + bytes_left(&file) / (256 << 10);
	uint64_t seconds = number_of_env("CLEW_TEST_SECONDS", 5), before = m->nr_used;

	r.copy = mem_alloc(bytes_left(&file));
	if (!r.copy)
		return;
	/* Half of the time for each. */
	r.deadline = clock() + (clock_t)(seconds * CLOCKS_PER_SEC / 2);
	mutate(&r, number_of_env("CLEW_TEST_MUTATIONS", 10000));
	r.deadline = clock() + (clock_t)(seconds * CLOCKS_PER_SEC / 2);
	cut(&r, step);
	m->nr_left_out += r.nr_left_out;
	CHECK(m->nr_wrong == 0, "%s: %llu damaged copies (%llu left out for time)", name,
	      (unsigned long long)(m->nr_used - before), (unsigned long long)r.nr_left_out);
	mem_free(r.copy);
}

void mutate_built(struct mutate *m, const char *name, struct perf_build_opts opts,
		  uint32_t compress_type)
{
	struct perf_random r = {.state = 41};
	struct perf_build b = {0};

	perf_random_fill(&r,
			 &(struct perf_random_opts){.build = opts,
						    .nr_records = 100,
						    .compress_type = compress_type,
						    .is_ordered = true},
			 &b);
	mutate_bytes(m, name, perf_build_finish(&b));
	perf_build_done(&b);
	perf_random_done(&r);
}

void mutate_path(struct mutate *m, const char *path)
{
	struct os_map map = {0};
	char name[256];

	if (os_map_file(path, &map, NULL) != CLEW_OK) {
		snprintf(name, sizeof(name), "cannot read %s", path);
		SKIP(name);
		return;
	}
	mutate_bytes(m, path, bytes_of(map.data, map.size));
	os_map_done(&map);
}

void mutate_check_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	CHECK(usage.ru_maxrss < 1 << 20, "peak memory below 1 GiB (%ld KiB)", usage.ru_maxrss);
}

int mutate_done(void)
{
	return tap_done();
}
