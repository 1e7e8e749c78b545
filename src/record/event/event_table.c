/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "record/event/event_spell.h"

/* clang-format off */
const struct event_known event_hardware[] = {
	{ "cpu-cycles",              "cycles",                  PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions",            NULL,                      PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references",        NULL,                      PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses",            NULL,                      PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-instructions",     "branches",                PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses",           NULL,                      PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles",              NULL,                      PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", "idle-cycles-frontend",    PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend",  "idle-cycles-backend",     PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles",              NULL,                      PERF_COUNT_HW_REF_CPU_CYCLES },
	{ NULL, NULL, 0 },
};

const struct event_known event_software[] = {
	{ "alignment-faults",        NULL,                      PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "bpf-output",              NULL,                      PERF_COUNT_SW_BPF_OUTPUT },
	{ "cgroup-switches",         NULL,                      PERF_COUNT_SW_CGROUP_SWITCHES },
	{ "context-switches",        "cs",                      PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-clock",               NULL,                      PERF_COUNT_SW_CPU_CLOCK },
	{ "cpu-migrations",          "migrations",              PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "dummy",                   NULL,                      PERF_COUNT_SW_DUMMY },
	{ "emulation-faults",        NULL,                      PERF_COUNT_SW_EMULATION_FAULTS },
	{ "major-faults",            NULL,                      PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "minor-faults",            NULL,                      PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "page-faults",             "faults",                  PERF_COUNT_SW_PAGE_FAULTS },
	{ "task-clock",              NULL,                      PERF_COUNT_SW_TASK_CLOCK },
	{ NULL, NULL, 0 },
};

/* Cache events are spelled cache[-operation][-result]; the first spelling is the one listed. */
enum { OP_READ, OP_WRITE, OP_PREFETCH, NR_OPS };
enum { RESULT_ACCESS, RESULT_MISS, NR_RESULTS };
enum { R = 1 << OP_READ, W = 1 << OP_WRITE, P = 1 << OP_PREFETCH };
enum { MAX_SPELLINGS = 5 };

static const struct cache {
	const char *names[MAX_SPELLINGS];
	uint8_t ops; /* that exist */
} caches[PERF_COUNT_HW_CACHE_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D]  = { { "L1-dcache", "l1-d", "l1d", "L1-data" },           R | W | P },
	[PERF_COUNT_HW_CACHE_L1I]  = { { "L1-icache", "l1-i", "l1i", "L1-instruction" },    R | P },
	[PERF_COUNT_HW_CACHE_LL]   = { { "LLC", "L2" },                                     R | W | P },
	[PERF_COUNT_HW_CACHE_DTLB] = { { "dTLB", "d-tlb", "Data-TLB" },                     R | W | P },
	[PERF_COUNT_HW_CACHE_ITLB] = { { "iTLB", "i-tlb", "Instruction-TLB" },              R },
	[PERF_COUNT_HW_CACHE_BPU]  = { { "branch", "branches", "bpu", "btb", "bpc" },       R },
	[PERF_COUNT_HW_CACHE_NODE] = { { "node" },                                          R | W | P },
};

static const char *const ops[NR_OPS][MAX_SPELLINGS] = {
	[OP_READ]     = { "loads", "load", "read" },
	[OP_WRITE]    = { "stores", "store", "write" },
	[OP_PREFETCH] = { "prefetches", "prefetch", "speculative-read", "speculative-load" },
};

static const char *const results[NR_RESULTS][MAX_SPELLINGS] = {
	[RESULT_ACCESS] = { "refs", "Reference", "ops", "access" },
	[RESULT_MISS]   = { "misses", "miss" },
};
/* clang-format on */

/* How many characters of @w one of the spellings covers, up to a '-' or the end; 0: none. Letter
 * case does not count, as in perf since 6.4. */
static size_t match(const char *const spellings[MAX_SPELLINGS], struct event_word w)
{
	size_t best = 0;

	for (size_t i = 0; i < MAX_SPELLINGS && spellings[i]; i++) {
		size_t n = strlen(spellings[i]);

		if (n > best && n <= w.n && !strncasecmp(spellings[i], w.s, n) &&
		    (n == w.n || w.s[n] == '-'))
			best = n;
	}
	return best;
}

/* Take "-spelling" of one of @nr rows from the front of @w. */
static bool take_row(const char *const rows[][MAX_SPELLINGS], int nr, struct event_word *w,
		     int *ret)
{
	struct event_word rest = {w->s + 1, w->n - 1};

	if (!w->n || *w->s != '-')
		return false;
	for (int i = 0; i < nr; i++) {
		size_t n = match(rows[i], rest);

		if (n) {
			*w = (struct event_word){rest.s + n, rest.n - n};
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool cache_find(struct event_word w, uint64_t *config)
{
	for (unsigned int id = 0; id < PERF_COUNT_HW_CACHE_MAX; id++) {
		size_t n = match(caches[id].names, w);
		struct event_word rest = {w.s + n, w.n - n};
		int op = -1, result = -1;

		if (!n)
			continue;
		for (int part = 0; part < 2; part++) {
			if (op < 0 && take_row(ops, NR_OPS, &rest, &op))
				continue;
			if (result < 0)
				take_row(results, NR_RESULTS, &rest, &result);
		}
		if (rest.n)
			continue;
		op = op < 0 ? OP_READ : op;
		result = result < 0 ? RESULT_ACCESS : result;
		if (!(caches[id].ops & 1 << op))
			return false;
		*config = id | (unsigned int)op << 8 | (unsigned int)result << 16;
		return true;
	}
	return false;
}

bool event_cache_name(size_t n, char *ret, size_t size)
{
	for (size_t id = 0; id < PERF_COUNT_HW_CACHE_MAX; id++) {
		for (size_t op = 0; op < NR_OPS; op++) {
			if (!(caches[id].ops & 1 << op))
				continue;
			if (n < NR_RESULTS) {
				/* "L1-dcache-loads", "L1-dcache-load-misses" */
				snprintf(ret, size, "%s-%s%s", caches[id].names[0], ops[op][n],
					 n == RESULT_MISS ? "-misses" : "");
				return true;
			}
			n -= NR_RESULTS;
		}
	}
	return false;
}

static bool table_find(const struct event_known *table, struct event_word w, uint64_t *config)
{
	for (; table->name; table++) {
		if (event_word_is(w, table->name) ||
		    (table->alias && event_word_is(w, table->alias))) {
			*config = table->config;
			return true;
		}
	}
	return false;
}

bool event_known_find(struct event_word w, uint32_t *type, uint64_t *config)
{
	*type = PERF_TYPE_HARDWARE;
	if (table_find(event_hardware, w, config))
		return true;
	*type = PERF_TYPE_SOFTWARE;
	if (table_find(event_software, w, config))
		return true;
	*type = PERF_TYPE_HW_CACHE;
	return cache_find(w, config);
}
