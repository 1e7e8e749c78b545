/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/ring.h"

#include "unit/tap.h"

/* A ring without a kernel: the control page's heads are set by hand. */

enum { RING = 4096, DATA_HEAD = 1024, DATA_TAIL = 1032, AUX_HEAD = 1056, AUX_TAIL = 1064 };

static uint64_t page[512];
static uint8_t data[RING], aux[RING];

static uint64_t *word(size_t offset)
{
	return &page[offset / 8];
}

static struct os_ring fake(void)
{
	memset(page, 0, sizeof(page));
	for (size_t i = 0; i < RING; i++)
		data[i] = aux[i] = (uint8_t)(i / 8);
	return (struct os_ring){
		.page = page, .data = data, .data_bytes = RING, .aux = aux, .aux_bytes = RING};
}

static void test_data(void)
{
	struct os_ring r = fake();
	struct bytes part[2];

	CHECK_EQ(os_ring_peek(&r, part), 0, "empty");
	*word(DATA_HEAD) = 96;
	CHECK(os_ring_peek(&r, part) == 96 && bytes_left(&part[0]) == 96 && !bytes_left(&part[1]),
	      "one span");
	os_ring_consume(&r, 96);
	CHECK_EQ(*word(DATA_TAIL), 96, "tail given back");
	*word(DATA_HEAD) = 96 + RING;
	CHECK(os_ring_peek(&r, part) == RING && bytes_left(&part[0]) == RING - 96 &&
		      bytes_left(&part[1]) == 96 && part[1].pos == data,
	      "full and wrapped: two spans");
	os_ring_consume(&r, RING);
	*word(DATA_HEAD) = 0;
	CHECK_EQ(os_ring_peek(&r, part), 0, "a head before the tail gives nothing");
	CHECK(r.nr_skips == 1 && !*word(DATA_TAIL), "and is counted; the tail follows it");
	*word(DATA_HEAD) = 40;
	CHECK_EQ(os_ring_peek(&r, part), 40, "later records are read");
	*word(DATA_HEAD) = 48 + RING;
	CHECK(!os_ring_peek(&r, part) && r.nr_skips == 2, "so is a head too far after it");
}

static void put_record(size_t at, uint16_t size)
{
	memset(data + at, 0, 8);
	memcpy(data + at + 6, &size, sizeof(size));
}

static void test_backward(void)
{
	struct os_ring r = fake();
	struct bytes part[2];

	r.is_backward = true;
	memset(data, 0, RING);
	*word(DATA_HEAD) = (uint64_t)-72;
	put_record(RING - 72, 32);
	put_record(RING - 40, 40);
	CHECK(os_ring_backward(&r, part) == 72 && part[0].pos == data + RING - 72,
	      "not full: up to what was never written");
	for (size_t i = 0; i < RING; i += 64)
		put_record(i, 64);
	*word(DATA_HEAD) = (uint64_t)-2 * RING - 40;
	put_record(RING - 40, 40);
	put_record(RING - 64, 64);
	CHECK_EQ(os_ring_backward(&r, part), RING - 24,
		 "full: ends before the record that is half overwritten");
}

static void test_aux(void)
{
	struct os_ring r = fake();
	struct bytes part[2];

	*word(AUX_HEAD) = 3000;
	CHECK_EQ(os_ring_aux_peek(&r, part), 3000, "aux");
	os_ring_aux_consume(&r, 3000);
	CHECK_EQ(*word(AUX_TAIL), 3000, "aux tail given back");
	*word(AUX_HEAD) = 3000 + 2000;
	CHECK(os_ring_aux_peek(&r, part) == 2000 && bytes_left(&part[0]) == RING - 3000 &&
		      bytes_left(&part[1]) == 2000 - (RING - 3000),
	      "aux wraps");
	*word(AUX_HEAD) = 5 * RING;
	CHECK(os_ring_aux_peek(&r, part) == 0 && r.nr_skips == 1 && *word(AUX_TAIL) == 5 * RING,
	      "a head that no tail fits: what was unread is given up");
	*word(AUX_HEAD) = 5 * RING + 64;
	CHECK_EQ(os_ring_aux_peek(&r, part), 64, "and not what comes then");
}

static void test_clock(void)
{
	struct os_ring r = fake();
	struct os_ring_clock c;

	CHECK(!os_ring_clock(&r, &c), "no time in the page");
	*word(40) = 1 << 4;
	*word(48) = 31ull << 16 | 77ull << 32;
	*word(64) = 12345;
	CHECK(os_ring_clock(&r, &c) && c.shift == 31 && c.mult == 77 && c.zero == 12345 &&
		      !c.is_short,
	      "clock conversion");
}

int main(void)
{
	test_data();
	test_backward();
	test_aux();
	test_clock();
	return tap_done();
}
