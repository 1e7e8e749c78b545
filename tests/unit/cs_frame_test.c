// SPDX-License-Identifier: LGPL-2.1-or-later
#include "packet/coresight/cs_frame.h"

#include "make/cs_encode.h"
#include "tap.h"

enum { NR_BYTES = 6000 };

/** What came out of a demux, in the order that it was drained. */
struct got {
	struct {
		VEC(struct cs_byte);
	} bytes[CS_NR_IDS];
	size_t nr_barriers, nr_lost;
	uint64_t last_event; /* offset of the last barrier or loss */
};

/** Is each byte where its piece says, and no piece longer than a frame? */
static bool has_pieces(const struct cs_stream *s)
{
	uint64_t pos = 0, next, offset;
	size_t mark = 0;

	for (; pos < s->bytes.nr; pos = next) {
		next = cs_stream_piece(s, pos, &mark, &offset);
		if (next <= pos || next > s->bytes.nr || next - pos > 15)
			return false;
		for (uint64_t i = pos; i < next; i++) {
			if (cs_stream_offset(s, i) != offset + (i - pos))
				return false;
		}
	}
	return true;
}

static void drain(struct cs_demux *d, struct got *g)
{
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		struct cs_stream *s = cs_demux_stream(d, id);

		if (s && !has_pieces(s))
			abort();
		for (size_t i = 0; s && i < s->bytes.nr; i++) {
			struct cs_byte b = {(uint8_t)id, s->bytes.data[i], cs_stream_offset(s, i)};

			if (!vec_push(&g->bytes[id], b))
				abort();
		}
		if (s)
			cs_stream_clear(s);
	}
}

static void got_done(struct got *g)
{
	for (unsigned int id = 0; id < CS_NR_IDS; id++)
		vec_done(&g->bytes[id]);
}

/** Feed in pieces of @p chunk; streams are drained after each where @p drains, else at the end. */
static void feed(struct cs_demux *d, const void *data, size_t bytes, size_t chunk, bool drains,
		 struct got *g)
{
	for (size_t at = 0; at < bytes; at += chunk) {
		size_t n = bytes - at < chunk ? bytes - at : chunk;
		uint8_t *copy = malloc(n); /* its own block: ASan sees a read past its end */
		struct bytes in = bytes_of(copy, n);
		enum cs_event event = CS_DONE;
		uint64_t offset;

		memcpy(copy, (const uint8_t *)data + at, n);
		do {
			if (!cs_demux_feed(d, &in, &event, &offset))
				abort();
			g->nr_barriers += event == CS_BARRIER;
			g->nr_lost += event == CS_LOST;
			if (event != CS_DONE)
				g->last_event = offset;
		} while (event != CS_DONE);
		free(copy);
		if (drains)
			drain(d, g);
	}
	drain(d, g);
}

static struct got got_of(enum cs_layout layout, const void *data, size_t bytes, size_t chunk)
{
	struct cs_demux *d = cs_demux_new(layout);
	struct got g = {0};

	feed(d, data, bytes, chunk, false, &g);
	cs_demux_free(d);
	return g;
}

static bool is_text(const struct got *g, unsigned int id, const char *text)
{
	size_t n = strlen(text);

	if (g->bytes[id].nr != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (g->bytes[id].data[i].value != (uint8_t)text[i])
			return false;
	}
	return true;
}

static bool has_offsets(const struct got *g, unsigned int id, const char *offsets)
{
	for (size_t i = 0; i < g->bytes[id].nr; i++) {
		if (g->bytes[id].data[i].offset != (uint8_t)offsets[i])
			return false;
	}
	return true;
}

#define ID(n) ((n) << 1 | 1)

/* --- frames by hand --- */

static void test_slots(void)
{
	static const uint8_t frames[] = {
		/* before an ID: of no source. Then ID 1 at once; low bits of 'A' and 'C' in the
		 * flags
		 */
		'x', 'y', ID(1), 'z', 'A' & ~1, 'B', 'C' & ~1, 'D', 'E' & ~1, 'F', 'G' & ~1, 'H',
		'I' & ~1, 'J', 'K' & ~1, 0xfc,
		/* ID 2 with one more byte of 1; ID 2 said again, flag or not; ID 3 last */
		ID(2), 'L', 'a' & ~1, 'b', ID(2), 'c', ID(2), 'd', 'e' & ~1, 'f', 'g' & ~1, 'h',
		'i' & ~1, 'j', ID(3), 0x7b,
		/* ID 0, one byte of 3 before it; reserved 0x70 and 0x7d; 1 again */
		ID(0), '3', 0, 'p', ID(0x70), 'q', 's' & ~1, 't', ID(0x7d), 'u', ID(1), 'M',
		'N' & ~1, 'O', 'P' & ~1, 0x01};
	struct got g = got_of(CS_MEMORY, frames, sizeof(frames), sizeof(frames));
	struct cs_demux *d = cs_demux_new(CS_MEMORY);
	struct bytes in = bytes_of(frames, sizeof(frames));
	enum cs_event event;
	uint64_t offset;

	CHECK(is_text(&g, 1, "zABCDEFGHIJKLMNOP"),
	      "data after an ID, low bits put back, a late byte");
	CHECK(is_text(&g, 2, "abcdefghij"), "the same ID again changes nothing, whatever its flag");
	CHECK(is_text(&g, 3, "3"), "an ID in the last slot continues in the next frame");
	CHECK(has_offsets(&g, 1, "\3\4\5\6\7\10\11\12\13\14\15\16\21\53\54\55\56"), "where 1 was");
	CHECK(has_offsets(&g, 2, "\22\23\25\27\30\31\32\33\34\35"), "where 2 was");
	CHECK(has_offsets(&g, 3, "\41"), "where 3 was");
	CHECK(cs_demux_feed(d, &in, &event, &offset), "a frame is taken");
	CHECK_EQ(event, CS_DONE, "no event");
	CHECK_EQ(offset, 48, "its offset is the end");
	CHECK_EQ(cs_demux_counts(d)->nr_frames, 3, "each frame is counted");
	CHECK_EQ(cs_demux_counts(d)->nr_unowned_bytes, 2, "bytes before the first ID");
	CHECK_EQ(cs_demux_counts(d)->nr_id0_bytes, 2, "bytes of ID 0");
	CHECK_EQ(cs_demux_counts(d)->nr_reserved_bytes, 4, "bytes of reserved IDs");
	CHECK(!cs_demux_stream(d, 0) && !cs_demux_stream(d, 0x70) && !cs_demux_stream(d, 0x7d),
	      "no streams of these");
	CHECK(!cs_demux_stream(d, 4) && !cs_demux_stream(d, 128), "nor of an ID that never came");
	got_done(&g);
	cs_demux_free(d);
}

/** Frames without IDs, then one that repeats its ID: the run continues. */
static void test_marks(void)
{
	uint8_t frames[16 * 100] = {ID(5), 'a'};
	struct cs_demux *d = cs_demux_new(CS_MEMORY);
	struct bytes in = bytes_of(frames, sizeof(frames));
	enum cs_event event;
	uint64_t offset;
	struct cs_stream *s;

	frames[16 * 50 + 6] = ID(5);
	cs_demux_restart(d, 1000008);
	CHECK(cs_demux_feed(d, &in, &event, &offset), "100 frames");
	s = cs_demux_stream(d, 5);
	CHECK_EQ(s->bytes.nr, 100 * 15 - 2, "all bytes are in the stream");
	CHECK_EQ(s->marks.nr, 2, "two marks: after each ID");
	CHECK_EQ(cs_stream_offset(s, 0), 1000009, "the first byte");
	CHECK(has_pieces(s), "all others side by side in pieces");
	CHECK_EQ(cs_stream_offset(s, 14), 1000024, "the next frame's first");
	CHECK_EQ(cs_stream_offset(s, 50 * 15 - 1 + 5), 1000008 + 805, "before the ID");
	CHECK_EQ(cs_stream_offset(s, 50 * 15 - 1 + 6), 1000008 + 807, "after it");
	CHECK_EQ(cs_stream_offset(s, 100 * 15 - 3), 1000008 + 1598, "the last byte");
	cs_demux_free(d);
}

/* --- what the encoder made --- */

static const char *const layout_names[] = {
	[CS_MEMORY] = "memory",
	[CS_TPIU] = "TPIU",
	[CS_TPIU_HSYNC] = "TPIU with HSYNC",
	[CS_DSTREAM] = "DSTREAM",
};

/** A frame is 16 bytes, and what syncs or footer may be in it. */
static bool is_near(enum cs_layout layout, uint64_t got, uint64_t want)
{
	if (layout == CS_MEMORY || layout == CS_TPIU)
		return got == want;
	return want - got <= (layout == CS_DSTREAM ? 8 : 32);
}

static bool is_same(enum cs_layout layout, const struct got *g, const struct cs_byte *want,
		    size_t nr)
{
	size_t at[CS_NR_IDS] = {0};

	for (size_t i = 0; i < nr; i++) {
		unsigned int id = want[i].id;
		const struct cs_byte *b = &g->bytes[id].data[at[id]];

		if (at[id]++ >= g->bytes[id].nr || b->value != want[i].value ||
		    !is_near(layout, b->offset, want[i].offset))
			return false;
	}
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		if (g->bytes[id].nr != at[id])
			return false;
	}
	return !g->nr_lost && !g->nr_barriers;
}

static bool is_same_in_chunks(enum cs_layout layout, const struct cs_encode *e,
			      const struct cs_byte *want, size_t nr)
{
	static const size_t chunks[] = {1, 7, 15, 16, 17, 504, 4096, SIZE_MAX / 2};

	for (size_t i = 0; i < 2 * sizeof(chunks) / sizeof(chunks[0]); i++) {
		struct cs_demux *d = cs_demux_new(layout);
		struct got g = {0};
		bool ok;

		feed(d, e->out.data, e->out.nr, chunks[i / 2], i & 1, &g);
		ok = is_same(layout, &g, want, nr);
		got_done(&g);
		cs_demux_free(d);
		if (!ok)
			return false;
	}
	return true;
}

static void test_roundtrip(enum cs_layout layout)
{
	static struct cs_byte bytes[NR_BYTES];

	for (unsigned int seed = 0; seed < 24; seed++) {
		static const uint8_t nr_ids[] = {1, 2, 5, 111};
		struct cs_encode e = cs_encode_of(layout, seed % 3 * 8, seed);
		bool ok;

		cs_encode_random_bytes(&e, nr_ids[seed / 3 % 4], bytes, NR_BYTES);
		cs_encode(&e, bytes, NR_BYTES);
		ok = is_same_in_chunks(layout, &e, bytes, NR_BYTES);
		if (!ok || seed == 23)
			CHECK(ok, "%s: any chunking, seed %u", layout_names[layout], seed);
		buf_done(&e.out);
		if (!ok)
			break;
	}
}

/** What was seen, put together again from the parts. */
struct sight {
	struct got got;
	uint64_t nr[NR_CS_SEEN], bytes, end;
	bool is_odd;
};

static void see(void *ctx, const struct cs_seen *s)
{
	struct sight *w = ctx;
	struct cs_part parts[CS_MAX_PARTS];
	unsigned int nr = s->kind == CS_SEEN_FRAME ? cs_frame_parts(s->bytes, s->id, parts) : 0;

	w->nr[s->kind]++;
	w->bytes += s->size;
	w->is_odd |= s->kind != CS_SEEN_FRAME && s->offset != w->end;
	w->end = s->offset + s->size;
	for (unsigned int i = 0; i < nr; i++) {
		for (unsigned int at = parts[i].at; at < parts[i].at + parts[i].size + 0u; at++) {
			uint8_t flag = (uint8_t)(at % 2 ? 0 : s->bytes[15] >> at / 2 & 1);
			struct cs_byte b = {parts[i].id, s->bytes[at] | flag, s->offset + at};

			if (parts[i].id && parts[i].id < 0x70 && !vec_push(&w->got.bytes[b.id], b))
				abort();
		}
	}
}

/** Who looks at the frames sees every byte once, and the same bytes in the parts. */
static void test_watch(enum cs_layout layout)
{
	static struct cs_byte bytes[NR_BYTES];
	struct cs_encode e = cs_encode_of(layout, 8, 5);
	struct sight whole = {0}, cut = {0};
	struct sight *sights[] = {&whole, &cut};

	cs_encode_random_bytes(&e, 5, bytes, NR_BYTES);
	cs_encode(&e, bytes, NR_BYTES);
	for (size_t i = 0; i < 2; i++) {
		struct cs_demux *d = cs_demux_new(layout);
		struct got g = {0};

		cs_demux_watch(d, see, sights[i]);
		feed(d, e.out.data, e.out.nr, i ? 7 : SIZE_MAX / 2, true, &g);
		CHECK(is_same(layout, &g, bytes, NR_BYTES), "%s, watched: the same bytes",
		      layout_names[layout]);
		CHECK(is_same(layout, &sights[i]->got, bytes, NR_BYTES), "%s: parts of frames",
		      layout_names[layout]);
		CHECK_EQ(sights[i]->nr[CS_SEEN_FRAME], cs_demux_counts(d)->nr_frames,
			 "each frame is shown to the listener");
		cs_demux_restart(d, 0);
		CHECK_EQ(sights[i]->bytes, e.out.nr, "every byte is seen");
		got_done(&g);
		cs_demux_free(d);
	}
	CHECK(!memcmp(whole.nr, cut.nr, sizeof(whole.nr)), "however the input is cut");
	CHECK(layout != CS_MEMORY || !whole.is_odd, "one after the other");
	CHECK(!whole.nr[CS_SEEN_HSYNC] == (layout != CS_TPIU_HSYNC), "HSYNCs where they may be");
	got_done(&whole.got);
	got_done(&cut.got);
	buf_done(&e.out);
}

static void test_watch_breaks(void)
{
	static const char data[] = "ab\xff\xff\xff\x7f\x03"
				   "abcdefghijklmn\0"
				   "xyz";
	struct cs_demux *d = cs_demux_new(CS_TPIU);
	struct sight w = {0};
	struct got g = {0};

	cs_demux_watch(d, see, &w);
	feed(d, data, sizeof(data) - 1, 3, true, &g);
	cs_demux_restart(d, 0);
	CHECK(w.nr[CS_SEEN_SKIPPED] == 2 && w.nr[CS_SEEN_FSYNC] == 1 && w.nr[CS_SEEN_FRAME] == 1,
	      "what is skipped, a sync, a frame, half a frame");
	CHECK(w.bytes == sizeof(data) - 1 && w.end == w.bytes && !w.is_odd, "all of it, in order");
	got_done(&g);
	got_done(&w.got);
	cs_demux_free(d);
}

/** Any bytes at all: the specification's words, one slot after the other. */
static void model(const uint8_t *f, unsigned int *cur, uint64_t at, struct got *ret)
{
	for (unsigned int i = 0; i < 16; i += 2) {
		unsigned int flag = f[15] >> (i / 2) & 1, id = f[i] >> 1, old = *cur;
		struct cs_byte odd = {(uint8_t)id, f[i + 1], at + i + 1};
		struct cs_byte even = {(uint8_t)old, (uint8_t)(f[i] | flag), at + i};

		if (f[i] & 1)
			*cur = id;
		else if (!vec_push(&ret->bytes[old], even))
			abort();
		odd.id = (uint8_t)(f[i] & 1 && !flag ? id : old);
		if (i < 14 && !vec_push(&ret->bytes[odd.id], odd))
			abort();
	}
}

static bool is_model(const uint8_t *frames, size_t nr, size_t chunk)
{
	struct got g = got_of(CS_MEMORY, frames, nr * 16, chunk), want = {0};
	unsigned int cur = 0;
	bool ok = true;

	for (size_t i = 0; i < nr; i++)
		model(frames + i * 16, &cur, i * 16, &want);
	for (unsigned int id = 1; id < 0x70; id++) {
		ok = ok && g.bytes[id].nr == want.bytes[id].nr;
		for (size_t i = 0; ok && i < g.bytes[id].nr; i++)
			ok = g.bytes[id].data[i].value == want.bytes[id].data[i].value &&
			     g.bytes[id].data[i].offset == want.bytes[id].data[i].offset;
	}
	got_done(&g);
	got_done(&want);
	return ok;
}

static void test_model(void)
{
	static uint8_t frames[16 * 2000];
	bool ok = true;

	for (unsigned int percent = 0; percent <= 100 && ok; percent += 4) {
		struct cs_encode e = cs_encode_of(CS_MEMORY, 0, percent);
		unsigned int last = 3;

		for (size_t i = 0; i < sizeof(frames); i++) {
			frames[i] = (uint8_t)cs_encode_random(&e, 256);
			if (i % 2 || i % 16 == 15)
				continue;
			frames[i] &= 0xfe;
			if (cs_encode_random(&e, 100) >= percent)
				continue;
			if (cs_encode_random(&e, 2)) /* else the same ID again */
				last = (unsigned int)cs_encode_random(&e, 0x7f);
			frames[i] = (uint8_t)ID(last);
		}
		ok = is_model(frames, 2000, sizeof(frames)) && is_model(frames, 2000, 99);
	}
	CHECK(ok, "random frames with few and many IDs: as slot after slot");
}

/* --- breaks --- */

static void test_barrier(void)
{
	struct cs_byte one[] =
		{
			{1, 'a', 0},
                        {2, 'b', 0},
                        {1, 'c', 0}
        },
		       two[] = {{1, 'd', 0}};
	struct cs_encode e = cs_encode_of(CS_MEMORY, 0, 1);
	struct got g;

	cs_encode(&e, one, 3);
	cs_encode_barrier(&e);
	cs_encode(&e, two, 1);
	for (size_t chunk = 1; chunk <= 64; chunk++) {
		g = got_of(CS_MEMORY, e.out.data, e.out.nr, chunk);
		if (g.nr_barriers != 1 || g.nr_lost || g.last_event != 16 || !is_text(&g, 1, "acd"))
			break;
		if (chunk < 64)
			got_done(&g);
	}
	CHECK_EQ(g.nr_barriers, 1, "a barrier");
	CHECK_EQ(g.last_event, 16, "at 16, in any chunks");
	CHECK(is_text(&g, 1, "acd") && is_text(&g, 2, "b"), "bytes on either side");
	got_done(&g);
	e.out.nr = 16;
	cs_encode_barrier(&e);
	cs_encode_barrier(&e);
	cs_encode(&e, two, 1);
	cs_encode_barrier(&e);
	g = got_of(CS_MEMORY, e.out.data, e.out.nr, 7);
	CHECK_EQ(g.nr_barriers, 2, "two barriers in a row are one event");
	CHECK_EQ(g.last_event, 64, "one after a frame is another");
	got_done(&g);
	e.out.nr = 16;
	cs_encode_barrier(&e);
	buf_add(&e.out, "abcdefghijklmn\0\0", 16);
	g = got_of(CS_MEMORY, e.out.data, e.out.nr, 48);
	CHECK(is_text(&g, 1, "ac"), "after a barrier no ID is known");
	got_done(&g);
	buf_done(&e.out);
}

static void test_restart(void)
{
	static const uint8_t frame[16] = {ID(1), 'a', 'b'};
	static const uint8_t plain[16] = {'c', 'd'};
	struct cs_demux *d = cs_demux_new(CS_MEMORY);
	struct got g = {0};

	feed(d, frame, 16, 16, true, &g);
	feed(d, frame, 5, 5, true, &g);
	cs_demux_restart(d, 800);
	feed(d, plain, 16, 16, true, &g);
	CHECK_EQ(g.bytes[1].nr, 14, "a half frame is forgotten, and the ID");
	feed(d, frame, 16, 16, true, &g);
	CHECK_EQ(g.bytes[1].data[14].offset, 817, "offsets count from the new begin");
	CHECK_EQ(cs_demux_counts(d)->nr_skipped_bytes, 5, "and what was forgotten is counted");
	got_done(&g);
	cs_demux_free(d);
}

static void test_broken(void)
{
	uint8_t frames[48] = {ID(1), 'a'};
	bool ok = true;

	for (unsigned int i = 0; i < 16; i += 2) {
		struct got g;

		memset(frames + 16, 0, 32);
		frames[16 + i] = frames[16 + i + 1] = 0xff;
		frames[32] = ID(1);
		frames[33] = 'b';
		g = got_of(CS_MEMORY, frames, sizeof(frames), 9);
		ok = ok && g.nr_lost == 1 && g.last_event == 16 && g.bytes[1].nr == 28 &&
		     g.bytes[1].data[14].value == 'b' && g.bytes[1].data[14].offset == 33;
		got_done(&g);
	}
	CHECK(ok, "ff ff where an ID may be: lost for one frame");
	memset(frames, 0xff, sizeof(frames));
	frames[32] = ID(1);
	for (unsigned int i = 33; i < 48; i++)
		frames[i] = 0;
	frames[3] = frames[7] = frames[11] = 0x7f; /* three FSYNCs are no barrier */
	{
		struct got g = got_of(CS_MEMORY, frames, sizeof(frames), 48);

		CHECK_EQ(g.nr_barriers, 0, "three FSYNCs are no barrier");
		CHECK_EQ(g.nr_lost, 1, "nor is a frame of 0xff; both are one loss");
		CHECK_EQ(g.bytes[1].nr, 14, "the next frame is taken");
		got_done(&g);
	}
}

/** A TPIU stream that begins anywhere. */
static void test_starts(void)
{
	static struct cs_byte bytes[600];
	struct cs_encode e = cs_encode_of(CS_TPIU, 0, 3);
	size_t nr_ok = 0, first;

	cs_encode_random_bytes(&e, 3, bytes, 300);
	cs_encode(&e, bytes, 300);
	first = e.out.nr;
	e.id = CS_NR_IDS;
	for (unsigned int i = 300; i < 600; i++)
		bytes[i] = bytes[i - 300];
	cs_encode(&e, bytes + 300, 300);
	for (size_t cut = 1; cut <= first; cut++) {
		struct cs_demux *d = cs_demux_new(CS_TPIU);
		struct got g = {0};

		cs_demux_restart(d, cut);
		feed(d, e.out.data + cut, e.out.nr - cut, 5, true, &g);
		nr_ok += is_same(CS_TPIU, &g, bytes + 300, 300);
		got_done(&g);
		cs_demux_free(d);
	}
	CHECK_EQ(nr_ok, first, "from any start the next FSYNC is found");
	buf_done(&e.out);
}

/** The stream is cut inside a frame; an FSYNC follows. That very FSYNC is found. */
static void test_lost_sync(void)
{
	static const uint8_t whole[16] = {ID(1), 'a', 'b', 'c', 'd', 'e', 'f', 'g',
					  'h',   'i', 'j', 'k', 'l', 'm', 'n', 0};
	unsigned int nr_ok = 0;

	for (unsigned int cut = 1; cut <= 14; cut++) {
		struct buf b = {0};
		struct got g;
		size_t before;

		buf_add(&b, "\xff\xff\xff\x7f", 4);
		buf_add(&b, whole, 16);
		buf_add(&b, whole, cut);
		buf_add(&b, "\xff\xff\xff\x7f", 4);
		before = b.nr;
		buf_add(&b, whole, 16);
		g = got_of(CS_TPIU, b.data, b.nr, 3);
		nr_ok += g.nr_lost == 1 && g.last_event == 20 && g.bytes[1].nr == 28 &&
			 g.bytes[1].data[14].offset == before + 1;
		got_done(&g);
		buf_done(&b);
	}
	CHECK_EQ(nr_ok, 14, "a frame cut short anywhere: lost, and found again at its FSYNC");
}

/** What is skipped, with the half frame at the end. */
static uint64_t skipped_of(enum cs_layout layout, const char *data, size_t bytes, size_t chunk)
{
	struct cs_demux *d = cs_demux_new(layout);
	struct got g = {0};
	uint64_t ret;

	feed(d, data, bytes, chunk, true, &g);
	cs_demux_restart(d, 0);
	ret = cs_demux_counts(d)->nr_skipped_bytes;
	got_done(&g);
	cs_demux_free(d);
	return ret;
}

static void test_skipped(void)
{
#define FRAME \
 "\x03"       \
 "abcdefghijklmn\0"
#define SYNC "\xff\xff\xff\x7f"
	static const struct {
		const char *data;
		size_t bytes;
		enum cs_layout layout;
		uint64_t nr;
	} cases[] = {
#define CASE(s, layout, nr) {s, sizeof(s) - 1, layout, nr}
		CASE(FRAME FRAME, CS_MEMORY, 0),
		CASE(FRAME SYNC SYNC SYNC SYNC FRAME, CS_MEMORY, 0),
		CASE(FRAME SYNC "abcdefghijkl" FRAME "abc", CS_MEMORY, 16 + 3),
		CASE(SYNC SYNC FRAME SYNC FRAME, CS_TPIU, 0),
		CASE("abc" SYNC FRAME, CS_TPIU, 3),
		CASE(FRAME, CS_TPIU, 16),
		CASE(SYNC FRAME "abcde" SYNC FRAME "ab", CS_TPIU, 5 + 2),
		CASE(SYNC FRAME "abcde\xff" SYNC FRAME "\xff\xff\xff", CS_TPIU, 6 + 3),
	};
#undef CASE
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t chunk = 1; chunk <= 64; chunk = chunk * 2 + 1)
			CHECK_EQ(skipped_of(cases[i].layout, cases[i].data, cases[i].bytes, chunk),
				 cases[i].nr, "skipped bytes are counted");
	}
}

static void test_tpiu_syncs(void)
{
	static const struct {
		const char *what, *stream;
		size_t bytes;
		enum cs_layout layout;
		size_t nr_lost, nr;
	} cases[] = {
#define FSYNC                           "\xff\xff\xff\x7f"
#define HSYNC                           "\xff\x7f"
#define HEAD                            "\x03" /* ID 1 */
#define CASE(what, s, layout, lost, nr) {what, s, sizeof(s) - 1, layout, lost, nr}
		CASE("no FSYNC, nothing", HEAD "abcdefghijklmn\0", CS_TPIU, 0, 0),
		CASE("FSYNCs in a row", FSYNC FSYNC FSYNC HEAD "abcdefghijklmn\0", CS_TPIU, 0, 14),
		CASE("HSYNC undeclared", FSYNC HEAD "a" HSYNC "bcdefghijklmn\0", CS_TPIU, 1, 0),
		CASE("HSYNC",
		     FSYNC HEAD "a" HSYNC HSYNC "bbddffhhjjllnn"
				"\0"
				"\0",
		     CS_TPIU_HSYNC, 0, 14),
		CASE("HSYNC before a frame", FSYNC HSYNC HEAD "abcdefghijklmn\0", CS_TPIU_HSYNC, 0,
		     14),
		CASE("HSYNC undeclared in front", FSYNC HSYNC HEAD "abcdefghijklmn\0", CS_TPIU, 1,
		     0),
		CASE("HSYNC, then FSYNC", FSYNC HSYNC FSYNC HEAD "abcdefghijklmn\0", CS_TPIU_HSYNC,
		     0, 14),
		CASE("ff ff is no ID", FSYNC "\xff\xff" HEAD "abcdefghijklmn\0", CS_TPIU, 1, 0),
		CASE("ff is no ID",
		     FSYNC HEAD "a\xff"
				"bcdefghijklmn\0",
		     CS_TPIU, 1, 0),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct got g = got_of(cases[i].layout, cases[i].stream, cases[i].bytes, 1);

		CHECK(g.nr_lost == cases[i].nr_lost && g.bytes[1].nr == cases[i].nr, "TPIU: %s",
		      cases[i].what);
		got_done(&g);
	}
}

/* --- bounds --- */

static void test_memory(void)
{
	static struct cs_byte bytes[100000];
	struct cs_encode e = cs_encode_of(CS_MEMORY, 3, 9);
	struct cs_demux *d = cs_demux_new(CS_MEMORY);
	struct got g = {0};
	size_t most = 0, most_marks = 0;

	cs_encode_random_bytes(&e, 111, bytes, sizeof(bytes) / sizeof(bytes[0]));
	cs_encode(&e, bytes, sizeof(bytes) / sizeof(bytes[0]));
	for (unsigned int i = 0; i < 10; i++) {
		cs_demux_restart(d, 0);
		feed(d, e.out.data, e.out.nr, 4096, true, &g);
		got_done(&g);
	}
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		struct cs_stream *s = cs_demux_stream(d, id);

		most = s && s->bytes.cap > most ? s->bytes.cap : most;
		most_marks = s && s->marks.cap > most_marks ? s->marks.cap : most_marks;
	}
	CHECK(most <= 8192, "emptied after pieces of 4 KiB a stream holds 8 KiB at most: %zu",
	      most);
	CHECK(most_marks <= 2048, "and marks of a piece: %zu", most_marks);
	cs_demux_free(d);
	buf_done(&e.out);
}

static bool is_fed(const struct cs_encode *e)
{
	struct cs_demux *d = cs_demux_new(CS_MEMORY);
	struct bytes in = bytes_of(e->out.data, e->out.nr);
	enum cs_event event;
	uint64_t offset;
	bool ok = d && cs_demux_feed(d, &in, &event, &offset);

	cs_demux_free(d);
	return ok;
}

static void test_no_memory(void)
{
	static struct cs_byte bytes[3000];
	struct cs_encode e = cs_encode_of(CS_MEMORY, 3, 5);
	uint64_t n = 0;
	bool ok;

	cs_encode_random_bytes(&e, 20, bytes, 3000);
	cs_encode(&e, bytes, 3000);
	do {
		mem_fail_after(n++);
		ok = is_fed(&e);
	} while (!ok && n < 10000);
	mem_fail_after(UINT64_MAX);
	CHECK(ok && n > 20, "each allocation refused in turn: %llu", (unsigned long long)n);
	buf_done(&e.out);
}

int main(void)
{
	test_slots();
	test_marks();
	for (int layout = CS_MEMORY; layout <= CS_DSTREAM; layout++)
		test_roundtrip((enum cs_layout)layout);
	for (int layout = CS_MEMORY; layout <= CS_DSTREAM; layout++)
		test_watch((enum cs_layout)layout);
	test_watch_breaks();
	test_model();
	test_barrier();
	test_restart();
	test_broken();
	test_starts();
	test_lost_sync();
	test_skipped();
	test_tpiu_syncs();
	test_memory();
	test_no_memory();
	return tap_done();
}
