/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "make/perf_build.h"
#include "make/splitmix.h"

/*
 * Usage: page_make LIBRARY SAMPLES STACKS < ADDRESSES > perf.data
 *
 * Samples of a busy service, for pages with many of them: STACKS different stacks of functions of
 * LIBRARY (their addresses in hex, one a line), some much more frequent than others; 64 threads of
 * 8 processes on 8 CPUs, which keep to a CPU for some samples and mostly come back to it; each
 * process has stacks of its own; a fifth end in the kernel. Memory does not grow with SAMPLES.
 */

enum { MAX_FUNCTIONS = 4096, MAX_DEPTH = 40, NR_CPUS = 8, NR_THREADS = 64, ROUND = 4096 };

static uint64_t functions[MAX_FUNCTIONS], state = 1;
static uint32_t nr_functions;
static const uint64_t kernel_at = 0xffffffffa0000000;

struct stack {
	uint32_t nr;
	uint64_t chain[MAX_DEPTH];
};

/* Small numbers are more frequent. */
static uint32_t skewed(uint32_t n)
{
	uint64_t a = splitmix_below(&state, n), b = splitmix_below(&state, n);

	return (uint32_t)(a * b / n);
}

/* Callers are of few functions, callees of all; some end in the kernel. */
static void make_stack(struct stack *s, uint32_t kernel_functions)
{
	uint32_t depth = 4 + skewed(MAX_DEPTH - 6), nr = 0;
	bool is_kernel = splitmix_below(&state, 5) == 0;

	if (is_kernel) {
		s->chain[nr++] = (uint64_t)-128;
		s->chain[nr++] = kernel_at + 64 * skewed(kernel_functions) + 8;
		s->chain[nr++] = kernel_at + 64 * (uint64_t)(kernel_functions / 2) + 8;
	}
	s->chain[nr++] = (uint64_t)-512;
	for (uint32_t i = depth; i > 0; i--, nr++)
		s->chain[nr] = functions[i == 1 ? 0 : skewed(i * nr_functions / depth)] + 1;
	s->nr = nr;
}

static void flush(struct perf_build *b)
{
	fwrite(b->data.buf.data, 1, b->data.buf.nr, stdout);
	b->data.buf.nr = b->plain.nr = b->log.nr = 0;
}

/* As a recorder's own records have it, which are of no time. */
static const struct perf_sample_id no_time;

static void describe(struct perf_build *b, const char *library, uint32_t kernel_functions)
{
	union perf_view v;
	char name[32];

	for (uint32_t i = 0; i < kernel_functions; i++) {
		v = (union perf_view){
			.ksymbol = {.addr = kernel_at + 64ull * i, .len = 64, .name = name}
                };
		snprintf(name, sizeof(name), "k_%03u", i);
		perf_build_view(b, PERF_RECORD_KSYMBOL, 0, &v, &no_time);
	}
	for (uint32_t t = 0; t < NR_THREADS; t++) {
		uint32_t pid = 1000 + t / 8 * 8;

		snprintf(name, sizeof(name), "worker-%u", t);
		v = (union perf_view){
			.comm = {.pid = pid, .tid = 1000 + t, .comm = name}
                };
		perf_build_view(b, PERF_RECORD_COMM, 0, &v, &no_time);
		v = (union perf_view){
			.mmap = {.pid = pid,
				 .tid = pid,
				 .is_mmap2 = true,
				 .prot = 5,
				 .len = 1 << 24}
                };
		v.mmap.filename = library;
		if (t % 8 == 0)
			perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, &no_time);
	}
}

/* Each CPU samples each millisecond, with the jitter of timers. */
static void sample(struct perf_build *b, const struct stack *stacks, uint32_t nr_stacks, uint64_t i)
{
	static uint32_t thread_of[NR_CPUS];
	enum { EACH = 1000000 / NR_CPUS };
	struct perf_sample p = {.cpu = (uint32_t)(i % NR_CPUS), .period = 1000000};
	const struct stack *s;
	uint32_t thread;

	if (splitmix_below(&state, 8) == 0)
		thread_of[p.cpu] = skewed(NR_THREADS / NR_CPUS) * NR_CPUS +
				   (splitmix_below(&state, 16) ? p.cpu : skewed(NR_CPUS));
	thread = thread_of[p.cpu];
	s = &stacks[skewed(skewed(nr_stacks / 8) + 1) * 8 + thread / 8];
	p.time = 1000000000000 + i * EACH + splitmix_below(&state, EACH);
	p.tid = 1000 + thread;
	p.pid = 1000 + thread / 8 * 8;
	p.misc = s->chain[0] == (uint64_t)-128 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	p.ip = s->chain[1];
	p.callchain = (struct perf_words){.data = (const uint8_t *)s->chain, .nr = s->nr};
	perf_build_sample(b, 0, &p);
}

int main(int argc, char **argv)
{
	struct perf_build b = {.opts.pipe = true};
	struct perf_attr attr = {.type = PERF_TYPE_SOFTWARE,
				 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
						PERF_SAMPLE_CALLCHAIN,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL,
				 .sample_period = 1000000};
	uint64_t nr = argc == 4 ? strtoull(argv[2], NULL, 10) : 0, address;
	uint32_t nr_stacks = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	struct stack *stacks = calloc(nr_stacks ? nr_stacks : 1, sizeof(*stacks));

	while (nr_functions < MAX_FUNCTIONS && scanf("%" SCNx64, &address) == 1)
		functions[nr_functions++] = address;
	if (nr_stacks < 16 || !stacks || !nr_functions)
		return 2;
	for (uint32_t i = 0; i < nr_stacks; i++)
		make_stack(&stacks[i], 200);
	fwrite("PERFILE2\20\0\0\0\0\0\0\0", 1, 16, stdout);
	perf_build_event(&b, &attr, "cpu-clock", (uint64_t[]){7}, 1);
	describe(&b, argv[1], 200);
	for (uint64_t i = 0; i < nr; i++) {
		sample(&b, stacks, nr_stacks, i);
		if (i % ROUND != ROUND - 1)
			continue;
		perf_build_round(&b);
		flush(&b);
	}
	perf_build_round(&b);
	flush(&b);
	perf_build_done(&b);
	free(stacks);
	return ferror(stdout) != 0;
}
