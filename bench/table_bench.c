/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What compiling, caching and loading the unwind tables of binaries costs: table_bench FILE...
 * Times are the least of several runs with the file in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "image/code_file.h"
#include "unwind/eh_frame.h"
#include "unwind/unw_compile.h"
#include "unwind/unw_store.h"

enum { RUNS = 5, LOOKUPS = 2000000, PLACES = 1 << 18 };

static double ms_of(const struct unw_store_opts *opts, const char *path, int is_cached_wanted)
{
	double best = -1;

	for (int i = 0; i < RUNS; i++) {
		struct unw_store *s = unw_store_new(opts);
		const struct unw_code *c = s ? unw_store_get_file(s, path) : NULL;

		if (c && c->table.head && c->was_cached == !!is_cached_wanted &&
		    (best < 0 || (double)c->compile_ns / 1e6 < best))
			best = (double)c->compile_ns / 1e6;
		unw_store_free(s);
	}
	return best;
}

/** Nanoseconds a look-up, at @p nr <= PLACES random places of the table again and again. */
static double lookup_ns(const struct unw_table *t, uint32_t nr)
{
	static uint64_t places[PLACES];
	uint64_t span = t->head->end - t->head->start, sum = 0, at = 1;
	struct timespec from, to;

	for (uint32_t i = 0; i < nr; i++) {
		at = at * 6364136223846793005u + 1442695040888963407u;
		places[i] = t->head->start + (at >> 20) % span;
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t i = 0; i < LOOKUPS; i++)
		sum += unw_table_find(t, places[i & (nr - 1)])->cfa;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		       LOOKUPS +
	       (sum == 1 ? 1e-9 : 0);
}

static void bench(const char *path, const char *cache_dir)
{
	struct unw_store_opts plain = {0}, cached = {.cache_dir = cache_dir};
	struct unw_store *s = unw_store_new(&plain);
	const struct unw_code *c = s ? unw_store_get_file(s, path) : NULL;

	if (!c || !c->table.head) {
		printf("%-56s %s\n", path, c && c->why_none ? c->why_none : "out of memory");
	} else {
		const struct unw_table_head *h = c->table.head;
		double compile = ms_of(&plain, path, 0), load;

		(void)ms_of(&cached, path, 0);
		load = ms_of(&cached, path, 1);
		printf("%-56s %8.2f %8.2f %8u %6u %9u %6.1f %6.1f %6.1f\n", path, compile, load,
		       h->nr_rows, h->nr_rules, h->bytes, (double)h->bytes / h->nr_rows,
		       lookup_ns(&c->table, 64), lookup_ns(&c->table, PLACES));
	}
	unw_store_free(s);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/table_bench_XXXXXX", command[64];

	if (!mkdtemp(dir))
		return 1;
	printf("%-56s %8s %8s %8s %6s %9s %6s %6s %6s\n", "binary", "compile", "cached", "rows",
	       "rules", "bytes", "B/row", "find", "find");
	printf("%-56s %8s %8s %8s %6s %9s %6s %6s %6s\n", "", "ms", "ms", "", "", "", "", "hot ns",
	       "ns");
	for (int i = 1; i < argc; i++)
		bench(argv[i], dir);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0;
}
