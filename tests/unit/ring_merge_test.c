/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rings without a kernel: their records come out whole, once, and in order of time. */
#include "record/stacks/ring_merge.h"

#include "unit/tap.h"

enum { NR_RINGS = 3, RING = 4096, DATA_HEAD = 1024 / 8, DATA_TAIL = 1032 / 8, SAMPLE_BYTES = 40 };

static uint64_t page[NR_RINGS][512];
static uint8_t data[NR_RINGS][RING];
static size_t at[NR_RINGS];
static struct rec_counter events[2];
static int fds[2][1] = {{3}, {4}};
static uint64_t ids[2][1] = {{1001}, {1002}};

static struct rec_counters counters(void)
{
	struct rec_counters c = {.nr_places = 1};

	for (int i = 0; i < 2; i++) {
		events[i].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					     PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		events[i].attr.flags = PERF_ATTR_SAMPLE_ID_ALL;
		events[i].fds = fds[i];
		events[i].ids = ids[i];
		vec_push(&c.list, events[i]);
	}
	memset(page, 0, sizeof(page));
	for (int i = 0; i < NR_RINGS; i++) {
		vec_push(&c.rings,
			 (struct rec_ring){
				 .cpu = i,
				 .ring = {.page = page[i], .data = data[i], .data_bytes = RING}
                });
		at[i] = 0;
	}
	return c;
}

static void put(int ring, const void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[ring][at[ring]++ % RING] = ((const uint8_t *)p)[i];
	page[ring][DATA_HEAD] = at[ring];
}

static void put_sample(int ring, int event, uint64_t time)
{
	const struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .size = SAMPLE_BYTES};
	const uint64_t words[] = {ids[event][0], 0x1000, 7, time};

	put(ring, &h, sizeof(h));
	put(ring, words, sizeof(words));
}

/* A record with a sample_id after it: tid, time, id. */
static void put_exit(int ring, uint64_t time)
{
	const struct perf_event_header h = {.type = PERF_RECORD_EXIT, .size = 56};
	const uint64_t words[] = {7, 7, time, 7, time, ids[0][0]};

	put(ring, &h, sizeof(h));
	put(ring, words, sizeof(words));
}

static void done(struct ring_merge *m, struct rec_counters *c)
{
	ring_merge_done(m);
	vec_done(&c->list);
	vec_done(&c->rings);
}

static void test_order(void)
{
	static const uint64_t times[] = {100, 150, 150, 200, 300, 310};
	static const uint32_t types[] = {PERF_RECORD_SAMPLE, PERF_RECORD_SAMPLE,
					 PERF_RECORD_EXIT,   PERF_RECORD_SAMPLE,
					 PERF_RECORD_SAMPLE, PERF_RECORD_SAMPLE};
	static const uint32_t event[] = {0, 1, 0, 1, 0, 0};
	struct rec_counters c = counters();
	struct ring_merge m;
	struct ring_record r;
	size_t nr = 0;
	bool ok = true;

	CHECK(ring_merge_init(&m, &c), "a merge");
	put_sample(0, 0, 100);
	put_sample(0, 1, 200);
	put_sample(1, 1, 150);
	put_sample(1, 0, 300);
	put_exit(2, 150);
	put_sample(2, 0, 310);
	CHECK(ring_merge_note(&m, &c), "heads noted");
	put_sample(0, 0, 120); /* too late for this pass */
	while (ring_merge_next(&m, &r) == CLEW_OK && nr < 6) {
		ok &= r.time == times[nr] && r.header.type == types[nr] && r.event == event[nr];
		nr++;
	}
	CHECK(ok && nr == 6, "order of time, types and events");
	CHECK(page[0][DATA_TAIL] == 2 * SAMPLE_BYTES && page[1][DATA_TAIL] == at[1] &&
		      page[2][DATA_TAIL] == at[2],
	      "what was noted is given back, no more");
	ring_merge_note(&m, &c);
	CHECK(ring_merge_next(&m, &r) == CLEW_OK && r.time == 120, "the rest in the next pass");
	CHECK(ring_merge_next(&m, &r) == CLEW_END, "and no more");
	ring_merge_note(&m, &c);
	CHECK(ring_merge_next(&m, &r) == CLEW_END, "empty rings");
	done(&m, &c);
}

static void test_crossing(void)
{
	bool ok = true;

	for (size_t from = RING - 160; from <= RING; from += 8) {
		struct rec_counters c = counters();
		struct ring_merge m;
		struct ring_record r;
		uint64_t sum = 0;

		ring_merge_init(&m, &c);
		at[0] = c.rings.data[0].ring.tail = from;
		for (uint64_t i = 1; i <= 5; i++)
			put_sample(0, 1, i);
		ring_merge_note(&m, &c);
		while (ring_merge_next(&m, &r) == CLEW_OK)
			sum = sum * 10 + load_u64(r.data + 32, false);
		ok &= sum == 12345 && page[0][DATA_TAIL] == at[0];
		done(&m, &c);
	}
	CHECK(ok, "records that cross the ring's end anywhere");
}

static void test_damage(void)
{
	static const uint16_t sizes[] = {0, 4, 7, 9, 4000};
	bool ok = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct perf_event_header bad = {.type = PERF_RECORD_SAMPLE, .size = sizes[i]};
		struct rec_counters c = counters();
		struct ring_merge m;
		struct ring_record r;
		int nr = 0;

		ring_merge_init(&m, &c);
		put_sample(0, 0, 5);
		put(0, &bad, sizeof(bad));
		put_sample(1, 0, 9);
		ring_merge_note(&m, &c);
		while (ring_merge_next(&m, &r) == CLEW_OK)
			nr++;
		ok &= nr == 2 && page[0][DATA_TAIL] == at[0];
		done(&m, &c);
	}
	CHECK(ok, "a size no kernel writes ends its ring's span; the others continue");
}

/* An MMAP2 with a build id in misc: kept where our event asked for it, else taken away. */
static void test_stale_bit(void)
{
	const struct perf_event_header h = {.type = PERF_RECORD_MMAP2,
					    .misc = PERF_RECORD_MISC_USER |
						    PERF_RECORD_MISC_MMAP_BUILD_ID,
					    .size = 112};
	const uint64_t words[13] = {[3] = 0, [4] = 3ull << 32 | 254, [10] = 7, [11] = 5, 1001};
	bool ok = true;

	for (int with_ids = 0; with_ids < 2; with_ids++) {
		for (size_t from = RING - 120; from <= RING; from += 8) {
			struct rec_counters c = counters();
			struct ring_merge m;
			struct ring_record r;
			uint16_t want = with_ids ? h.misc : PERF_RECORD_MISC_USER, misc;

			c.list.data[0].is_tracking = true;
			c.list.data[0].attr.flags |= with_ids ? PERF_ATTR_BUILD_ID : 0;
			ring_merge_init(&m, &c);
			at[0] = c.rings.data[0].ring.tail = from;
			put(0, &h, sizeof(h));
			put(0, words, sizeof(words));
			ring_merge_note(&m, &c);
			ok &= ring_merge_next(&m, &r) == CLEW_OK;
			memcpy(&misc, r.data + 4, sizeof(misc));
			ok &= r.header.misc == want && misc == want &&
			      !memcmp(r.data + 8, words, sizeof(words));
			misc = data[0][(from + 5) % RING];
			ok &= misc == h.misc >> 8; /* a kernel's ring cannot be written */
			done(&m, &c);
		}
	}
	CHECK(ok, "the bit for a build id goes where none was asked for, and only there");
}

int main(void)
{
	test_stale_bit();
	test_order();
	test_crossing();
	test_damage();
	return tap_done();
}
