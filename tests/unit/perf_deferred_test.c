/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_deferred.h"

#include "base/mem.h"
#include "make/perf_encode.h"
#include "unit/tap.h"

enum { ID_BYTES = 24 };

/* A record of @p nr frames with @p trailer and a sample_id after it, as encoded bytes. */
static void put_record(struct perf_put *p, uint32_t nr, const struct buf *trailer, size_t id_bytes)
{
	struct perf_put body = {.big = p->big};

	put_u64(&body, 0x10001);
	put_u64(&body, nr);
	for (uint32_t i = 0; i < nr; i++)
		put_u64(&body, 0x400000 + i);
	put_bytes(&body, bytes_of(trailer->data, trailer->nr));
	for (size_t i = 0; i < id_bytes; i += 8)
		put_u64(&body, i);
	perf_encode_raw(p, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER,
			put_result(&body));
	buf_done(&body.buf);
}

/* Write and read back @p nr frames with @p method; all values the same? */
static bool round_trip(uint32_t nr, const uint8_t *method, bool big, size_t *trailer_bytes)
{
	struct perf_put p = {.big = big};
	struct perf_deferred_trailer t;
	struct buf trailer = {0};
	struct perf_record r;
	bool same;

	perf_deferred_put_trailer(&trailer, 3, 4, method, nr);
	*trailer_bytes = trailer.nr;
	put_record(&p, nr, &trailer, ID_BYTES);
	r = perf_record_of(put_result(&p), big);
	same = perf_deferred_trailer(&r, ID_BYTES, &t) && t.stop == 3 && t.why == 4 &&
	       trailer.nr <= 8 + ((size_t)nr + 15) / 16 * 8;
	for (uint32_t i = 0; same && i < nr; i++)
		same = perf_deferred_method(&t, i) == (method ? method[i] : 0);
	buf_done(&trailer);
	buf_done(&p.buf);
	return same;
}

static void test_round_trips(bool big)
{
	uint8_t alike[510] = {0}, mixed[510] = {0};
	unsigned int bad = 0;
	size_t n;

	for (uint32_t i = 1; i < 510; i++) {
		alike[i] = 2;
		mixed[i] = (uint8_t)(i % 5 + 1);
	}
	for (uint32_t nr = 0; nr <= 510; nr++) {
		bad += !round_trip(nr, alike, big, &n) || n != 8;
		bad += !round_trip(nr, NULL, big, &n) || n != 8;
		bad += !round_trip(nr, mixed, big, &n) ||
		       n != (nr < 3 ? 8 : 8 + (nr + 15) / 16 * 8);
	}
	CHECK_EQ(bad, 0, "%s-endian: 0 to 510 frames, methods alike and mixed, come back",
		 big ? "big" : "little");
}

/* Whatever is not a whole trailer of this version between the frames and the id is none. */
static void test_refusals(void)
{
	static const uint8_t mixed[] = {0, 1, 2, 3};
	struct perf_deferred_trailer t;
	struct buf trailer = {0};
	unsigned int taken = 0, nr_read = 0;

	perf_deferred_put_trailer(&trailer, 1, 0, mixed, 4);
	for (size_t cut = 0; cut <= trailer.nr; cut++) {
		for (size_t id = 0; id <= 40; id += 8) {
			const struct buf part = {.data = trailer.data, .nr = cut};
			struct perf_put p = {0};
			struct perf_record r;
			uint8_t *copy;

			put_record(&p, 4, &part, ID_BYTES);
			copy = mem_alloc(p.buf.nr);
			memcpy(copy, p.buf.data, p.buf.nr);
			r = perf_record_of(bytes_of(copy, p.buf.nr), false);
			if (perf_deferred_trailer(&r, id, &t) && id == ID_BYTES)
				taken++;
			nr_read++;
			mem_free(copy);
			buf_done(&p.buf);
		}
	}
	CHECK_EQ(taken, 1, "of %u cuts and sizes of the id one is a trailer", nr_read);
	for (size_t i = 0; i < 5; i++) {
		struct perf_put p = {0};
		struct perf_record r;

		trailer.data[i] ^= 1;
		put_record(&p, 4, &trailer, ID_BYTES);
		trailer.data[i] ^= 1;
		r = perf_record_of(put_result(&p), false);
		CHECK(!perf_deferred_trailer(&r, ID_BYTES, &t),
		      "another byte %zu of magic or version is no trailer", i);
		buf_done(&p.buf);
	}
	buf_done(&trailer);
}

/* A record as it is written, read back. */
static void test_put(void)
{
	static const uint64_t ips[] = {0x1000, 0x2000, 0x3000};
	static const uint8_t methods[] = {0, 2, 1};
	static const struct perf_attr attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					      .flags = PERF_ATTR_SAMPLE_ID_ALL};
	const struct perf_sample_id id = {.time = 99, .pid = 7, .tid = 8};
	const struct perf_deferred_stack stack = {0x10001, ips, methods, 3, 1, 2};
	struct perf_callchain_deferred c;
	struct perf_deferred_trailer t;
	struct perf_sample_id got;
	struct perf_record r;
	struct buf b = {0};

	buf_u64(&b, 0); /* it is not always the first */
	perf_deferred_put(&b, &stack, &attr, &id);
	r = perf_record_of(bytes_of(b.data + 8, b.nr - 8), false);
	CHECK_EQ(r.size, b.nr - 8, "the record's size is in its header");
	CHECK(perf_callchain_deferred_parse(&r, &c) == CLEW_OK && c.cookie == 0x10001 &&
		      c.nr == 3 && !memcmp(c.ips, ips, sizeof(ips)),
	      "cookie and frames come back");
	CHECK(perf_deferred_trailer(&r, 16, &t) && t.stop == 1 && t.why == 2 &&
		      perf_deferred_method(&t, 1) == 2 && perf_deferred_method(&t, 2) == 1,
	      "so do its end and the methods of its frames");
	CHECK(perf_sample_id_parse(perf_record_body(&r), false, &attr, &got) == CLEW_OK &&
		      got.time == 99 && got.pid == 7 && got.tid == 8,
	      "and the sample_id");
	buf_done(&b);
}

static void test_cookies(void)
{
	CHECK(perf_cookie_is_none(perf_no_stack_cookie(PERF_NO_STACK_REFUSED)) &&
		      perf_cookie_is_none(0) && !perf_cookie_is_none(0x10001),
	      "a word without a CPU is no cookie");
	CHECK_EQ(perf_no_stack_of(perf_no_stack_cookie(PERF_NO_STACK_UNMATCHED)),
		 PERF_NO_STACK_UNMATCHED, "the reason comes back");
	CHECK_EQ(perf_no_stack_of(0xffffffffffff0000), PERF_NO_STACK_NONE,
		 "a reason of a later version is none that we know");
}

static void test_memory(void)
{
	static const uint8_t mixed[40] = {0, 1, 2};
	struct buf b = {0};

	for (size_t n = 1; n <= 2; n++) {
		mem_fail_after(n);
		perf_deferred_put_trailer(&b, 1, 0, mixed, 40);
		mem_fail_after(0);
		CHECK(b.is_failed || b.nr == 32, "memory short at allocation %zu: said, or whole",
		      n);
		buf_done(&b);
		b = (struct buf){0};
	}
}

int main(void)
{
	test_round_trips(false);
	test_round_trips(true);
	test_refusals();
	test_put();
	test_cookies();
	test_memory();
	return tap_done();
}
