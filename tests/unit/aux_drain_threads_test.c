/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel in another thread fills an AUX area while it is drained: each word is written once, in
 * order, and none while it is overwritten. Under ThreadSanitizer also: no read but those that the
 * head and the tail order. */
#include <sched.h>

#include "os/thread.h"
#include "perfdata/perf_writer.h"
#include "record/aux/aux_drain.h"
#include "unit/tap.h"

enum { AREA = 4096, AUX_HEAD = 1056, AUX_TAIL = 1064, NR = 100000, RECORD = 48 };

static uint64_t page[512], area[AREA / 8];

/* Spec: Linux kernel/events/ring_buffer.c, "perf_aux_output_begin": one word stays free. */
static void produce(void *ctx)
{
	uint64_t head = 0;

	(void)ctx;
	for (uint64_t i = 0; i < NR; i++) {
		/* Pairs with the release in os_ring_aux_consume(). */
		while (head - __atomic_load_n(&page[AUX_TAIL / 8], __ATOMIC_ACQUIRE) >= AREA - 8)
			sched_yield();
		area[head % AREA / 8] = i;
		head += 8;
		/* Pairs with the acquire in os_ring_aux_peek(). */
		__atomic_store_n(&page[AUX_HEAD / 8], head, __ATOMIC_RELEASE);
	}
}

static enum clew_err to_buf(void *ctx, const void *p, size_t size)
{
	buf_add(ctx, p, size);
	return CLEW_OK;
}

static void drain(struct buf *out, uint64_t *ret_bytes)
{
	static struct perf_evlist none;
	const struct perf_writer_out to = {
		{to_buf, out},
                NULL
        };
	const struct rec_aux_place place = {0};
	struct os_ring ring = {.page = page, .aux = (const uint8_t *)area, .aux_bytes = AREA};
	struct perf_writer *w = NULL;

	perf_writer_open(&w, &to, &none, &(struct perf_writer_opts){0});
	buf_clear(out);
	while (*ret_bytes < 8 * NR) {
		uint64_t before = *ret_bytes;

		if (rec_aux_drain(&ring, &place, w, ret_bytes) != CLEW_OK)
			break;
		if (*ret_bytes == before)
			sched_yield();
	}
	perf_writer_free(w);
}

/* @return words in the right order, and where one record ends the next begins. */
static uint64_t count_right(const struct buf *out, uint64_t *ret_records)
{
	uint64_t next = 0;

	for (size_t at = 0; out->nr - at > RECORD;) {
		uint64_t size = load_u64((const uint8_t *)out->data + at + 8, false);
		uint64_t offset = load_u64((const uint8_t *)out->data + at + 16, false);

		if (offset != 8 * next || size > out->nr - at - RECORD)
			return next;
		++*ret_records;
		at += RECORD;
		for (; size >= 8; size -= 8, at += 8)
			if (load_u64((const uint8_t *)out->data + at, false) != next++)
				return next - 1;
	}
	return next;
}

int main(void)
{
	struct buf out = {0};
	uint64_t bytes = 0, nr_records = 0;
	struct os_thread *kernel = os_thread_start(produce, NULL);

	drain(&out, &bytes);
	os_thread_join(kernel);
	CHECK_EQ(bytes, 8 * NR, "all that was traced is drained");
	CHECK_EQ(count_right(&out, &nr_records), NR, "each word once, in order, whole");
	CHECK(nr_records > 8 * NR / AREA, "in %llu pieces", (unsigned long long)nr_records);
	CHECK_EQ(page[AUX_TAIL / 8], 8 * NR, "and all of it is given back");
	buf_done(&out);
	return tap_done();
}
