/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AUX areas without a kernel: what is written of them, and when. */
#include "record/aux/aux_source.h"

#include <sched.h>

#include "os/thread.h"
#include "perfdata/perf_writer.h"
#include "record/aux/aux_area.h"
#include "record/session/drain.h"
#include "record/session/ring_source.h"
#include "unit/tap.h"

enum { RING = 4096, DATA_HEAD = 1024, AUX_HEAD = 1056, AUX_TAIL = 1064 };

static uint64_t page[512];
static uint8_t data[RING], area[RING];

struct world {
	struct rec_counters counters;
	struct rec_options options;
	struct rec_sources sources;
	struct rec_drain drain;
	struct rec_file file;
	struct buf out;
	size_t at; /* written to out before */
	char said[4096];
};

static enum clew_err to_buf(void *ctx, const void *p, size_t size)
{
	buf_add(ctx, p, size);
	return CLEW_OK;
}

static void say(void *ctx, enum rec_level level, const char *text)
{
	struct world *w = ctx;
	size_t n = strlen(w->said);

	(void)level;
	snprintf(w->said + n, sizeof(w->said) - n, "%s\n", text);
}

static void begin(struct world *w, bool is_overwrite)
{
	static struct rec_counter event;
	static struct perf_evlist none;
	static struct rec_build_ids ids;
	static struct rec_ui ui;
	const struct perf_writer_out out = {
		{to_buf, &w->out},
                NULL
        };
	struct rec_source source;

	memset(page, 0, sizeof(page));
	memset(area, 0, sizeof(area));
	ui = (struct rec_ui){.say = say, .ctx = w};
	event.attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	event.attr.flags = PERF_ATTR_SAMPLE_ID_ALL;
	vec_push(&w->counters.list, event);
	vec_push(&w->counters.rings, (struct rec_ring){
					     .fd = -1,
					     .tid = -1,
					     .ring = {.page = page,
						      .data = data,
						      .data_bytes = RING,
						      .aux = area,
						      .aux_bytes = RING,
						      .is_aux_overwrite = is_overwrite}
        });
	w->options.snapshot.is_on = is_overwrite;
	rec_sources_add(&w->sources, ring_source_new(&w->counters, false));
	aux_source_new(&source, &w->counters, &w->options, &ui);
	rec_sources_add(&w->sources, source);
	rec_drain_init(&w->drain, &w->counters, &w->sources, &ids, false);
	perf_writer_open(&w->file.writer, &out, &none, &(struct perf_writer_opts){0});
	w->at = w->out.nr;
}

static void end(struct world *w)
{
	rec_sources_done(&w->sources);
	rec_drain_done(&w->drain);
	perf_writer_free(w->file.writer);
	buf_done(&w->out);
	vec_done(&w->counters.list);
	vec_done(&w->counters.rings);
	*w = (struct world){0};
}

static void put_aux_record(uint64_t offset, uint64_t size, uint64_t flags, uint64_t time)
{
	const uint64_t words[] = {PERF_RECORD_AUX | 48ull << 48, offset, size, flags, 7, time};
	uint64_t at = page[DATA_HEAD / 8];

	memcpy(data + at % RING, words, sizeof(words));
	page[DATA_HEAD / 8] = at + sizeof(words);
}

static void produce(size_t nr)
{
	uint64_t *head = &page[AUX_HEAD / 8];

	while (nr--) {
		area[*head % RING] = (uint8_t)(*head % 251 + 1);
		++*head;
	}
}

/* AUXTRACE bytes of a pass: their number, and the offset of the first; all have to be right. */
static uint64_t passed(struct world *w, bool is_last, uint64_t *ret_offset)
{
	struct perf_event_header h;
	uint64_t size, sum = 0;

	rec_drain_pass(&w->drain, &w->file, is_last);
	for (; w->out.nr - w->at >= sizeof(h); w->at += h.size) {
		const uint8_t *p = (const uint8_t *)w->out.data + w->at;

		memcpy(&h, p, sizeof(h));
		if (h.type != PERF_RECORD_AUXTRACE)
			continue;
		size = load_u64(p + 8, false);
		*ret_offset = load_u64(p + 16, false);
		for (uint64_t i = 0; i < size && p[48 + i]; i++)
			sum += p[48 + i] == (*ret_offset + i) % 251 + 1;
		w->at += size;
	}
	return sum;
}

static void test_full(void)
{
	struct world w = {0};
	uint64_t offset = 0;

	begin(&w, false);
	CHECK_EQ(rec_sources_sleep_ms(&w.sources), 100, "read at least each 100 ms");
	produce(1000);
	put_aux_record(0, 1000, 0, 10);
	CHECK(passed(&w, false, &offset) == 1000 && offset == 0, "what is new");
	produce(RING - 8);
	put_aux_record(1000, 96, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL, 5000000);
	CHECK(passed(&w, false, &offset) == RING - 8 && offset == 1000,
	      "the head counts, not the records");
	CHECK_EQ(page[AUX_TAIL / 8], RING - 8 + 1000, "the space is given back");
	put_aux_record(RING, 8, 1 << 6, 7000000);
	passed(&w, true, &offset);
	rec_sources_report(&w.sources, true);
	CHECK(strstr(w.said, "1 times, first at 0.005000000, for 2.000 ms"),
	      "a gap, and its length");
	CHECK(strstr(w.said, "3 AUX records: 1 truncated, 1 partial, 0 with collisions, 0 "
			     "overwriting, 1 of unknown kind"),
	      "flags are counted by kind");
	CHECK(strstr(w.said, "3984 bytes without a record"), "and bytes that no record describes");
	end(&w);
	begin(&w, false);
	put_aux_record(0, 0, PERF_AUX_FLAG_TRUNCATED, 10);
	passed(&w, true, &offset);
	rec_sources_report(&w.sources, false);
	CHECK(strstr(w.said, "another recording"), "a sink in use: nothing, again and again");
	end(&w);
}

static void snapshot(struct world *w)
{
	rec_sources_order(&w->sources, &(struct rec_order){REC_ORDER_SNAPSHOT, NULL});
}

static void test_snapshots(void)
{
	struct world w = {.options.snapshot.max = 3};
	uint64_t offset = 0;

	begin(&w, true);
	produce(500);
	CHECK(!passed(&w, false, &offset), "nothing is taken unasked");
	snapshot(&w);
	CHECK(passed(&w, false, &offset) == 500 && offset == 0 && !page[AUX_TAIL / 8],
	      "a request takes what there is, and never moves the tail");
	CHECK(!passed(&w, false, &offset), "once");
	produce(2 * RING);
	snapshot(&w);
	snapshot(&w);
	CHECK(passed(&w, false, &offset) == RING && offset == 500 + RING,
	      "of whole turns the newest, for two requests of one moment");
	CHECK_EQ(w.drain.nr_snapshots, 2, "two snapshots");
	produce(10);
	snapshot(&w);
	CHECK(passed(&w, false, &offset) == 10 && offset == 500 + 2 * RING, "the next one goes on");
	produce(10);
	snapshot(&w);
	CHECK(!passed(&w, false, &offset) && w.drain.nr_snapshots == 3, "no more than asked for");
	rec_sources_report(&w.sources, false);
	CHECK(strstr(w.said, "snapshot 1: 500 bytes, all since the start") &&
		      strstr(w.said, "snapshot 2: 4096 bytes, older trace was overwritten") &&
		      strstr(w.said, "snapshot 3: 10 bytes, all since the one before"),
	      "each, with what it holds");
	CHECK(strstr(w.said, "3 snapshots") && strstr(w.said, "1 requests merged"), "all reported");
	end(&w);
}

static uint64_t put(struct world *w, struct aux_area *a)
{
	size_t before = w->out.nr;

	aux_area_put(a, &(struct rec_pass){.file = &w->file});
	return w->out.nr - before;
}

/* What is taken, and written when the trace may run again, or is still off. */
static void test_take(void)
{
	struct world w = {0};
	uint8_t to[RING];
	struct aux_area a;

	begin(&w, true);
	aux_area_init(&a, &w.counters.rings.data[0], 0);
	produce(RING + 16);
	CHECK_EQ(aux_area_take(&a, 0, to), RING, "a whole area, in two parts");
	produce(64);
	CHECK(put(&w, &a) == 48 + RING && w.out.data[w.out.nr - RING] == 16 + 1 &&
		      w.out.data[w.out.nr - 1] == (char)((RING + 15) % 251 + 1),
	      "it was copied: what came after it is not there");
	CHECK_EQ(put(&w, &a), 0, "and is written once");
	CHECK(aux_area_take(&a, 0, NULL) == 64 && put(&w, &a) == 48 + 64, "as it lies, too");
	aux_area_done(&a);
	end(&w);
}

static void test_at_end(void)
{
	struct world w = {
		.options.snapshot = {.at_end = true, .bytes = 64}
        };
	uint64_t offset = 0;

	begin(&w, true);
	produce(500);
	passed(&w, false, &offset);
	rec_sources_stop(&w.sources);
	CHECK(passed(&w, true, &offset) == 64 && offset == 436, "at the end, the newest bytes");
	end(&w);
}

/* --- beside the kernel: a thread that fills the area and the ring while they are read --- */

enum { BLOCK = 64, NR_BLOCKS = 6000, RECORD = 48 };

struct kernel {
	bool is_done; /* atomic: all is produced */
	uint64_t nr_lost;
};

static uint64_t *word(size_t at)
{
	return &page[at / 8];
}

/* The kernel looks at the tail before it stores what depends on it; for the sanitizer, it acquires
 * what the reader released. */
static size_t room(size_t head, size_t tail)
{
	return RING - (size_t)(*word(head) - __atomic_load_n(word(tail), __ATOMIC_ACQUIRE));
}

/* Lost where the data ring is full. */
static void publish_record(uint64_t offset, uint64_t size, uint64_t flags)
{
	const uint64_t words[] = {
		PERF_RECORD_AUX | (uint64_t)RECORD << 48, offset, size, flags, 7, offset + 1};
	uint64_t head = *word(DATA_HEAD);

	if (room(DATA_HEAD, 1032) < sizeof(words))
		return;
	for (size_t i = 0; i < 6; i++)
		memcpy(data + (head + 8 * i) % RING, &words[i], 8);
	__atomic_store_n(word(DATA_HEAD), head + sizeof(words), __ATOMIC_RELEASE);
}

static void publish_block(uint64_t number)
{
	uint64_t head = *word(AUX_HEAD);

	for (size_t i = 0; i < BLOCK; i += 8)
		memcpy(area + (head + i) % RING, &number, 8);
	__atomic_store_n(word(AUX_HEAD), head + BLOCK, __ATOMIC_RELEASE);
}

/* A block that finds the area full is lost, and the next one waits until it was read. */
static void produce_blocks(void *ctx)
{
	struct kernel *k = ctx;

	for (uint64_t i = 0; i < NR_BLOCKS; i++) {
		if (room(AUX_HEAD, AUX_TAIL) > BLOCK) {
			publish_block(i);
			/* In between, the area's head alone says what is there. */
			if (i % 16 == 0)
				publish_record(*word(AUX_HEAD) - BLOCK, BLOCK, 0);
			continue;
		}
		if (k->nr_lost++ % 2)
			publish_record(*word(AUX_HEAD), 0, PERF_AUX_FLAG_TRUNCATED);
		while (room(AUX_HEAD, AUX_TAIL) <= BLOCK)
			sched_yield();
	}
	__atomic_store_n(&k->is_done, true, __ATOMIC_RELEASE);
}

struct blocks {
	uint64_t nr, next, offset; /* next: the least number that may follow */
	bool is_wrong;
};

static void check_block(struct blocks *b, const uint8_t *p)
{
	uint64_t number = load_u64(p, false);

	for (size_t i = 0; i < BLOCK; i += 8)
		b->is_wrong |= load_u64(p + i, false) != number;
	b->is_wrong |= number < b->next;
	b->next = number + 1;
	b->nr++;
}

/* All that was written: AUXTRACE records with blocks, in order, each once and whole. */
static void check_blocks(const struct buf *out, size_t at, struct blocks *b)
{
	struct perf_event_header h;

	for (; out->nr - at >= sizeof(h); at += h.size) {
		const uint8_t *p = (const uint8_t *)out->data + at;
		uint64_t size;

		memcpy(&h, p, sizeof(h));
		if (h.type != PERF_RECORD_AUXTRACE)
			continue;
		size = load_u64(p + 8, false);
		b->is_wrong |= load_u64(p + 16, false) != b->offset || size % BLOCK;
		b->offset += size;
		for (uint64_t i = 0; i < size; i += BLOCK)
			check_block(b, p + RECORD + i);
		at += size;
	}
}

static void test_beside_kernel(void)
{
	struct world w = {0};
	struct kernel k = {0};
	struct blocks b = {0};
	struct os_thread *t;
	bool is_done = false;
	size_t at;

	begin(&w, false);
	at = w.at;
	t = os_thread_start(produce_blocks, &k);
	while (!is_done) {
		is_done = __atomic_load_n(&k.is_done, __ATOMIC_ACQUIRE);
		rec_drain_pass(&w.drain, &w.file, is_done);
		sched_yield();
	}
	os_thread_join(t);
	check_blocks(&w.out, at, &b);
	CHECK(!b.is_wrong && b.nr + k.nr_lost == NR_BLOCKS,
	      "read while it is written: each block that was not lost, once, in order (%llu lost)",
	      (unsigned long long)k.nr_lost);
	CHECK(!w.counters.rings.data[0].ring.nr_skips, "every head fits its tail");
	end(&w);
}

int main(void)
{
	test_full();
	test_snapshots();
	test_take();
	test_at_end();
	test_beside_kernel();
	return tap_done();
}
