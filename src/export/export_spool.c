/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/export_spool.h"

#include "os/create.h"
#include "os/file.h"

enum {
	CHUNK_BYTES = 16 << 10,
	MAX_TAIL_BYTES = 16 << 20, /* then all go to the file: there may be any number of series */
};

static enum clew_err write_tail(struct export_spool *s, struct export_series *e)
{
	const struct export_chunk c = {s->file_bytes, (uint32_t)e->tail.nr};

	if (!e->tail.nr)
		return CLEW_OK;
	if (!s->is_open) {
		s->fd = os_create_unnamed();
		s->is_open = s->fd >= 0;
	}
	if (!s->is_open || os_write_all(s->fd, e->tail.data, e->tail.nr))
		return CLEW_OS;
	if (!vec_push(&e->chunks, c))
		return CLEW_NO_MEMORY;
	s->file_bytes += e->tail.nr;
	s->tail_bytes -= e->tail.nr;
	buf_clear(&e->tail);
	return CLEW_OK;
}

static enum clew_err write_all(struct export_spool *s)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&s->series, e) {
		err = err ? err : write_tail(s, e);
		buf_done(&e->tail);
	}
	return err;
}

enum clew_err export_spool_add(struct export_spool *s, uint32_t n, const void *data, size_t size)
{
	struct export_series *e;

	while (s->series.nr <= n) {
		if (!vec_push(&s->series, (struct export_series){0}))
			return CLEW_NO_MEMORY;
	}
	e = &s->series.data[n];
	buf_add(&e->tail, data, size);
	if (e->tail.is_failed)
		return CLEW_NO_MEMORY;
	s->tail_bytes += size;
	if (s->tail_bytes >= MAX_TAIL_BYTES)
		return write_all(s);
	return e->tail.nr >= CHUNK_BYTES ? write_tail(s, e) : CLEW_OK;
}

enum clew_err export_spool_read(struct export_spool *s, uint32_t n,
				enum clew_err (*take)(void *ctx, const void *data, size_t size),
				void *ctx)
{
	struct export_series *e = n < s->series.nr ? &s->series.data[n] : NULL;
	struct buf room = {0};
	enum clew_err err = CLEW_OK;

	if (!e)
		return CLEW_OK;
	vec_for_each (&e->chunks, c) {
		if (err == CLEW_OK && !buf_reserve(&room, c->size))
			err = CLEW_NO_MEMORY;
		if (err == CLEW_OK && os_read_all_at(s->fd, room.data, c->size, c->offset))
			err = CLEW_OS;
		err = err ? err : take(ctx, room.data, c->size);
	}
	buf_done(&room);
	return err || !e->tail.nr ? err : take(ctx, e->tail.data, e->tail.nr);
}

void export_spool_done(struct export_spool *s)
{
	vec_for_each (&s->series, e) {
		buf_done(&e->tail);
		vec_done(&e->chunks);
	}
	vec_done(&s->series);
	if (s->is_open)
		os_close(s->fd);
}
