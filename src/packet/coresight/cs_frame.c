/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/coresight/cs_frame.h"

#include "base/mem.h"
#include "base/search.h"
#include "packet/coresight/cs_dstream.h"
#include "packet/coresight/cs_slots.h"

enum {
	FSYNC_BYTES = 4,
};

struct cs_demux {
	enum cs_layout layout;
	bool is_synced;    /* CS_TPIU: an FSYNC was seen */
	uint8_t broken;    /* CS_MEMORY: the event that the frame before was; CS_DONE: none */
	uint64_t start;    /* input offset that footers are counted from */
	uint64_t offset;   /* of the next input byte */
	uint64_t frame_at; /* input offset of the frame at hand */
	uint64_t sought;   /* while not synced: where the search began */
	uint8_t held[CS_FRAME_BYTES];
	uint8_t nr_held; /* while not synced: how many 0xff came last, 3 at most */
	void (*seen)(void *ctx, const struct cs_seen *s); /* NULL: not wanted */
	void *seen_ctx;
	struct cs_slots slots;
};

static const uint8_t fsync[FSYNC_BYTES] = {0xff, 0xff, 0xff, 0x7f};

struct cs_demux *cs_demux_new(enum cs_layout layout)
{
	struct cs_demux *d = mem_zalloc(sizeof(*d));

	if (!d)
		return NULL;
	d->layout = layout;
	cs_demux_restart(d, 0);
	return d;
}

void cs_demux_free(struct cs_demux *d)
{
	if (!d)
		return;
	cs_slots_done(&d->slots);
	mem_free(d);
}

void cs_demux_watch(struct cs_demux *d, void (*seen)(void *ctx, const struct cs_seen *s), void *ctx)
{
	d->seen = seen;
	d->seen_ctx = ctx;
}

static void report(struct cs_demux *d, enum cs_seen_kind kind, uint64_t offset, uint64_t size,
		   const uint8_t *bytes)
{
	const struct cs_seen s = {kind, d->slots.id, offset, size, bytes};

	if (d->seen && size)
		d->seen(d->seen_ctx, &s);
}

static void report_rest(struct cs_demux *d)
{
	if (d->layout != CS_MEMORY && !d->is_synced)
		report(d, CS_SEEN_SKIPPED, d->sought, d->offset - d->sought, NULL);
	else if (d->nr_held)
		report(d, CS_SEEN_SKIPPED, d->frame_at, d->offset - d->frame_at, NULL);
}

void cs_demux_restart(struct cs_demux *d, uint64_t offset)
{
	report_rest(d);
	if (d->layout == CS_MEMORY || d->is_synced)
		d->slots.counts.nr_skipped_bytes += d->nr_held;
	cs_slots_forget(&d->slots);
	d->is_synced = false;
	d->broken = CS_DONE;
	d->nr_held = 0;
	d->start = d->offset = d->sought = offset;
}

static void step(struct cs_demux *d, struct bytes *in, size_t n)
{
	in->pos += n;
	d->offset += n;
}

/** Whole frames of the input, as far as nothing is odd about them. */
static bool take_frames(struct cs_demux *d, struct bytes *in)
{
	size_t nr;

	if (!cs_slots_take(&d->slots, in->pos, bytes_left(in) / CS_FRAME_BYTES, d->offset, &nr))
		return false;
	step(d, in, nr * CS_FRAME_BYTES);
	if (nr)
		d->broken = CS_DONE;
	return true;
}

/* --- aligned frames --- */

static bool is_barrier(const uint8_t *f)
{
	return !memcmp(f, fsync, 4) && !memcmp(f + 4, fsync, 4) && !memcmp(f + 8, fsync, 4) &&
	       !memcmp(f + 12, fsync, 4);
}

/** Sync bytes where they may not be. */
static bool is_broken(const uint8_t *f)
{
	for (unsigned int i = 0; i < CS_FRAME_BYTES; i += 2) {
		if (f[i] == 0xff && f[i + 1] == 0xff)
			return true;
	}
	return false;
}

/** A frame that takes no data on. One event for all in a row: nothing came in between. */
static void stop(struct cs_demux *d, enum cs_event event, enum cs_event *ret)
{
	cs_slots_forget(&d->slots);
	if (d->broken != event)
		*ret = event;
	d->broken = (uint8_t)event;
}

static bool take_aligned(struct cs_demux *d, const uint8_t *f, enum cs_event *ret)
{
	if (is_barrier(f)) {
		report(d, CS_SEEN_BARRIER, d->frame_at, CS_FRAME_BYTES, f);
		d->slots.counts.nr_barriers++;
		stop(d, CS_BARRIER, ret);
		return true;
	}
	if (is_broken(f)) {
		report(d, CS_SEEN_BROKEN, d->frame_at, CS_FRAME_BYTES, f);
		d->slots.counts.nr_lost++;
		d->slots.counts.nr_skipped_bytes += CS_FRAME_BYTES;
		stop(d, CS_LOST, ret);
		return true;
	}
	d->broken = CS_DONE;
	report(d, CS_SEEN_FRAME, d->frame_at, CS_FRAME_BYTES, f);
	return cs_slots_take_any(&d->slots, f, d->frame_at);
}

/** Fill up the half frame. @return whether it is whole. */
static bool hold(struct cs_demux *d, struct bytes *in)
{
	size_t n = CS_FRAME_BYTES - d->nr_held;

	if (n > bytes_left(in))
		n = bytes_left(in);
	if (n)
		memcpy(d->held + d->nr_held, in->pos, n);
	if (!d->nr_held)
		d->frame_at = d->offset;
	d->nr_held = (uint8_t)(d->nr_held + n);
	step(d, in, n);
	return d->nr_held == CS_FRAME_BYTES;
}

/** Each 16 bytes of input are a frame. */
static bool feed_memory(struct cs_demux *d, struct bytes *in, enum cs_event *ret)
{
	while (*ret == CS_DONE) {
		if (!d->nr_held && !d->seen && !take_frames(d, in))
			return false;
		if (!hold(d, in))
			break;
		d->nr_held = 0;
		if (!take_aligned(d, d->held, ret))
			return false;
	}
	return true;
}

/* --- frames between FSYNCs --- */

/** Look for ff ff ff 7f at any byte. Its first bytes were counted as skipped. */
static bool find_fsync(struct cs_demux *d, struct bytes *in)
{
	uint8_t byte;

	while (bytes_u8(in, &byte)) {
		d->offset++;
		d->slots.counts.nr_skipped_bytes++;
		if (byte == 0x7f && d->nr_held == 3) {
			d->slots.counts.nr_skipped_bytes -= FSYNC_BYTES;
			report(d, CS_SEEN_SKIPPED, d->sought, d->offset - d->sought - FSYNC_BYTES,
			       NULL);
			report(d, CS_SEEN_FSYNC, d->offset - FSYNC_BYTES, FSYNC_BYTES, NULL);
			d->nr_held = 0;
			return true;
		}
		d->nr_held = byte != 0xff ? 0 : (uint8_t)(d->nr_held + (d->nr_held < 3));
	}
	return false;
}

/** The held bytes are no frame. An FSYNC that begins in them is found. */
static void lose_sync(struct cs_demux *d, enum cs_event *ret)
{
	uint8_t nr = 0;

	while (nr < 3 && nr < d->nr_held && d->held[d->nr_held - 1 - nr] == 0xff)
		nr++;
	d->slots.counts.nr_skipped_bytes += d->nr_held;
	d->sought = d->frame_at;
	d->nr_held = nr;
	d->is_synced = false;
	d->slots.counts.nr_lost++;
	cs_slots_forget(&d->slots);
	*ret = CS_LOST;
}

/** Two more bytes are held, the first of them 0xff: no data and no ID is that. */
static void take_sync(struct cs_demux *d, enum cs_event *ret)
{
	uint8_t second = d->held[d->nr_held - 1];

	if (second == 0x7f && d->nr_held == FSYNC_BYTES && d->held[0] == 0xff) {
		report(d, CS_SEEN_FSYNC, d->frame_at, FSYNC_BYTES, NULL);
		d->nr_held = 0;
	} else if (second == 0x7f && d->layout == CS_TPIU_HSYNC) {
		report(d, CS_SEEN_HSYNC, d->offset - 2, 2, NULL);
		d->nr_held = (uint8_t)(d->nr_held - 2);
	} else if (second != 0xff || d->nr_held != 2) {
		lose_sync(d, ret);
	}
}

static bool take_pair(struct cs_demux *d, enum cs_event *ret)
{
	bool is_begun = d->nr_held == FSYNC_BYTES && d->held[0] == 0xff;

	if (d->held[d->nr_held - 2] == 0xff) {
		take_sync(d, ret);
	} else if (is_begun) {
		lose_sync(d, ret);
	} else if (d->nr_held == CS_FRAME_BYTES) {
		report(d, CS_SEEN_FRAME, d->frame_at, CS_FRAME_BYTES, d->held);
		d->nr_held = 0;
		return cs_slots_take_any(&d->slots, d->held, d->frame_at);
	}
	return true;
}

static bool feed_tpiu(struct cs_demux *d, struct bytes *in, enum cs_event *ret)
{
	if (!d->is_synced)
		d->is_synced = find_fsync(d, in);
	while (*ret == CS_DONE && bytes_left(in)) {
		if (!d->nr_held) {
			if (!d->seen && !take_frames(d, in))
				return false;
			if (!bytes_left(in))
				break;
			d->frame_at = d->offset;
		}
		d->held[d->nr_held++] = *in->pos;
		step(d, in, 1);
		if (d->nr_held % 2 == 0 && !take_pair(d, ret))
			return false;
	}
	return true;
}

static bool feed_dstream(struct cs_demux *d, struct bytes *in, enum cs_event *ret)
{
	while (*ret == CS_DONE && bytes_left(in)) {
		size_t at = (d->offset - d->start) % CS_DSTREAM_BLOCK;
		size_t n = (at < CS_DSTREAM_TRACE ? CS_DSTREAM_TRACE : CS_DSTREAM_BLOCK) - at;
		struct bytes part = *in;

		if (n > bytes_left(in))
			n = bytes_left(in);
		part.end = part.pos + n;
		if (at == CS_DSTREAM_TRACE)
			report(d, CS_SEEN_FOOTER, d->offset, CS_DSTREAM_BLOCK - at, NULL);
		if (at >= CS_DSTREAM_TRACE)
			step(d, &part, n);
		else if (!feed_tpiu(d, &part, ret))
			return false;
		in->pos = part.pos;
	}
	return true;
}

bool cs_demux_feed(struct cs_demux *d, struct bytes *in, enum cs_event *ret, uint64_t *ret_offset)
{
	bool ok = false;

	*ret = CS_DONE;
	switch (d->layout) {
	case CS_MEMORY:
		ok = feed_memory(d, in, ret);
		break;
	case CS_TPIU:
	case CS_TPIU_HSYNC:
		ok = feed_tpiu(d, in, ret);
		break;
	case CS_DSTREAM:
		ok = feed_dstream(d, in, ret);
		break;
	}
	*ret_offset = *ret == CS_DONE ? d->offset : d->frame_at;
	return ok;
}

struct cs_stream *cs_demux_stream(struct cs_demux *d, unsigned int id)
{
	return id < CS_NR_IDS ? d->slots.streams[id] : NULL;
}

uint64_t cs_stream_offset(const struct cs_stream *s, size_t pos)
{
	size_t after = search_first(s->marks.nr, i, s->marks.data[i].pos > pos);

	return after ? cs_stream_offset_from(&s->marks.data[after - 1], pos) : 0;
}

uint64_t cs_stream_piece(const struct cs_stream *s, uint64_t pos, size_t *mark,
			 uint64_t *ret_offset)
{
	uint64_t end = s->bytes.nr, next;
	const struct cs_mark *m;

	while (*mark + 1 < s->marks.nr && s->marks.data[*mark + 1].pos <= pos)
		++*mark;
	m = &s->marks.data[*mark];
	if (*mark + 1 < s->marks.nr)
		end = m[1].pos;
	next = pos + CS_FRAME_BYTES - 1 - (pos - m->pos + m->at) % (CS_FRAME_BYTES - 1);
	*ret_offset = cs_stream_offset_from(m, pos);
	return next < end ? next : end;
}

const struct cs_counts *cs_demux_counts(const struct cs_demux *d)
{
	return &d->slots.counts;
}

void cs_counts_add(struct cs_counts *sum, const struct cs_counts *c)
{
	sum->nr_frames += c->nr_frames;
	sum->nr_barriers += c->nr_barriers;
	sum->nr_lost += c->nr_lost;
	sum->nr_id0_bytes += c->nr_id0_bytes;
	sum->nr_reserved_bytes += c->nr_reserved_bytes;
	sum->nr_unowned_bytes += c->nr_unowned_bytes;
	sum->nr_skipped_bytes += c->nr_skipped_bytes;
}

static unsigned int add_byte(struct cs_part *parts, unsigned int nr, uint8_t id, unsigned int at)
{
	struct cs_part *last = nr ? &parts[nr - 1] : NULL;

	if (last && last->id == id && last->at + last->size == at) {
		last->size++;
		return nr;
	}
	parts[nr] = (struct cs_part){id, (uint8_t)at, 1};
	return nr + 1;
}

unsigned int cs_frame_parts(const uint8_t *frame, uint8_t id, struct cs_part ret[CS_MAX_PARTS])
{
	unsigned int nr = 0;

	for (unsigned int k = 0; k < CS_FRAME_BYTES / 2; k++) {
		uint8_t even = frame[2 * k], old = id;
		bool is_id = even & 1, is_late;

		if (is_id)
			id = even >> 1;
		else
			nr = add_byte(ret, nr, id, 2 * k);
		is_late = is_id && frame[CS_FRAME_BYTES - 1] >> k & 1;
		if (2 * k + 1 < CS_FRAME_BYTES - 1)
			nr = add_byte(ret, nr, is_late ? old : id, 2 * k + 1);
	}
	return nr;
}
