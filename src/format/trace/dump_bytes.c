/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/dump_bytes.h"

void dump_bytes_add(struct dump_bytes *b, struct bytes piece, uint64_t at)
{
	b->piece = piece;
	b->piece_at = at;
}

static bool byte_of(const struct dump_bytes_run *r, uint64_t offset, uint8_t *ret)
{
	if (offset < r->at || offset - r->at >= r->nr)
		return false;
	*ret = r->data[offset - r->at];
	return true;
}

static bool byte_at(const struct dump_bytes *b, uint64_t offset, uint8_t *ret)
{
	if (offset >= b->piece_at && offset - b->piece_at < bytes_left(&b->piece)) {
		*ret = b->piece.pos[offset - b->piece_at];
		return true;
	}
	return byte_of(&b->last, offset, ret) || byte_of(&b->pending, offset, ret);
}

unsigned int dump_bytes_at(const struct dump_bytes *b, uint64_t offset, uint64_t bytes,
			   uint8_t ret[DUMP_BYTES_SHOWN])
{
	unsigned int nr = 0;

	while (nr < bytes && nr < DUMP_BYTES_SHOWN && byte_at(b, offset + nr, &ret[nr]))
		nr++;
	return nr;
}

/** The last bytes of @p r and @p in. */
static void append(struct dump_bytes_run *r, struct bytes in)
{
	size_t new = bytes_left(&in) < DUMP_BYTES_KEPT ? bytes_left(&in) : DUMP_BYTES_KEPT;
	size_t old = r->nr < DUMP_BYTES_KEPT - new ? r->nr : DUMP_BYTES_KEPT - new;

	r->at += r->nr + bytes_left(&in) - new - old;
	memmove(r->data, r->data + r->nr - old, old);
	memcpy(r->data + old, in.end - new, new);
	r->nr = (unsigned int)(old + new);
}

void dump_bytes_keep(struct dump_bytes *b, uint64_t offset)
{
	struct dump_bytes_run pending = {.at = offset};

	pending.nr = dump_bytes_at(b, offset, UINT64_MAX, pending.data);
	b->pending = pending;
	if (!b->last.nr)
		b->last.at = b->piece_at;
	if (bytes_left(&b->piece))
		append(&b->last, b->piece);
	b->piece = (struct bytes){0};
}

void dump_bytes_reset(struct dump_bytes *b)
{
	*b = (struct dump_bytes){0};
}
