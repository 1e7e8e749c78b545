/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/export_spool.h"

#include <string.h>

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
	s->os_errno = !s->is_open ? s->fd : os_write_all(s->fd, e->tail.data, e->tail.nr);
	if (s->os_errno)
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

enum clew_err export_spool_next(struct export_spool *s, struct export_spool_reader *r,
				const void **ret, size_t *ret_size)
{
	struct export_series *e = r->series < s->series.nr ? &s->series.data[r->series] : NULL;
	const struct export_chunk *c;

	*ret_size = 0;
	if (!e || r->next > e->chunks.nr)
		return CLEW_OK;
	if (r->next++ == e->chunks.nr) {
		*ret = e->tail.data;
		*ret_size = e->tail.nr;
		return CLEW_OK;
	}
	c = &e->chunks.data[r->next - 1];
	if (!buf_reserve(&r->room, c->size))
		return CLEW_NO_MEMORY;
	s->os_errno = os_read_all_at(s->fd, r->room.data, c->size, c->offset);
	if (s->os_errno)
		return CLEW_OS;
	*ret = r->room.data;
	*ret_size = c->size;
	return CLEW_OK;
}

void export_spool_reader_done(struct export_spool_reader *r)
{
	buf_done(&r->room);
}

enum clew_err export_spool_read(struct export_spool *s, uint32_t n,
				enum clew_err (*take)(void *ctx, const void *data, size_t size),
				void *ctx)
{
	struct export_spool_reader r = {.series = n};
	const void *data;
	size_t size;
	enum clew_err err;

	do {
		err = export_spool_next(s, &r, &data, &size);
		if (err == CLEW_OK && size)
			err = take(ctx, data, size);
	} while (err == CLEW_OK && size);
	export_spool_reader_done(&r);
	return err;
}

const char *export_spool_why(const struct export_spool *s)
{
	return s->os_errno ? strerror(-s->os_errno) : NULL;
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
