/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/cs_encode.h"

#include "make/splitmix.h"
#include "packet/coresight/cs_dstream.h"

struct cs_encode cs_encode_of(enum cs_layout layout, unsigned int percent, uint64_t seed)
{
	return (struct cs_encode){
		.layout = layout,
		.repeat_percent = percent,
		.sync_percent = percent,
		.seed = seed,
		.id = CS_NR_IDS,
	};
}

uint64_t cs_encode_random(struct cs_encode *e, uint64_t below)
{
	return splitmix64(&e->seed) % below;
}

static bool chance(struct cs_encode *e, unsigned int percent)
{
	return cs_encode_random(e, 100) < percent;
}

void cs_encode_footer(uint64_t block, uint64_t random, uint8_t ret[CS_DSTREAM_FOOTER])
{
	static const uint32_t flags[] = {0, 0, 0x02, 0x80000000};
	uint32_t count = (uint32_t)(0x0ffe - block) & 0xffff;

	store_le32(ret, flags[random % 4]);
	store_le32(ret + 4, count << 16 | 0xc000 | (random & 4 ? 0x7e : 0));
}

/** @return the byte's offset. */
static uint64_t put(struct cs_encode *e, uint8_t byte)
{
	uint8_t footer[CS_DSTREAM_FOOTER];

	if (e->layout == CS_DSTREAM && e->out.nr % CS_DSTREAM_BLOCK == CS_DSTREAM_TRACE) {
		cs_encode_footer(e->out.nr / CS_DSTREAM_BLOCK, cs_encode_random(e, 8), footer);
		buf_add(&e->out, footer, sizeof(footer));
	}
	buf_char(&e->out, (char)byte);
	return e->out.nr - 1;
}

static void put_fsync(struct cs_encode *e)
{
	for (unsigned int i = 0; i < 3; i++)
		put(e, 0xff);
	put(e, 0x7f);
}

struct frame {
	uint8_t bytes[CS_FRAME_BYTES];
	struct cs_byte *from[CS_FRAME_BYTES]; /* NULL: an ID, flags, padding */
};

static void put_frame(struct cs_encode *e, const struct frame *f)
{
	if (e->layout != CS_MEMORY && chance(e, e->sync_percent))
		put_fsync(e);
	for (unsigned int i = 0; i < CS_FRAME_BYTES; i++) {
		uint64_t at;

		if (e->layout == CS_TPIU_HSYNC && i % 2 == 0 && chance(e, e->sync_percent)) {
			put(e, 0xff);
			put(e, 0x7f);
		}
		at = put(e, f->bytes[i]);
		if (f->from[i])
			f->from[i]->offset = at;
	}
}

/** The bytes at hand; after them comes padding. */
struct queue {
	struct cs_byte *next, *end, pad;
};

static struct cs_byte *peek(struct queue *q, size_t ahead)
{
	return (size_t)(q->end - q->next) > ahead ? q->next + ahead : &q->pad;
}

static void take(struct queue *q, struct frame *f, unsigned int i)
{
	struct cs_byte *b = peek(q, 0);

	f->bytes[i] = b->value;
	if (b == &q->pad)
		return;
	f->from[i] = b;
	q->next++;
}

/** An even slot and the odd one after it (not the last one: that has the flags). */
static void fill_pair(struct cs_encode *e, struct queue *q, struct frame *f, unsigned int i)
{
	uint8_t id = peek(q, 0)->id, next_id = peek(q, 1)->id;
	bool is_last = i == CS_FRAME_BYTES - 2, flag = chance(e, 50);

	if (id == e->id && (is_last || next_id == id) && !chance(e, e->repeat_percent)) {
		take(q, f, i);
		flag = f->bytes[i] & 1;
		f->bytes[i] &= 0xfe;
		if (!is_last)
			take(q, f, i + 1);
	} else {
		bool is_late = !is_last && id == e->id && next_id != id;

		if (is_late || (!is_last && id != e->id))
			flag = is_late;
		e->id = is_late ? next_id : id;
		f->bytes[i] = (uint8_t)(e->id << 1 | 1);
		if (!is_last)
			take(q, f, i + 1);
	}
	f->bytes[15] = (uint8_t)(f->bytes[15] | flag << i / 2);
}

void cs_encode(struct cs_encode *e, struct cs_byte *bytes, size_t nr)
{
	struct queue q = {bytes, bytes + nr, {0}};

	if (e->layout != CS_MEMORY)
		put_fsync(e);
	while (q.next < q.end) {
		struct frame f = {{0}, {0}};

		for (unsigned int i = 0; i < CS_FRAME_BYTES; i += 2)
			fill_pair(e, &q, &f, i);
		put_frame(e, &f);
	}
}

void cs_encode_barrier(struct cs_encode *e)
{
	for (unsigned int i = 0; i < 4; i++)
		put_fsync(e);
	e->id = CS_NR_IDS;
}

void cs_encode_random_bytes(struct cs_encode *e, unsigned int nr_ids, struct cs_byte *ret,
			    size_t nr)
{
	for (size_t i = 0; i < nr;) {
		uint64_t most = cs_encode_random(e, 8) ? 6 : 300;
		size_t run = 1 + cs_encode_random(e, most);
		uint8_t id = (uint8_t)(1 + cs_encode_random(e, nr_ids));

		for (; run && i < nr; run--)
			ret[i++] = (struct cs_byte){id, (uint8_t)cs_encode_random(e, 256), 0};
	}
}
