/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz_seeds.h"
#include "make/splitmix.h"

/*
 * Usage: who_ran_seeds DIR: recordings of a few threads on two CPUs that switch as they should but
 * for some, and questions about all of their time (who_ran_fuzz.c has the format).
 */
enum { NR_SWITCHES = 200, NR_QUESTIONS = 200, STEP_NS = 64, OUT = 0x20, LOST = 3 };

static void step(struct buf *b, uint8_t what, uint8_t flags, uint8_t cpu, uint8_t tid,
		 uint8_t other, uint32_t time)
{
	const uint8_t shift = time > UINT16_MAX ? 8 : 0;
	const uint32_t t = time >> shift;
	const uint8_t p[] = {what, flags, cpu, tid, other, (uint8_t)t, (uint8_t)(t >> 8), shift};

	buf_add(b, p, sizeof(p));
}

static void make_records(struct buf *b, uint64_t *random)
{
	uint8_t on[2] = {1, 2};

	for (unsigned int n = 0; n < NR_SWITCHES; n++) {
		uint64_t r = splitmix64(random);
		uint8_t cpu = r & 1, next = (uint8_t)(r >> 8 & 7), odd = (uint8_t)(r >> 16 & 31);

		if (odd < 11) /* anything else of the list */
			step(b, (uint8_t)(1 + odd), (uint8_t)(r >> 24), cpu, on[cpu], next,
			     odd == LOST ? 200 : 5);
		else if (odd == 11)
			step(b, 0x80, 0, cpu, on[cpu], next, 5);
		step(b, 0, OUT | (r >> 33 & 1 ? 0x40 : 0), cpu, on[cpu], next, STEP_NS);
		step(b, 0, 0, cpu, next, on[cpu], 3);
		on[cpu] = next;
	}
}

static void make(struct buf *b, unsigned int i)
{
	uint64_t random = i;

	buf_char(b, (char)(i * 4));
	buf_char(b, (char)(i & 3));
	make_records(b, &random);
	for (unsigned int n = 0; n < NR_QUESTIONS; n++) {
		uint64_t r = splitmix64(&random);

		step(b, (uint8_t)(0x90 + r % 0x70), (uint8_t)(r >> 8), r >> 16 & 1,
		     (uint8_t)(r >> 17 & 7), (uint8_t)(r >> 20 & 7),
		     n * (NR_SWITCHES * (STEP_NS + 3) / NR_QUESTIONS) + (uint32_t)(r >> 24 & 15));
	}
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, 32, make);
}
