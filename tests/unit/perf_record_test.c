/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_record.h"

#include "base/mem.h"
#include "make/perf_random.h"
#include "unit/tap.h"

/* Decode what was encoded, encode that again: the same bytes, so no value was lost or changed. */
static bool survives(struct perf_random *r, uint32_t type)
{
	static const struct perf_attr attr = {.flags = PERF_ATTR_SAMPLE_ID_ALL,
					      .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME};
	const struct perf_sample_id id = {.time = perf_random_u64(r), .pid = 1, .tid = 2};
	struct perf_put once = {.big = r->big}, twice = {.big = r->big};
	union perf_view v, got;
	struct perf_record rec;
	bool same;

	perf_random_view_of(r, type, &v);
	perf_encode_record(&once, type, PERF_RECORD_MISC_USER, &v, &attr, &id);
	rec = perf_record_of(put_result(&once), r->big);
	same = perf_view_parse(&rec, &got) == CLEW_OK;
	if (same) {
		perf_encode_record(&twice, type, PERF_RECORD_MISC_USER, &got, &attr, &id);
		same = once.buf.nr == twice.buf.nr &&
		       !memcmp(once.buf.data, twice.buf.data, once.buf.nr);
	}
	buf_done(&once.buf);
	buf_done(&twice.buf);
	return same;
}

static void test_types(bool big)
{
	struct perf_random r = {.state = big, .big = big};

	for (uint32_t type = 1; type < PERF_RECORD_HEADER_END; type++) {
		int lost = 0;

		if (!perf_view_is_typed(type))
			continue;
		for (int i = 0; i < 100; i++)
			lost += !survives(&r, type);
		CHECK_EQ(lost, 0, "%s %s: encode, decode, encode gives the same bytes",
			 big ? "big-endian" : "little-endian", perf_record_type_name(type));
	}
	perf_random_done(&r);
}

/* Each record, cut at each byte, in a buffer of exactly that size: refused or read, never read
 * past. */
static void test_cuts(void)
{
	struct perf_random r = {.state = 3};
	unsigned int accepted = 0, nr = 0;

	for (uint32_t type = 1; type < PERF_RECORD_HEADER_END; type++) {
		struct perf_put p = {0};
		union perf_view v, got;

		if (!perf_view_is_typed(type))
			continue;
		perf_random_view_of(&r, type, &v);
		perf_encode_record(&p, type, 0, &v, NULL, NULL);
		for (size_t cut = sizeof(struct perf_event_header); cut < p.buf.nr; cut++, nr++) {
			uint8_t *copy = mem_alloc(cut);
			struct perf_record rec;

			memcpy(copy, p.buf.data, cut);
			copy[6] = (uint8_t)cut;
			copy[7] = (uint8_t)(cut >> 8);
			rec = perf_record_of(bytes_of(copy, cut), false);
			accepted += perf_view_parse(&rec, &got) == CLEW_OK;
			mem_free(copy);
		}
		buf_done(&p.buf);
	}
	CHECK(accepted < nr, "cut records are refused or read within their bytes (%u of %u read)",
	      accepted, nr);
	perf_random_done(&r);
}

/* Layouts written down by hand from the kernel's header, independent of the encoder. */
static void test_by_hand(void)
{
	static const uint8_t comm[] = {3,   0,   0, 0, 0, 0x20, 24, 0, /* misc: COMM_EXEC */
				       7,   0,   0, 0, 8, 0,    0,  0, /* pid, tid */
				       's', 'h', 0, 0, 0, 0,    0,  0};
	static const uint8_t mmap2_id[] = {
		10,  0,    0, 0, 2,    0x40, 80,   0, /* misc: USER, MMAP_BUILD_ID */
		1,   0,    0, 0, 2,    0,    0,    0, /* pid, tid */
		0,   0x10, 0, 0, 0,    0,    0,    0, /* start */
		0,   0x20, 0, 0, 0,    0,    0,    0, /* len */
		0,   0x30, 0, 0, 0,    0,    0,    0, /* pgoff */
		4,   0,    0, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0,
		0,   0,    0, 0, 0,    0,    0,    0,    5, 0, 0, 0, 2, 0, 0, 0, /* prot, flags */
		'/', 'a',  0, 0, 0,    0,    0,    0,
	};
	static const uint8_t fork_big[] = {0, 0, 0, 7,  0, 0, 0, 32, 0, 0, 0, 10, 0, 0, 0, 1,
					   0, 0, 0, 11, 0, 0, 0, 2,  0, 0, 0, 0,  0, 0, 1, 0};
	struct perf_record r = perf_record_of(bytes_of(comm, sizeof(comm)), false);
	struct perf_comm c;
	struct perf_mmap m;
	struct perf_task t;

	CHECK(perf_comm_parse(&r, &c) == CLEW_OK && c.pid == 7 && c.tid == 8 && c.is_exec &&
		      !strcmp(c.comm, "sh"),
	      "COMM by hand");
	r = perf_record_of(bytes_of(mmap2_id, sizeof(mmap2_id)), false);
	CHECK(perf_mmap_parse(&r, &m) == CLEW_OK && m.has_build_id && m.build_id_bytes == 4 &&
		      m.build_id[3] == 0xef && m.start == 0x1000 && m.pgoff == 0x3000 &&
		      m.prot == 5 && m.flags == 2 && !strcmp(m.filename, "/a"),
	      "MMAP2 with a build id by hand");
	r = perf_record_of(bytes_of(fork_big, sizeof(fork_big)), true);
	CHECK(perf_task_parse(&r, &t) == CLEW_OK && t.pid == 10 && t.ppid == 1 && t.tid == 11 &&
		      t.ptid == 2 && t.time == 256,
	      "FORK from a big-endian machine by hand");
}

static enum clew_err parse_body(uint32_t type, uint16_t misc, const void *body, size_t size,
				union perf_view *ret)
{
	static struct perf_put p;
	struct perf_record r;

	buf_clear(&p.buf);
	perf_encode_raw(&p, type, misc, bytes_of(body, size));
	r = perf_record_of(put_result(&p), false);
	return perf_view_parse(&r, ret);
}

static void test_hostile(void)
{
	static const uint64_t many[] = {1, UINT64_MAX, 0, 0},
			      wraps[] = {1, (uint64_t)1 << 60, 0, 0};
	static const char no_nul[] = {1,   0,   0,   0,   1,   0,   0,   0,
				      'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
	static const uint64_t short_conv[] = {1, 2, 3};
	static const uint8_t poke[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
	union perf_view v;

	CHECK_EQ(parse_body(PERF_RECORD_NAMESPACES, 0, many, sizeof(many), &v), CLEW_BAD_FILE,
		 "NAMESPACES with more links than bytes");
	CHECK_EQ(parse_body(PERF_RECORD_CALLCHAIN_DEFERRED, 0, many, sizeof(many), &v),
		 CLEW_BAD_FILE, "CALLCHAIN_DEFERRED with 2^64 - 1 addresses");
	CHECK_EQ(parse_body(PERF_RECORD_ID_INDEX, 0, wraps + 1, 24, &v), CLEW_BAD_FILE,
		 "ID_INDEX with a size that wraps");
	CHECK_EQ(parse_body(PERF_RECORD_COMM, 0, no_nul, sizeof(no_nul), &v), CLEW_BAD_FILE,
		 "COMM without a NUL");
	CHECK_EQ(parse_body(PERF_RECORD_TEXT_POKE, 0, poke, sizeof(poke), &v), CLEW_BAD_FILE,
		 "TEXT_POKE longer than its record");
	CHECK(parse_body(PERF_RECORD_TIME_CONV, 0, short_conv, sizeof(short_conv), &v) == CLEW_OK &&
		      v.time_conv.mask == UINT64_MAX && v.time_conv.zero == 3,
	      "TIME_CONV of perf before 5.7: cycles 0, mask all ones");
	CHECK(!perf_record_type_name(0) && !perf_record_type_name(23) &&
		      !perf_record_type_name(32768) && !perf_record_type_name(UINT32_MAX),
	      "undefined types have no name");
}

int main(void)
{
	test_by_hand();
	test_types(false);
	test_types(true);
	test_cuts();
	test_hostile();
	return tap_done();
}
