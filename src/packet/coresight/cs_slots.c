/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/coresight/cs_slots.h"

#include "base/mem.h"

enum {
	MAX_SOURCE = 0x6f,
	DATA_BYTES = CS_FRAME_BYTES - 1,
	RUN_FRAMES = 64, /* at once: room for as many is made in a stream */
};

/** Bit 0 of each byte that may be an ID. */
#define ID_BITS UINT64_C(0x0001000100010001)

/** A frame as numbers: byte 0 and byte 8 lowest. */
struct words {
	uint64_t lo, hi;
};

static struct words words_of(const uint8_t *f)
{
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return (struct words){load_u64(f, is_big), load_u64(f + 8, is_big)};
}

static void store(uint8_t *to, uint64_t v)
{
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		v = __builtin_bswap64(v);
	memcpy(to, &v, sizeof(v));
}

static bool has_ids(struct words w)
{
	return (w.lo | w.hi) & ID_BITS;
}

/** Has it 0xff where an ID may be? */
static bool has_sync(struct words w)
{
	uint64_t even = 0xff * ID_BITS;

	return (((w.lo & even) + ID_BITS) | ((w.hi & even) + ID_BITS)) & ID_BITS << 8;
}

/** Bits 0 to 3 -> bit 0 of bytes 0, 2, 4, 6. */
static uint64_t spread(uint64_t bits)
{
	return bits * (1 | 1 << 15 | UINT64_C(1) << 30 | UINT64_C(1) << 45) & ID_BITS;
}

/** And back. */
static unsigned int gather(uint64_t word)
{
	uint64_t moved =
		(word & ID_BITS) * (UINT64_C(1) << 48 | UINT64_C(1) << 33 | 1 << 18 | 1 << 3);

	return moved >> 48 & 0xf;
}

/** The data bytes at their places: what stands in the last byte is put back. */
static void store_data(uint8_t *to, struct words w)
{
	store(to, w.lo | spread(w.hi >> 56 & 0xf));
	store(to + 8, w.hi | spread(w.hi >> 60));
}

static bool choose(struct cs_slots *s, uint8_t id)
{
	s->id = id;
	s->stream = NULL;
	s->unclaimed = id ? &s->counts.nr_reserved_bytes : &s->counts.nr_id0_bytes;
	if (!id || id > MAX_SOURCE)
		return true;
	if (!s->streams[id])
		s->streams[id] = mem_zalloc(sizeof(struct cs_stream));
	s->stream = s->streams[id];
	return s->stream;
}

void cs_slots_forget(struct cs_slots *s)
{
	s->id = CS_NO_ID;
	s->stream = NULL;
	s->unclaimed = &s->counts.nr_unowned_bytes;
}

/** The next byte of @p st is byte @p at of the frame at @p offset: does its last mark say so? */
static bool mark(struct cs_stream *st, uint64_t offset, unsigned int at)
{
	struct cs_mark m = {st->bytes.nr, offset, at};

	if (st->marks.nr &&
	    cs_stream_offset_from(&st->marks.data[st->marks.nr - 1], st->bytes.nr) == offset + at)
		return true;
	return vec_push(&st->marks, m);
}

/**
 * Frames without an ID, or with just one that repeats @p st's: sources say theirs again every now
 * and then. @p to has room for RUN_FRAMES. @return the bytes put there.
 */
static size_t unpack(struct cs_stream *st, uint8_t id, const uint8_t *f, size_t nr, uint64_t offset,
		     size_t *ret)
{
	uint8_t *to = st->bytes.data + st->bytes.nr, *start = to;
	size_t n = 0;

	for (; n < nr; n++, f += CS_FRAME_BYTES, to += DATA_BYTES) {
		struct words w = words_of(f);
		unsigned int ids, i, next;

		store_data(to, w);
		if (!has_ids(w))
			continue;
		ids = gather(w.lo) | gather(w.hi) << 4;
		i = 2 * (unsigned int)__builtin_ctz(ids);
		if (ids & (ids - 1) || f[i] >> 1 != id)
			break;
		next = i + 1;
		memmove(to + i, to + next, DATA_BYTES - next);
		st->marks.data[st->marks.nr++] =
			(struct cs_mark){st->bytes.nr + (size_t)(to - start) + i,
					 offset + (n + next / DATA_BYTES) * CS_FRAME_BYTES,
					 next % DATA_BYTES};
		to--;
	}
	*ret = n;
	return (size_t)(to - start);
}

/** Frames of one source, at least the first; *ret: how many. */
static bool take_run(struct cs_slots *s, const uint8_t *f, size_t nr, uint64_t offset, size_t *ret)
{
	struct cs_stream *st = s->stream;

	if (!st) {
		for (*ret = 1; *ret < nr && !has_ids(words_of(f + *ret * CS_FRAME_BYTES));)
			++*ret;
		*s->unclaimed += *ret * DATA_BYTES;
		return true;
	}
	if (!vec_reserve(&st->bytes, st->bytes.nr + nr * DATA_BYTES + 1) ||
	    !vec_reserve(&st->marks, st->marks.nr + nr + 1) || !mark(st, offset, 0))
		return false;
	st->bytes.nr += unpack(st, s->id, f, nr, offset, ret);
	return true;
}

/** Bytes [@p at, @p end) of a frame at @p offset, all of one source. @p data: the frame's, and 16
 * more. */
static bool put(struct cs_slots *s, const uint8_t *data, unsigned int at, unsigned int end,
		uint64_t offset)
{
	struct cs_stream *st = s->stream;

	if (at >= end)
		return true;
	if (!st) {
		*s->unclaimed += end - at;
		return true;
	}
	if (!mark(st, offset, at) || !vec_reserve(&st->bytes, st->bytes.nr + CS_FRAME_BYTES))
		return false;
	memcpy(st->bytes.data + st->bytes.nr, data + at, CS_FRAME_BYTES);
	st->bytes.nr += end - at;
	return true;
}

static bool take_mixed(struct cs_slots *s, struct words w, uint64_t offset)
{
	uint8_t data[2 * CS_FRAME_BYTES] = {0};
	unsigned int ids = gather(w.lo) | gather(w.hi) << 4, from = 0;

	store_data(data, w);
	for (; ids; ids &= ids - 1) {
		unsigned int k = (unsigned int)__builtin_ctz(ids), i = 2 * k;
		uint8_t id = data[i] >> 1;

		if (!put(s, data, from, i, offset))
			return false;
		from = i + 1;
		if (id == s->id)
			continue;
		if (w.hi >> (56 + k) & 1 && from < DATA_BYTES) {
			if (!put(s, data, from, from + 1, offset)) /* still the old ID's */
				return false;
			from++;
		}
		if (!choose(s, id))
			return false;
	}
	return put(s, data, from, DATA_BYTES, offset);
}

bool cs_slots_take(struct cs_slots *s, const uint8_t *frames, size_t nr, uint64_t offset,
		   size_t *ret)
{
	size_t n = 0;

	while (n < nr) {
		const uint8_t *f = frames + n * CS_FRAME_BYTES;
		uint64_t at = offset + n * CS_FRAME_BYTES;
		size_t taken = 1, want = nr - n < RUN_FRAMES ? nr - n : RUN_FRAMES;
		struct words w = words_of(f);

		if (has_sync(w))
			break;
		if (!(has_ids(w) ? take_mixed(s, w, at) : take_run(s, f, want, at, &taken)))
			return false;
		n += taken;
	}
	s->counts.nr_frames += n;
	*ret = n;
	return true;
}

bool cs_slots_take_any(struct cs_slots *s, const uint8_t *frame, uint64_t offset)
{
	s->counts.nr_frames++;
	return take_mixed(s, words_of(frame), offset);
}

void cs_slots_done(struct cs_slots *s)
{
	for (unsigned int i = 0; i < CS_NR_IDS; i++) {
		if (!s->streams[i])
			continue;
		vec_done(&s->streams[i]->bytes);
		vec_done(&s->streams[i]->marks);
		mem_free(s->streams[i]);
	}
}
