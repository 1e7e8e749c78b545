/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_guest_fits.h"

#include "base/bytes.h"

enum {
	MAGIC_BYTES = 8,
	GUEST_BYTES = 4 * 4 + 4 * 8,
	PIECE_BYTES = 11 * 8,
	MAX_GUESTS = 1 << 16,
	ALIGN = 8,
};

static const uint8_t magic[MAGIC_BYTES] = {'C', 'L', 'E', 'W', 'G', 'S', 'T', 1};

/* --- writing --- */

static void put_piece(struct buf *b, const struct perf_guest_piece *p)
{
	uint64_t slope;

	memcpy(&slope, &p->slope, sizeof(slope));
	buf_le64(b, p->from);
	buf_le64(b, p->to);
	buf_le64(b, p->guest_at);
	buf_le64(b, p->host_at);
	buf_le64(b, slope);
	for (int i = 0; i < 2; i++) {
		buf_le64(b, (uint64_t)p->low[i]);
		buf_le64(b, (uint64_t)p->high[i]);
	}
	buf_le64(b, p->nr_matched);
	buf_le64(b, p->nr_edges);
}

void perf_put_guest_fits(struct buf *b, const struct perf_guest_fits *g)
{
	buf_add(b, magic, sizeof(magic));
	buf_le64(b, g->guests.nr);
	vec_for_each (&g->guests, o) {
		size_t path_bytes = strlen(o->path) + 1;

		buf_le32(b, o->machine);
		buf_le32(b, (uint32_t)o->verdict);
		buf_le32(b, o->is_ticks);
		buf_le32(b, (uint32_t)path_bytes);
		buf_le64(b, o->band_ns);
		buf_le64(b, o->nr_inside);
		buf_le64(b, o->nr_events);
		buf_le64(b, o->pieces.nr);
		vec_for_each (&o->pieces, p)
			put_piece(b, p);
		buf_add(b, o->path, path_bytes);
		buf_fill(b, '\0', -path_bytes & (ALIGN - 1));
	}
}

/* --- reading --- */

static uint64_t number_at(const uint8_t *p)
{
	return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

/** The next of a table of 8-byte numbers; its size was checked. */
static uint64_t next_u64(struct bytes *b)
{
	uint64_t v = number_at(b->pos);

	b->pos += sizeof(v);
	return v;
}

static struct perf_guest_piece take_piece(struct bytes *b)
{
	struct perf_guest_piece p = {.from = next_u64(b), .to = 0};
	uint64_t slope;

	p.to = next_u64(b);
	p.guest_at = next_u64(b);
	p.host_at = next_u64(b);
	slope = next_u64(b);
	memcpy(&p.slope, &slope, sizeof(p.slope));
	for (int i = 0; i < 2; i++) {
		p.low[i] = (int64_t)next_u64(b);
		p.high[i] = (int64_t)next_u64(b);
	}
	p.nr_matched = next_u64(b);
	p.nr_edges = next_u64(b);
	return p;
}

static enum clew_err take_path(struct bytes *b, size_t size, struct perf_guest_fit *ret)
{
	struct bytes path;

	if (!size || !bytes_take(b, size, &path) || path.end[-1] ||
	    !bytes_skip(b, -size & (ALIGN - 1)))
		return CLEW_BAD_FILE;
	ret->path = (const char *)path.pos;
	return CLEW_OK;
}

static enum clew_err take_guest(struct bytes *b, struct perf_guest_fit *ret)
{
	struct bytes head, pieces;
	uint64_t nr;

	if (!bytes_take(b, GUEST_BYTES, &head))
		return CLEW_BAD_FILE;
	ret->machine = load_le32(head.pos);
	ret->verdict = (enum perf_guest_verdict)load_le32(head.pos + 4);
	ret->is_ticks = load_le32(head.pos + 8) & 1;
	ret->band_ns = number_at(head.pos + 16);
	ret->nr_inside = number_at(head.pos + 24);
	ret->nr_events = number_at(head.pos + 32);
	nr = number_at(head.pos + 40);
	if ((unsigned int)ret->verdict > PERF_GUEST_SURE || nr > bytes_left(b) / PIECE_BYTES ||
	    !bytes_take(b, (size_t)nr * PIECE_BYTES, &pieces))
		return CLEW_BAD_FILE;
	while (bytes_left(&pieces)) {
		if (!vec_push(&ret->pieces, take_piece(&pieces)))
			return CLEW_NO_MEMORY;
	}
	return take_path(b, load_le32(head.pos + 12), ret);
}

static enum clew_err take_all(struct bytes b, struct perf_guest_fits *ret)
{
	enum clew_err err = CLEW_OK;
	struct bytes head;
	uint64_t nr;

	if (!bytes_take(&b, MAGIC_BYTES + sizeof(nr), &head) ||
	    memcmp(head.pos, magic, MAGIC_BYTES - 1) != 0)
		return CLEW_BAD_FILE;
	if (head.pos[MAGIC_BYTES - 1] != magic[MAGIC_BYTES - 1])
		return CLEW_UNSUPPORTED;
	nr = number_at(head.pos + MAGIC_BYTES);
	if (nr > MAX_GUESTS)
		return CLEW_BAD_FILE;
	for (uint64_t i = 0; i < nr && !err; i++) {
		if (!vec_push(&ret->guests, (struct perf_guest_fit){0}))
			return CLEW_NO_MEMORY;
		err = take_guest(&b, &ret->guests.data[i]);
	}
	return err;
}

enum clew_err perf_guest_fits_parse(const struct perf_features *f, struct perf_guest_fits *ret)
{
	struct bytes section = f->section[PERF_FEAT_CLEW_GUESTS];
	enum clew_err err;

	*ret = (struct perf_guest_fits){0};
	if (!section.pos)
		return CLEW_OK;
	err = take_all(section, ret);
	if (err)
		perf_guest_fits_done(ret);
	return err;
}

void perf_guest_fits_done(struct perf_guest_fits *g)
{
	vec_for_each (&g->guests, o)
		vec_done(&o->pieces);
	vec_done(&g->guests);
	*g = (struct perf_guest_fits){0};
}
