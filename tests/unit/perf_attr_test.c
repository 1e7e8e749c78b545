/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_attr.h"

#include "make/perf_random.h"
#include "perfdata/perf_evlist.h"
#include "unit/tap.h"

/* An attr of @p size bytes keeps the fields it holds whole or in part, and the rest is 0. */
static bool survives(struct perf_random *r, uint32_t size, bool big)
{
	struct perf_put whole = {.big = big}, again = {.big = big};
	struct perf_attr a, got;
	bool same;

	perf_random_attr(r, &a);
	a.size = size;
	perf_encode_attr(&whole, &a, size);
	same = perf_attr_parse(put_result(&whole), big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
			       &got) == CLEW_OK;
	perf_encode_attr(&again, &got, size);
	same = same && got.size == size &&
	       !memcmp(whole.buf.data, again.buf.data, size < 144 ? size : 144);
	if (same && size <= PERF_ATTR_SIZE_VER8)
		same = got.config4 == 0;
	buf_done(&whole.buf);
	buf_done(&again.buf);
	return same;
}

static void test_sizes(bool big)
{
	struct perf_random r = {.state = 5, .big = big};
	int lost = 0;

	for (uint32_t size = PERF_ATTR_SIZE_VER0; size <= 200; size++)
		lost += !survives(&r, size, big);
	CHECK_EQ(lost, 0, "%s attrs of each size from 64 to 200 bytes",
		 big ? "big-endian" : "little-endian");
}

static void test_flags(void)
{
	struct perf_attr a = {.size = 144,
			      .flags = PERF_ATTR_DISABLED | 2 << PERF_ATTR_PRECISE_IP_SHIFT,
			      .aux_action = PERF_AUX_START_PAUSED},
			 got;
	struct perf_put p = {.big = true};

	perf_encode_attr(&p, &a, 144);
	/* First field in the most significant bit; precise_ip, fields 16 and 17, in byte 1 and 2.
	 */
	CHECK((uint8_t)p.buf.data[40] == 0x80 && (uint8_t)p.buf.data[41] == 0x01 &&
		      (uint8_t)p.buf.data[42] == 0x00,
	      "where a big-endian kernel keeps disabled and precise_ip = 2");
	CHECK(perf_attr_parse(put_result(&p), true, &got) == CLEW_OK && got.flags == a.flags,
	      "and how they are read");
	CHECK_EQ(got.aux_action, PERF_AUX_START_PAUSED, "aux_action from a big-endian kernel");
	CHECK_EQ(perf_attr_precise_ip(&got), 2, "precise_ip keeps the order of its bits");
	buf_done(&p.buf);
}

static void test_refused(void)
{
	uint8_t raw[160] = {0};
	struct perf_attr a;

	CHECK_EQ(perf_attr_parse(bytes_of(raw, 63), false, &a), CLEW_TRUNCATED, "63 bytes");
	CHECK(perf_attr_parse(bytes_of(raw, 64), false, &a) == CLEW_OK && a.size == 64,
	      "size 0 means the first ABI");
	raw[4] = 63;
	CHECK_EQ(perf_attr_parse(bytes_of(raw, 160), false, &a), CLEW_BAD_FILE, "size 63");
	raw[4] = 161;
	CHECK_EQ(perf_attr_parse(bytes_of(raw, 160), false, &a), CLEW_BAD_FILE,
		 "a size beyond the bytes");
}

static void test_kernel_form(void)
{
	struct perf_random r = {.state = 8};
	struct perf_attr a, got;
	uint8_t raw[PERF_ATTR_SIZE_VER9];

	perf_random_attr(&r, &a);
	a.size = PERF_ATTR_SIZE_VER9;
	perf_attr_for_kernel(&a, raw);
	CHECK(perf_attr_parse(bytes_of(raw, sizeof(raw)), false, &got) == CLEW_OK &&
		      !memcmp(&a, &got, sizeof(a)),
	      "what is given to the kernel reads back as it was");
}

/* As `perf evlist` (6.1) prints attrs without a name: it takes an event that leaves out guests for
 * the usual one, unless levels or precision are chosen. */
static void test_names(void)
{
	/* clang-format off */
	static const struct {
		struct perf_attr attr;
		const char *want;
	} rows[] = {
		{{.type = 0, .config = 0}, "cycles:HG"},
		{{.type = 0, .flags = PERF_ATTR_EXCLUDE_GUEST}, "cycles"},
		{{.type = 0, .config = 9}, "ref-cycles:HG"},
		{{.type = 0, .config = 10}, "unknown-hardware:HG"},
		{{.type = 1, .config = 1}, "task-clock:HG"},
		{{.type = 1, .config = 99}, "unknown-software:HG"},
		{{.type = 1, .config = 0, .flags = PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV},
		 "cpu-clock:u"},
		{{.type = 0, .config = 0, .flags = PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_HV},
		 "cycles:k"},
		{{.type = 0, .flags = 2 << PERF_ATTR_PRECISE_IP_SHIFT | PERF_ATTR_EXCLUDE_GUEST},
		 "cycles:ppH"},
		{{.type = 0, .flags = 3 << PERF_ATTR_PRECISE_IP_SHIFT}, "cycles:ppp"},
		{{.type = 3, .config = 0x10000}, "L1-dcache-load-misses:HG"},
		{{.type = 3, .config = 0x102}, "LLC-stores:HG"},
		{{.type = 4, .config = 0x1a8}, "raw 0x1a8:HG"},
		{{.type = 5, .bp_type = 3, .config1 = 0x1000}, "mem:0x1000:rw:HG"},
		{{.type = 2, .config = 300}, "unknown tracepoint"},
		{{.type = 9}, "unknown attr type: 9"},
	};
	/* clang-format on */
	char name[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		perf_attr_name(&rows[i].attr, name, sizeof(name));
		CHECK_STR(name, rows[i].want, "name: %s", rows[i].want);
	}
}

int main(void)
{
	test_sizes(false);
	test_sizes(true);
	test_flags();
	test_refused();
	test_kernel_form();
	test_names();
	return tap_done();
}
