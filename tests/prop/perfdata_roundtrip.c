/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/hash.h"
#include "make/perf_random.h"
#include "prop/perfdata_walk.h"
#include "unit/tap.h"

/* Random valid recordings come out of the reader as they went into the builder. */

struct kind {
	const char *name;
	struct perf_build_opts build;
	uint32_t compress_type;
	size_t chunk; /* for read() */
};

/* clang-format off */
static const struct kind kinds[] = {
	{"file",                       {0},                          0,                       0   },
	{"big-endian file",            {.big = true},                0,                       0   },
	{"file of 64-byte attrs",      {.attr_bytes = 64},           0,                       0   },
	{"file of 112-byte attrs",     {.attr_bytes = 112},          0,                       0   },
	{"file of 136-byte attrs",     {.attr_bytes = 136},          0,                       0   },
	{"file of 168-byte attrs",     {.attr_bytes = 168},          0,                       0   },
	{"unfinished file",            {.is_unfinished = true},      0,                       0   },
	{"simpleperf's trace index",   {.simpleperf_index = true},   0,                       0   },
	{"compressed file",            {0},                          PERF_RECORD_COMPRESSED,  0   },
	{"compressed2 file",           {0},                          PERF_RECORD_COMPRESSED2, 0   },
	{"big-endian compressed2",     {.big = true},                PERF_RECORD_COMPRESSED2, 0   },
	{"mapped pipe",                {.pipe = true},               0,                       0   },
	{"pipe",                       {.pipe = true},               0,                       7   },
	{"big-endian pipe",            {.pipe = true, .big = true},  0,                       4096},
	{"compressed pipe",            {.pipe = true},               PERF_RECORD_COMPRESSED,  100 },
	{"compressed2 pipe",           {.pipe = true},               PERF_RECORD_COMPRESSED2, 1   },
};
/* clang-format on */

/* The hash perf_walk() makes, of what the builder says must be delivered. */
static uint64_t hash_of_log(const struct perf_build *b)
{
	uint64_t h = 0;

	for (size_t i = 0; i < b->log.nr; i++) {
		const struct perf_build_record *r = &b->log.data[i];
		const char *p = b->plain.data + r->at;

		h = hash_two(h, hash_bytes(p, r->size));
		h = hash_two(h, hash_bytes(p + r->size, r->payload_bytes));
	}
	return h;
}

static bool check_one(const struct kind *k, uint64_t seed)
{
	struct perf_random r = {.state = seed};
	struct perf_build b = {0};
	struct perf_walk w;
	struct bytes file;
	bool same;

	perf_random_fill(&r,
			 &(struct perf_random_opts){.build = k->build,
						    .nr_records = 200,
						    .compress_type = k->compress_type,
						    .is_ordered = true},
			 &b);
	file = perf_build_finish(&b);
	perf_walk(file, k->chunk, &w);
	same = w.open_err == CLEW_OK && w.end == CLEW_END && w.nr_records == b.log.nr &&
	       w.hash == hash_of_log(&b) && !w.nr_bad && !w.nr_late;
	if (!same)
		printf("# seed %llu: open %s, end %s (%s at %llu), %llu of %zu records, %llu bad, "
		       "%llu late\n",
		       (unsigned long long)seed, clew_err_name(w.open_err), clew_err_name(w.end),
		       w.diag.what ? w.diag.what : "", (unsigned long long)w.diag.offset,
		       (unsigned long long)w.nr_records, b.log.nr, (unsigned long long)w.nr_bad,
		       (unsigned long long)w.nr_late);
	perf_build_done(&b);
	perf_random_done(&r);
	return same;
}

int main(void)
{
	const char *env = getenv("CLEW_TEST_ROUNDS");
	uint64_t rounds = env ? strtoull(env, NULL, 0) : 10;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		int lost = 0;

		for (uint64_t seed = 1; seed <= rounds; seed++)
			lost += !check_one(&kinds[k], seed);
		CHECK_EQ(lost, 0, "%s: %llu random ones, all records and payloads equal, in order",
			 kinds[k].name, (unsigned long long)rounds);
	}
	return tap_done();
}
