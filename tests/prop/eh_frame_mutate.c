/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every byte of small inputs turned into other values, every cut, and several bytes at random:
 * an answer each time, within bounds. Run under AddressSanitizer it shows reads past the end. */
#include <stdlib.h>
#include <time.h>

#include "make/splitmix.h"
#include "prop/eh_frame_use.h"
#include "unit/tap.h"
#include "unwind/eh_frame.h"
#include "unwind/unw_image.h"

enum { RANDOM_ROUNDS = 3000 };

static uint64_t nr_tried, nr_wrong;

/** In a block of its own: ASan sees a read past its end. */
static void try(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	const char *wrong;

	if (!copy)
		return;
	if (size)
		memcpy(copy, data, size);
	wrong = eh_frame_use(copy, size);
	free(copy);
	nr_tried++;
	if (wrong && nr_wrong++ < 10)
		printf("# %s\n", wrong);
}

static void mutate_bytes(uint8_t *data, size_t size)
{
	static const uint8_t values[] = {0x00, 0x01, 0x0f, 0x10, 0x3f, 0x7f, 0x80, 0xff};

	for (size_t i = 0; i < size; i++) {
		uint8_t old = data[i];

		for (size_t v = 0; v < sizeof(values); v++) {
			data[i] = values[v];
			try(data, size);
		}
		for (unsigned int bit = 0; bit < 8; bit++) {
			data[i] = old ^ (uint8_t)(1u << bit);
			try(data, size);
		}
		data[i] = old;
	}
}

static void mutate_randomly(uint8_t *data, size_t size)
{
	static uint64_t seed = 9;
	uint8_t *copy = malloc(size);

	for (int round = 0; copy && round < RANDOM_ROUNDS; round++) {
		memcpy(copy, data, size);
		for (int n = 0; n < 2 + round % 6; n++) {
			uint64_t random = splitmix64(&seed);

			copy[(random >> 8) % size] = (uint8_t)random;
		}
		try(copy, size);
	}
	free(copy);
}

/** @return milliseconds to compile @p b as an x86-64 .eh_frame. */
static double compile_ms(const struct buf *b, uint64_t *ret_rows)
{
	struct unw_image image = {.arch = UNW_X86_64, .nr_segments = 1};
	struct eh_frame_counts n = {0};
	struct unw_list *l = unw_list_new();
	clock_t from = clock();

	image.segments[0] = (struct unw_segment){EH_USE_TEXT, 1 << 30, 0};
	image.eh_frame = (struct unw_section){(const uint8_t *)b->data, b->nr, 0};
	eh_frame_rows(&image, false, l, &n);
	*ret_rows = n.nr_rows;
	unw_list_free(l);
	return (double)(clock() - from) * 1000 / CLOCKS_PER_SEC;
}

/** Many functions that share one CIE of a megabyte; a megabyte of rows; a megabyte of CIEs. */
static void test_time(void)
{
	static const uint8_t cie[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8};
	enum { MANY = 40000, BIG = 1 << 20 };
	struct buf b = {0};
	uint64_t rows;
	uint32_t head[2] = {4 + sizeof(cie) + BIG, 0};
	double ms;

	buf_add(&b, head, sizeof(head));
	buf_add(&b, cie, sizeof(cie));
	for (int i = 0; i < BIG / 4; i++)
		buf_add(&b, "\x0c\x07\x08\x00", 4);
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t place[2] = {EH_USE_TEXT + 16 * i, 16};
		uint32_t fde[2] = {20, (uint32_t)b.nr + 4};

		buf_add(&b, fde, sizeof(fde));
		buf_add(&b, place, sizeof(place));
	}
	ms = compile_ms(&b, &rows);
	CHECK(rows == MANY && ms < 5000, "%d functions of one CIE of 1 MiB: %.0f ms", MANY, ms);
	buf_clear(&b);
	head[0] = 4 + sizeof(cie);
	buf_add(&b, head, sizeof(head));
	buf_add(&b, cie, sizeof(cie));
	head[0] = 20 + 4 * BIG;
	head[1] = (uint32_t)b.nr + 4;
	buf_add(&b, head, sizeof(head));
	buf_add(&b, &(uint64_t[2]){EH_USE_TEXT, 1 << 29}, 16);
	for (int i = 0; i < BIG; i++)
		buf_add(&b, i & 1 ? "\x0e\x08\x41\x00" : "\x0e\x10\x41\x00", 4);
	ms = compile_ms(&b, &rows);
	CHECK(rows > BIG - 2 && ms < 5000, "a function of %llu rows: %.0f ms",
	      (unsigned long long)rows, ms);
	buf_done(&b);
}

int main(void)
{
	struct buf b = {0};
	unsigned int nr = 0;

	for (; eh_frame_seed(nr, &b); nr++, buf_clear(&b)) {
		const char *wrong = eh_frame_use((const uint8_t *)b.data, b.nr);

		CHECK_STR(wrong, NULL, "input %u, %zu bytes", nr, b.nr);
		for (size_t cut = 0; cut < b.nr; cut++)
			try((const uint8_t *)b.data, cut);
		mutate_bytes((uint8_t *)b.data, b.nr);
		mutate_randomly((uint8_t *)b.data, b.nr);
	}
	CHECK(nr_wrong == 0, "%llu damaged inputs: an answer each", (unsigned long long)nr_tried);
	test_time();
	buf_done(&b);
	return tap_done();
}
