/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: spe_bench [RECORDS [ROUNDS]]: read made SPE records: two shapes in turn (as
 * data/spe/mkbig.py), a mix of shapes by chance, and padding; the best round of each, in
 * CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "packet/spe/spe_record.h"

enum { BATCH = 256 };

static struct spe_reader reader;
static struct spe_record items[BATCH];

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct made {
	uint8_t *data;
	size_t bytes, cap;
	uint64_t random, ts;
};

static uint64_t next_random(struct made *m)
{
	m->random = m->random * 6364136223846793005U + 1442695040888963407U;
	return m->random >> 24;
}

static void put(struct made *m, uint8_t header, uint64_t value, unsigned int bytes)
{
	m->data[m->bytes++] = header;
	for (unsigned int i = 0; i < bytes; i++)
		m->data[m->bytes++] = (uint8_t)(value >> 8 * i);
}

static void put_record(struct made *m, unsigned int kind)
{
	put(m, 0xb0, 0xc0ff8000081c0000 + next_random(m) % 65536 * 4, 8);
	put(m, 0x99, next_random(m) % 64, 2);
	put(m, 0x98, next_random(m) % 512, 2);
	put(m, 0x52, 0x16, 2);
	put(m, (uint8_t)(0x48 | kind % 3), 0, 1);
	if (kind % 3 == 1) {
		put(m, 0xb2, next_random(m), 8);
		put(m, 0x9a, 1, 2);
		if (kind & 4)
			put(m, 0xb3, next_random(m), 8);
	} else if (kind % 3 == 2) {
		put(m, 0xb1, 0xc0ff8000081c0000, 8);
	}
	put(m, 0x65, 4711, 4);
	if (kind % 3 == 1 && kind & 8)
		put(m, 0x43, 0, 1);
	put(m, 0x71, m->ts += next_random(m) % 64, 8);
}

static size_t walk(const struct made *m, uint64_t *ret_sum)
{
	size_t nr = 0, got;

	spe_reader_start(&reader, 0, SPE_AT_RECORD);
	spe_reader_feed(&reader, m->data, m->bytes);
	for (;;) {
		while ((got = spe_reader_take(&reader, items, BATCH))) {
			nr += got;
			for (size_t i = 0; i < got; i++)
				*ret_sum += items[i].address[0] + items[i].timestamp;
		}
		if (reader.is_over)
			return nr;
		spe_reader_end(&reader);
	}
}

static void measure(const char *what, const struct made *m, int rounds)
{
	uint64_t sum = 0;
	double best = 0;
	size_t nr = 0;

	spe_reader_init(&reader, 0);
	for (int i = 0; i < rounds; i++) {
		double start = cpu_ns(), took;

		nr = walk(m, &sum);
		took = cpu_ns() - start;
		if (!i || took < best)
			best = took;
	}
	printf("%-12s %8zu records %10zu bytes %8.0f MB/s %6.1f ns a record (sum %llx)\n", what, nr,
	       m->bytes, (double)m->bytes * 1e3 / best, nr ? best / (double)nr : 0,
	       (unsigned long long)sum);
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	int rounds = argc > 2 ? atoi(argv[2]) : 7;
	struct made m = {.cap = nr * 80, .ts = 44731163950};

	m.data = malloc(m.cap);
	if (!m.data || !nr)
		return 1;
	for (size_t i = 0; i < nr; i++)
		put_record(&m, i & 1 ? 2 : 1);
	measure("two shapes", &m, rounds);
	m.bytes = 0;
	for (size_t i = 0; i < nr; i++)
		put_record(&m, (unsigned int)next_random(&m) % 16);
	measure("mixed", &m, rounds);
	memset(m.data, 0, m.cap);
	m.bytes = m.cap;
	measure("padding", &m, rounds);
	m.bytes = m.cap / 16;
	for (size_t i = 0; i < m.bytes; i++)
		m.data[i] = (uint8_t)next_random(&m);
	measure("random bytes", &m, rounds);
	for (size_t i = 0; i < m.bytes; i++)
		m.data[i] = i & 1 ? 0xb0 : 0;
	measure("hostile", &m, rounds);
	free(m.data);
	return 0;
}
