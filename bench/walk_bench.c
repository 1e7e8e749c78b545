/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Time the walker alone on the copied stacks of a recording (--call-graph dwarf).
 *
 * Usage: walk_bench FILE [REPEATS]
 *
 * Each stack is walked once, then TRIES times REPEATS times more under the clock, of which the
 * fastest try counts, as other programs run too: warm is the rules' memo and the stack's bytes in
 * the cache, as they are where a stack is walked right after it was copied.
 * "first" is the first walk: the copy's bytes come from memory, and pcs new to the memo are looked
 * up. Prints one line: stacks, frames, ns a frame warm and first, stacks that reach their end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/ana_sideband.h"
#include "analyze/ana_stack.h"
#include "analyze/analyze_impl.h"
#include "os/file.h"

enum { TRIES = 5 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct totals {
	uint64_t stacks, frames, first_ns, warm_ns, whole, deepest;
};

static void take_sample(struct analyze *a, const struct perf_record *r, unsigned int repeats,
			struct totals *to)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(a->file), r->type,
							       perf_record_body(r), r->swap);
	struct unw_frames f = {0};
	struct perf_sample s;
	struct who_thread *t;
	uint64_t start, middle, took, best = UINT64_MAX;

	if (!evsel || perf_sample_parse(perf_record_body(r), r->misc, r->swap, &evsel->attr, &s) ||
	    !ana_has_stack(&s))
		return;
	t = who_thread_get(a->who, s.pid, s.tid);
	if (!t || !ana_stacks_get(a))
		exit(1);
	start = now_ns();
	ana_walk(a, t, &s, &f);
	middle = now_ns();
	to->first_ns += middle - start;
	for (int i = 0; i < TRIES; i++) {
		start = now_ns();
		for (unsigned int j = 0; j < repeats; j++)
			ana_walk(a, t, &s, &f);
		took = now_ns() - start;
		best = took < best ? took : best;
	}
	to->warm_ns += best;
	to->stacks++;
	to->frames += f.nr;
	to->whole += f.stop == UNW_STOP_OUTERMOST;
	to->deepest = f.nr > to->deepest ? f.nr : to->deepest;
}

int main(int argc, char **argv)
{
	unsigned int repeats = argc > 2 ? (unsigned int)atoi(argv[2]) : 10;
	struct clew_diag diag = {0};
	struct perf_input input = {0};
	struct totals t = {0};
	struct perf_record r;
	struct os_map map;
	struct analyze *a;

	if (argc < 2 || !repeats || os_map_file(argv[1], &map, &diag))
		return 2;
	input.data = map.data;
	input.size = map.size;
	if (analyze_open(&a, &input, &(struct ana_opts){0}, &diag))
		return 1;
	/* In the file's order: in a recording of one process maps precede what runs in them. */
	while (perf_file_next(a->file, &r, &diag) == CLEW_OK) {
		if (r.type == PERF_RECORD_SAMPLE)
			take_sample(a, &r, repeats, &t);
		else
			ana_take_record(a, &r, (struct clew_perf_ns){0});
		perf_block_release(r.block);
	}
	if (!t.frames)
		return 1;
	printf("%llu stacks, %.1f frames on average, at most %llu; %.1f ns a frame warm, %.1f first; "
	       "%.2f %% to the end\n",
	       (unsigned long long)t.stacks, (double)t.frames / (double)t.stacks,
	       (unsigned long long)t.deepest, (double)t.warm_ns / (double)(t.frames * repeats),
	       (double)t.first_ns / (double)t.frames, 100 * (double)t.whole / (double)t.stacks);
	analyze_free(a);
	os_map_done(&map);
	return 0;
}
