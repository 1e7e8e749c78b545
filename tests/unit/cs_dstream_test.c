// SPDX-License-Identifier: LGPL-2.1-or-later
#include "packet/coresight/cs_dstream.h"

#include "make/cs_encode.h"
#include "tap.h"

enum { NR_BYTES = 48000, NR_BLOCKS = 96 };

static struct cs_byte bytes[NR_BYTES];

static struct buf capture_of(enum cs_layout layout, uint64_t seed)
{
	struct cs_encode e = cs_encode_of(layout, 0, seed);

	cs_encode_random_bytes(&e, 3, bytes, NR_BYTES);
	cs_encode(&e, bytes, NR_BYTES);
	return e.out;
}

static uint8_t *footer(const struct buf *b, size_t block)
{
	return (uint8_t *)b->data + block * CS_DSTREAM_BLOCK + CS_DSTREAM_TRACE;
}

static bool is_dstream(const struct buf *b, size_t size)
{
	return cs_is_dstream((const uint8_t *)b->data, size);
}

static void test_flags(void)
{
	struct buf b = capture_of(CS_DSTREAM, 3);
	size_t nr_zero = 0, nr = b.nr / CS_DSTREAM_BLOCK;

	for (size_t i = 0; i < nr; i++)
		nr_zero += !load_le32(footer(&b, i));
	CHECK(nr >= NR_BLOCKS && nr_zero > 20 && nr_zero < nr - 20,
	      "%zu of %zu footers begin with zeros", nr_zero, nr);
	CHECK(is_dstream(&b, b.nr), "a DSTREAM file, its end cut");
	for (size_t n = 1; n <= 8; n++)
		CHECK(is_dstream(&b, n * CS_DSTREAM_BLOCK + n), "so are its first %zu blocks", n);
	CHECK(!is_dstream(&b, CS_DSTREAM_BLOCK - 1), "not even a block is none");
	CHECK(!cs_is_dstream(NULL, 0), "nothing is none");
	buf_done(&b);
}

/** Flags that no capture had so far: the count is left. */
static void test_other_flags(void)
{
	struct buf b = capture_of(CS_DSTREAM, 4);

	for (size_t i = 0; i < b.nr / CS_DSTREAM_BLOCK; i++)
		store_le32(footer(&b, i), 0x1000u * (uint32_t)i + 5);
	CHECK(is_dstream(&b, b.nr), "other flags, and the footers count down");
	for (size_t i = 0; i < b.nr / CS_DSTREAM_BLOCK; i++)
		footer(&b, i)[6] = 0x33;
	CHECK(!is_dstream(&b, b.nr), "other flags, and nothing counts down");
	buf_done(&b);
}

/** A count beyond 255 blocks, and beyond the 4,096th. */
static void test_count(void)
{
	struct buf b = {0};

	for (size_t i = 0; i < 5000; i++) {
		static const uint8_t trace[CS_DSTREAM_TRACE];
		uint8_t f[CS_DSTREAM_FOOTER];

		cs_encode_footer(i, i, f);
		store_le32(f, 0x55);
		buf_add(&b, trace, sizeof(trace));
		buf_add(&b, f, sizeof(f));
	}
	CHECK(is_dstream(&b, b.nr), "5,000 blocks");
	for (size_t i = 0; i < 5000; i++)
		footer(&b, i)[7] = 0x0f;
	CHECK(is_dstream(&b, b.nr), "the same, where the last byte never changes");
	buf_done(&b);
}

static void test_damage(void)
{
	struct buf b = capture_of(CS_DSTREAM, 5);
	size_t nr = b.nr / CS_DSTREAM_BLOCK;

	for (size_t i = 0; i < nr; i += 5)
		memset(footer(&b, i), 0xa5, CS_DSTREAM_FOOTER);
	CHECK(is_dstream(&b, b.nr), "each fifth footer overwritten");
	for (size_t i = 0; i < nr; i += 2)
		memset(footer(&b, i), 0xa5, CS_DSTREAM_FOOTER);
	CHECK(!is_dstream(&b, b.nr), "three of five overwritten");
	buf_done(&b);
}

/** What has no footers is taken as it is. */
static void test_others(void)
{
	static uint8_t same[64 * CS_DSTREAM_BLOCK];
	size_t nr_wrong = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct buf b = capture_of(seed % 2 ? CS_TPIU : CS_TPIU_HSYNC, seed);

		for (size_t nr = 1; nr <= b.nr / CS_DSTREAM_BLOCK; nr++)
			nr_wrong += is_dstream(&b, nr * CS_DSTREAM_BLOCK);
		buf_done(&b);
	}
	CHECK_EQ(nr_wrong, 0, "frames between FSYNCs, 40 files cut at each block");
	for (unsigned int v = 0; v < 256; v++) {
		memset(same, (int)v, sizeof(same));
		nr_wrong += cs_is_dstream(same, sizeof(same));
	}
	CHECK_EQ(nr_wrong, 0, "files of one byte value: padding");
	for (size_t i = 0; i < sizeof(same); i++)
		same[i] = (uint8_t)-i;
	CHECK(!cs_is_dstream(same, sizeof(same)), "a count that is the same in each block");
}

int main(void)
{
	test_flags();
	test_other_flags();
	test_count();
	test_damage();
	test_others();
	return tap_done();
}
