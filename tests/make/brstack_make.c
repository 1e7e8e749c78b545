/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make/perf_build.h"

/*
 * Usage: brstack_make BINARY START OFFSET SIZE EVERY < ADDRESSES > perf.data
 *
 * A recording with a branch stack at each EVERYth taken branch, made from the addresses of
 * instructions in the order in which they ran (hex, one per line, 4 bytes each). BINARY is mapped
 * at START from OFFSET on, SIZE bytes; numbers are hex. With EVERY f each run of instructions
 * between two branches is in exactly one stack: the last one is as short as it needs to be.
 */

enum { DEPTH = 16, WORDS = 3 };

static uint64_t stack[DEPTH * WORDS]; /* newest first */
static size_t nr_entries;

static void push(uint64_t from, uint64_t to, uint64_t flags)
{
	memmove(stack + WORDS, stack, sizeof(stack) - WORDS * sizeof(*stack));
	stack[0] = from;
	stack[1] = to;
	stack[2] = flags;
	nr_entries += nr_entries < DEPTH;
}

static void add_sample(struct perf_build *b, uint64_t ip, uint64_t time, size_t nr)
{
	struct perf_sample s = {.misc = PERF_RECORD_MISC_USER,
				.ip = ip,
				.time = time,
				.pid = 10,
				.tid = 10,
				.period = 1};

	s.branches.nr = nr;
	s.branches.words =
		(struct perf_words){.data = (const uint8_t *)stack, .nr = (uint32_t)(nr * WORDS)};
	perf_build_sample(b, 0, &s);
}

/** Always taken: B, BL, BR, BLR, RET. They may lead to the next instruction. */
static bool is_taken(FILE *binary, uint64_t offset)
{
	uint8_t p[4] = {0};
	uint32_t word;

	if (fseek(binary, (long)offset, SEEK_SET) || fread(p, 4, 1, binary) != 1)
		return false;
	word = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return (word & 0x7c000000) == 0x14000000 || (word & 0xfe000000) == 0xd6000000;
}

static void add_samples(struct perf_build *b, uint64_t every, FILE *binary, uint64_t bias)
{
	uint64_t address, last = 0, nr = 0;

	for (; scanf("%" SCNx64, &address) == 1; last = address) {
		if (!last || (address == last + 4 && !is_taken(binary, last - bias)))
			continue;
		push(last, address, ++nr % 7 ? 2 : 1);
		if (nr % every == 0)
			add_sample(b, address, 1000000 + nr, nr_entries);
	}
	push(last, last, 2); /* somewhere: the trace ends */
	nr++;
	if (nr % every && nr % every < nr_entries)
		add_sample(b, last, 1000000 + nr, nr % every + 1);
}

int main(int argc, char **argv)
{
	struct perf_build b = {.opts.attr_bytes = 128}; /* what perf 6.1 reads */
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE,
				 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
						PERF_SAMPLE_BRANCH_STACK,
				 .sample_period = 1,
				 .branch_sample_type = 1 << 0 | 1 << 3};
	union perf_view v = {
		.comm = {.pid = 10, .tid = 10, .comm = "app"}
        };
	struct bytes file;
	FILE *binary = argc == 6 ? fopen(argv[1], "rb") : NULL;

	if (!binary)
		return 2;
	perf_build_event(&b, &attr, "cycles:u", (uint64_t[]){7}, 1);
	perf_build_view(&b, PERF_RECORD_COMM, 0, &v, NULL);
	v = (union perf_view){
		.mmap = {.pid = 10, .tid = 10, .is_mmap2 = true, .prot = 5}
        };
	v.mmap.filename = argv[1];
	v.mmap.start = strtoull(argv[2], NULL, 16);
	v.mmap.pgoff = strtoull(argv[3], NULL, 16);
	v.mmap.len = strtoull(argv[4], NULL, 16);
	perf_build_view(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, NULL);
	add_samples(&b, strtoull(argv[5], NULL, 16), binary, v.mmap.start - v.mmap.pgoff);
	fclose(binary);
	file = perf_build_finish(&b);
	fwrite(file.pos, 1, bytes_left(&file), stdout);
	perf_build_done(&b);
	return ferror(stdout) != 0;
}
