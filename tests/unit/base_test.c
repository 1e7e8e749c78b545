/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "base/number.h"
#include "base/vec.h"
#include "unit/tap.h"

static void test_bytes(void)
{
	const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct bytes b = bytes_of(data, sizeof(data)), part;
	uint64_t v64;
	uint32_t v32;
	uint8_t le[4];

	store_le32(le, 0x91000421); /* add x1, x1, #1 */
	CHECK(le[0] == 0x21 && le[1] == 0x04 && le[2] == 0 && le[3] == 0x91 &&
		      load_le32(le) == 0x91000421,
	      "little-endian, whatever the host is");
	CHECK(bytes_u32(&b, true, &v32) && v32 == __builtin_bswap32(load_u32(data, false)),
	      "swapped load");
	CHECK(!bytes_u64(&b, false, &v64) && b.pos == data + 4, "a short read leaves the cursor");
	CHECK(!bytes_take(&b, 6, &part), "take past the end");
	CHECK(bytes_take(&b, 5, &part) && bytes_left(&part) == 5 && bytes_left(&b) == 0,
	      "take the rest");
	CHECK(!range_fits(UINT64_MAX, 2, UINT64_MAX), "a range that wraps does not fit");
	CHECK(range_fits(8, 0, 8) && !range_fits(9, 0, 8), "an empty range at the end");
}

static void test_map(void)
{
	struct map_u64 m = {0};
	int missing = 0, wrong = 0;

	for (uint64_t i = 0; i < 10000; i++)
		map_u64_put(&m, i * 64, i);
	for (uint64_t i = 0; i < 10000; i += 2)
		missing += !map_u64_remove(&m, i * 64);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t *v = map_u64_get(&m, i * 64);

		wrong += i % 2 ? !v || *v != i : v != NULL;
	}
	CHECK(!missing && !wrong && m.nr == 5000, "10,000 puts, every second removed");
	mem_fail_after(0);
	CHECK(!map_u64_put(&(struct map_u64){0}, 1, 1), "no memory: put says so");
	mem_fail_after(UINT64_MAX);
	map_u64_done(&m);
}

static void test_map_number(void)
{
	struct map_u64 m = {0};
	size_t first = 9, again = 9, second = 9, none = 9;

	CHECK(map_u64_number(&m, 70, 0, 2, &first) && map_u64_number(&m, 80, 1, 2, &second) &&
		      map_u64_number(&m, 70, 2, 2, &again),
	      "keys are numbered");
	CHECK(first == 0 && second == 1 && again == 0, "in their order, each once");
	CHECK(!map_u64_number(&m, 90, 2, 2, &none) && none == 9 && m.nr == 2, "up to a limit");
	map_u64_done(&m);
}

/** @return the text after the number, which is in *ret; NULL: it has over 64 bits. */
static const char *number_of(const char *text, unsigned int base, uint64_t *ret)
{
	return number_take(&text, text + strlen(text), base, ret) ? text : NULL;
}

static void test_number(void)
{
	uint64_t v = 1;

	CHECK_STR(number_of("120x", 10, &v), "x", "a number ends at what is no digit");
	CHECK_EQ(v, 120, "of base 10");
	CHECK_STR(number_of("fFg", 16, &v), "g", "nor a digit of its base");
	CHECK_EQ(v, 255, "of base 16");
	CHECK_STR(number_of("-", 10, &v), "-", "no digits are taken");
	CHECK_EQ(v, 0, "as 0");
	CHECK(number_of("18446744073709551615", 10, &v) && v == UINT64_MAX, "64 bits fit");
	CHECK(!number_of("18446744073709551616", 10, &v) && v == UINT64_MAX, "65 do not");
}

static void test_intern(void)
{
	struct intern t = {0};
	char name[16];
	int wrong = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "name%d", i);
		wrong += intern_str(&t, name) != (uint32_t)i + 1;
	}
	CHECK(!wrong && intern_str(&t, "name500") == 501, "the same string keeps its number");
	CHECK_EQ(intern_str(&t, ""), 0, "the empty string is number 0");
	CHECK_STR(intern_get(&t, 1000), "name999", "and back");
	intern_done(&t);
}

static void test_buf(void)
{
	struct buf b = {0};

	buf_hex(&b, 0xabc, 6, ' ');
	buf_dec(&b, 0, 3, '0');
	buf_field(&b, "ab", 4);
	buf_field(&b, "ab", -4);
	buf_dec(&b, UINT64_MAX, 0, ' ');
	buf_hex(&b, UINT64_MAX, 0, ' ');
	CHECK_STR(buf_cstr(&b), "   abc000  abab  18446744073709551615ffffffffffffffff", "fields");
	buf_clear(&b);
	buf_hex_bytes(&b, "\x0a\xff\0", 3);
	buf_hex_bytes(&b, NULL, 0);
	CHECK_STR(buf_cstr(&b), "0aff00", "bytes in hex");
	buf_clear(&b);
	buf_base64(&b, "f", 1);
	buf_base64(&b, "fo", 2);
	buf_base64(&b, "\xff\xfe\xfd", 3);
	buf_base64(&b, NULL, 0);
	CHECK_STR(buf_cstr(&b), "Zg==Zm8=//79", "bytes in base 64");
	buf_clear(&b);
	buf_seconds(&b, 12000000345);
	buf_seconds(&b, 999999999);
	CHECK_STR(buf_cstr(&b), "12.0000003450.999999999", "seconds");
	buf_clear(&b);
	buf_ms(&b, 12000345);
	buf_ms(&b, 999999);
	CHECK_STR(buf_cstr(&b), "12.000345 ms0.999999 ms", "milliseconds");
	buf_clear(&b);
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	CHECK_EQ(b.nr, 3890, "grows");
	mem_fail_after(0);
	buf_fill(&b, 'x', 100000);
	CHECK(b.is_failed && b.nr == 3890, "no memory: sticks, keeps what is there");
	mem_fail_after(UINT64_MAX);
	buf_done(&b);
}

static void test_arena(void)
{
	struct arena a = {0};
	int misaligned = 0;

	for (size_t i = 1; i < 3000; i++) {
		uint8_t *p = arena_alloc(&a, i * 7);

		misaligned += !p || (uintptr_t)p % 16;
		memset(p, 1, i * 7);
		arena_strndup(&a, "abc", i % 4);
	}
	CHECK(!misaligned, "aligned to 16 between unaligned strings and large pieces");
	arena_done(&a);
}

static void test_vec(void)
{
	struct {
		VEC(int);
	} v = {0};

	for (int i = 0; i < 100; i++)
		vec_push(&v, i);
	mem_fail_after(0);
	CHECK(!vec_reserve(&v, 1000) && v.nr == 100 && v.data[99] == 99,
	      "no memory: the vec is as it was");
	mem_fail_after(UINT64_MAX);
	CHECK(!vec_reserve(&v, SIZE_MAX / 2), "a size that overflows is refused");
	v.nr = 2;
	CHECK(vec_reach(&v, 50) && v.nr >= 50 && v.data[1] == 1 && !v.data[2] && !v.data[49],
	      "new elements are zero, also where others were before");
	mem_fail_after(0);
	CHECK(vec_reach(&v, 50) && !vec_reach(&v, v.nr + 1) && v.data[1] == 1,
	      "no memory: enough for those that are there");
	mem_fail_after(UINT64_MAX);
	vec_done(&v);
}

/* The constants of hash_two(): an input that holds them must not make all else count for nothing.
 */
static void test_hash(void)
{
	const uint64_t aimed[] = {0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu};
	int nr_same = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t a[] = {1, aimed[i], 0}, b[] = {2, aimed[i], 0};

		nr_same += hash_bytes(a, 16) == hash_bytes(b, 16);
		nr_same += hash_bytes(a, 24) == hash_bytes(b, 24);
		nr_same += hash_two(1, aimed[i]) == hash_two(2, aimed[i]);
		nr_same += hash_two(aimed[i], 1) == hash_two(aimed[i], 2);
	}
	CHECK_EQ(nr_same, 0, "no word of the input hides the others");
}

int main(void)
{
	test_bytes();
	test_hash();
	test_map();
	test_map_number();
	test_number();
	test_intern();
	test_buf();
	test_arena();
	test_vec();
	return tap_done();
}
