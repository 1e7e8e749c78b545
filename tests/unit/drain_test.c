/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/drain.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "record/aux/aux_drain.h"
#include "record/aux/aux_source.h"
#include "record/running/file_build_id.h"
#include "record/session/ring_source.h"
#include "unit/tap.h"

/* Rings without a kernel, and a writer into memory. */

enum { RING = 4096, DATA_HEAD = 1024, AUX_HEAD = 1056, AUX_TAIL = 1064 };

static uint64_t page[512];
static uint8_t data[RING], aux[RING];
static size_t at;

static void set_word(size_t offset, uint64_t v)
{
	page[offset / 8] = v;
}

static uint8_t *put(const void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[at++ % RING] = ((const uint8_t *)p)[i];
	return data;
}

static void put_header(uint32_t type, uint16_t misc, size_t size)
{
	struct perf_event_header h = {.type = type, .misc = misc, .size = (uint16_t)size};

	put(&h, sizeof(h));
}

static void put_sample(uint64_t time) /* IP, TID, TIME */
{
	const uint64_t words[] = {0x1000, 7, time};

	put_header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 32);
	put(words, sizeof(words));
}

static void put_lost(uint64_t nr)
{
	const uint64_t words[] = {1, nr};

	put_header(PERF_RECORD_LOST, 0, 24);
	put(words, sizeof(words));
}

enum { MMAP_BYTES = 8 + 64 + 16 };

static void put_mmap(const char *name) /* with a build id, as its misc says */
{
	uint8_t body[64 + 16] = {0}; /* pid, tid, start, len, pgoff, build id, prot, flags, name */

	body[32] = 20;
	memset(body + 36, 0xab, 20);
	memcpy(body + 64, name, strlen(name));
	put_header(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 8 + sizeof(body));
	put(body, sizeof(body));
}

static struct rec_counters counters(void)
{
	static struct rec_counter event;
	struct rec_counters c = {0};

	event.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	vec_push(&c.list, event);
	vec_push(&c.rings, (struct rec_ring){
				   .fd = -1,
				   .tid = -1,
				   .ring = {.page = page, .data = data, .data_bytes = RING}
        });
	memset(page, 0, sizeof(page));
	at = 0;
	return c;
}

static enum clew_err to_buf(void *ctx, const void *p, size_t size)
{
	buf_add(ctx, p, size);
	return CLEW_OK;
}

static void test_count(void)
{
	struct rec_counters c = counters();
	struct rec_build_ids ids = {0};
	struct buf seen = {0};
	struct rec_drain d;
	struct bytes part[2];
	struct os_ring *r = &c.rings.data[0].ring;

	c.list.data[0].is_tracking = true;
	c.list.data[0].attr.flags = PERF_ATTR_BUILD_ID;
	rec_drain_init(&d, &c, NULL, &ids, false);
	d.seen = &seen;
	at = r->tail = RING - 48; /* so that the second sample, or the map, crosses the end */
	put_sample(500);
	put_sample(900);
	put_lost(12);
	put_mmap("/bin/a");
	put_mmap("/bin/a");
	put_mmap("/bin/b");
	put_sample(1000);
	set_word(DATA_HEAD, at);
	os_ring_peek(r, part);
	rec_drain_count(&d, NULL, part);
	CHECK_EQ(d.samples, 3, "samples counted");
	CHECK_EQ(d.lost, 12, "lost samples added up");
	CHECK(d.first_ns == 500 && d.last_ns == 1000, "times of the first and the last");
	CHECK_EQ(ids.nr, 2, "each file's build id once");
	CHECK(seen.nr == 3 * MMAP_BYTES && !memcmp(seen.data + 8 + 64, "/bin/a", 7) &&
		      !memcmp(seen.data + 2 * MMAP_BYTES + 8 + 64, "/bin/b", 7),
	      "records of maps, one over the ring's end, and no sample, for the next file");

	at = 0;
	r->tail = 0;
	put_sample(400);
	put_sample(450);
	put_header(PERF_RECORD_SAMPLE, 0, 0); /* a size no kernel writes */
	set_word(DATA_HEAD, at);
	os_ring_peek(r, part);
	rec_drain_count(&d, NULL, part);
	CHECK(d.samples == 5 && d.first_ns == 400 && d.last_ns == 1000,
	      "another CPU's earlier times; an impossible size ends the count");
	buf_done(&seen);
	rec_drain_done(&d);
	rec_build_ids_done(&ids);
	vec_done(&c.list);
	vec_done(&c.rings);
}

static void test_crossing(void)
{
	struct rec_counters c = counters();
	struct rec_build_ids ids = {0};
	struct rec_drain d;
	bool ok = true;

	c.list.data[0].is_tracking = true;
	c.list.data[0].attr.flags = PERF_ATTR_BUILD_ID;
	rec_drain_init(&d, &c, NULL, &ids, false);
	for (size_t from = RING - 160; from <= RING; from += 8) {
		struct os_ring *r = &c.rings.data[0].ring;
		struct bytes part[2];

		at = r->tail = from;
		d.samples = d.first_ns = d.last_ns = d.lost = 0;
		put_lost(5);
		put_sample(77);
		put_mmap("/bin/c");
		put_lost(5);
		set_word(DATA_HEAD, at);
		os_ring_peek(r, part);
		rec_drain_count(&d, NULL, part);
		ok &= d.samples == 1 && d.first_ns == 77 && d.last_ns == 77 && d.lost == 10;
	}
	CHECK(ok && ids.nr == 1, "records that cross the ring's end anywhere");
	rec_drain_done(&d);
	rec_build_ids_done(&ids);
	vec_done(&c.list);
	vec_done(&c.rings);
}

static size_t count_bits(const struct buf *b, size_t pos, size_t *ret_records)
{
	struct perf_event_header h;
	size_t nr = 0;

	*ret_records = 0;
	for (; b->nr - pos >= sizeof(h); pos += h.size) {
		memcpy(&h, b->data + pos, sizeof(h));
		if (h.size < sizeof(h) || h.size > b->nr - pos)
			break;
		*ret_records += h.type < PERF_RECORD_HEADER_ATTR;
		nr += h.type == PERF_RECORD_MMAP2 && h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
	}
	return nr;
}

/* Records into memory, and how many of them say that they hold a build id. */
static size_t drained_bits(bool with_ids, bool is_backward, size_t from, size_t *ret_records)
{
	struct rec_counters c = counters();
	struct rec_build_ids ids = {0};
	struct perf_evlist l = {0};
	struct buf b = {0};
	const struct perf_writer_out out = {
		{to_buf, &b},
                NULL
        };
	struct rec_file f = {0};
	struct rec_sources sources = {0};
	struct rec_drain d;
	size_t start, nr;

	c.list.data[0].is_tracking = true;
	c.list.data[0].attr.flags = with_ids ? PERF_ATTR_BUILD_ID : 0;
	c.rings.data[0].is_backward = is_backward;
	rec_sources_add(&sources, ring_source_new(&c, false));
	rec_drain_init(&d, &c, &sources, &ids, false);
	perf_writer_open(&f.writer, &out, &l, &(struct perf_writer_opts){0});
	start = b.nr;
	at = from;
	c.rings.data[0].ring.tail = from;
	put_sample(10);
	put_mmap("/bin/a");
	put_sample(20);
	put_mmap("/bin/b");
	set_word(DATA_HEAD, is_backward ? from : at);
	if (is_backward) /* head lies before what is newer than tail */
		c.rings.data[0].ring.tail = at;
	rec_drain_pass(&d, &f, true);
	nr = count_bits(&b, start, ret_records);
	perf_writer_free(f.writer);
	buf_done(&b);
	rec_sources_done(&sources);
	rec_drain_done(&d);
	rec_build_ids_done(&ids);
	vec_done(&c.list);
	vec_done(&c.rings);
	return nr;
}

/* Another recorder's bit, in the records of an event without build ids. */
static void test_stale_bit(void)
{
	for (int is_backward = 0; is_backward < 2; is_backward++) {
		bool kept = true, cleared = true, whole = true;

		for (size_t from = RING - 240; from <= RING; from += 8) {
			size_t nr;

			kept &= drained_bits(true, is_backward, from, &nr) == 2;
			whole &= nr == 4;
			cleared &= drained_bits(false, is_backward, from, &nr) == 0;
			whole &= nr == 4;
		}
		CHECK(kept, "%s ring: asked for, the bit stays",
		      is_backward ? "overwritten" : "forward");
		CHECK(cleared, "not asked for, it goes");
		CHECK(whole, "all records come");
	}
}

/* A kernel that records no build ids: they come from the files, each looked at once. */
static void test_old_kernel(void)
{
	struct rec_counters c = counters();
	struct rec_build_ids ids = {0};
	struct os_ring *r = &c.rings.data[0].ring;
	struct rec_drain d;
	struct bytes part[2];
	uint8_t id[20], body[64 + 24] = {0}; /* pid, tid, start, len, pgoff, maj, min, inode */
	const char self[] = "/proc/self/exe";
	size_t n = rec_file_build_id(self, id);
	uint32_t device[2];
	struct stat st;

	stat(self, &st);
	device[0] = major(st.st_dev);
	device[1] = minor(st.st_dev);
	rec_drain_init(&d, &c, NULL, &ids, true);
	memcpy(body + 32, device, 8);
	memcpy(body + 64, self, sizeof(self));
	for (uint64_t other = 2; other-- > 0;) {
		uint64_t ino = st.st_ino + other; /* first that of another file of this name */

		memcpy(body + 40, &ino, 8);
		for (int i = 0; i < 2; i++) {
			put_header(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 8 + sizeof(body));
			put(body, sizeof(body));
		}
	}
	set_word(DATA_HEAD, at);
	os_ring_peek(r, part);
	rec_drain_count(&d, NULL, part);
	CHECK_EQ(ids.nr, n ? 1 : 0, "build id read from the file of that name and inode alone");
	CHECK(!n || (ids.section.nr > 36 && !memcmp(ids.section.data + 12, id, n)),
	      "and it is the file's");
	rec_drain_done(&d);
	rec_build_ids_done(&ids);
	vec_done(&c.list);
	vec_done(&c.rings);
}

static void test_aux(void)
{
	static const struct rec_aux_place place = {.idx = 3, .tid = UINT32_MAX, .cpu = 3};
	struct perf_evlist l = {0};
	struct buf b = {0};
	const struct perf_writer_out out = {
		{to_buf, &b},
                NULL
        };
	struct perf_writer *w = NULL;
	struct os_ring r = {.page = page, .aux = aux, .aux_bytes = RING, .aux_tail = RING - 100};
	uint64_t bytes = 0, size, offset;
	size_t start;

	for (size_t i = 0; i < RING; i++)
		aux[i] = (uint8_t)(i * 7);
	memset(page, 0, sizeof(page));
	perf_writer_open(&w, &out, &l, &(struct perf_writer_opts){0});
	start = b.nr;
	set_word(AUX_HEAD, RING - 100);
	CHECK(!rec_aux_drain(&r, &place, w, &bytes) && b.nr == start,
	      "nothing new: nothing written");
	set_word(AUX_HEAD, RING + 101);
	CHECK(!rec_aux_drain(&r, &place, w, &bytes) && bytes == 201, "201 bytes over the end");
	memcpy(&size, b.data + start + 8, 8);
	memcpy(&offset, b.data + start + 16, 8);
	CHECK(load_u64((const uint8_t *)b.data + start + 24, false) != 0, "a reference, never 0");
	CHECK(size == 208 && offset == RING - 100 && b.nr == start + 48 + 208,
	      "size padded to 8, offset in the stream");
	CHECK(!memcmp(b.data + start + 48, aux + RING - 100, 100) &&
		      !memcmp(b.data + start + 148, aux, 101),
	      "the trace's bytes in order");
	CHECK_EQ(page[AUX_TAIL / 8], RING + 101, "the space is given back");
	perf_writer_free(w);
	buf_done(&b);
}

/* The areas are a separate source, after the rings. */
static void test_aux_source(void)
{
	struct rec_counters c = counters();
	struct rec_sources sources = {0};
	struct rec_build_ids ids = {0};
	struct perf_evlist l = {0};
	struct buf b = {0};
	const struct perf_writer_out out = {
		{to_buf, &b},
                NULL
        };
	struct rec_file f = {0};
	struct rec_drain d;
	struct rec_source source;
	const struct rec_options o = {0};
	const struct rec_ui ui = {0};
	uint32_t type[3];
	size_t start;

	aux_source_new(&source, &c, &o, &ui);
	CHECK(!source.ops, "without AUX areas there is no source of them");
	c.rings.data[0].ring.aux = aux;
	c.rings.data[0].ring.aux_bytes = RING;
	rec_sources_add(&sources, ring_source_new(&c, false));
	aux_source_new(&source, &c, &o, &ui);
	rec_sources_add(&sources, source);
	rec_drain_init(&d, &c, &sources, &ids, false);
	perf_writer_open(&f.writer, &out, &l, &(struct perf_writer_opts){0});
	start = b.nr;
	put_sample(10);
	set_word(DATA_HEAD, at);
	set_word(AUX_HEAD, 64);
	rec_drain_pass(&d, &f, false);
	memcpy(&type[0], b.data + start, 4);
	memcpy(&type[1], b.data + start + 32, 4);
	memcpy(&type[2], b.data + start + 32 + 48 + 64, 4);
	CHECK(b.nr == start + 32 + 48 + 64 + 8 && type[0] == PERF_RECORD_SAMPLE &&
		      type[1] == PERF_RECORD_AUXTRACE && type[2] == PERF_RECORD_FINISHED_ROUND,
	      "a pass: records, then the trace they describe, then the end of the round");
	start = b.nr;
	rec_drain_pass(&d, &f, false);
	CHECK_EQ(b.nr, start, "a pass that brings nothing ends no round");
	perf_writer_free(f.writer);
	buf_done(&b);
	rec_sources_done(&sources);
	rec_drain_done(&d);
	vec_done(&c.list);
	vec_done(&c.rings);
}

int main(void)
{
	test_count();
	test_crossing();
	test_stale_bit();
	test_old_kernel();
	test_aux();
	test_aux_source();
	return tap_done();
}
