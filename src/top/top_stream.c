/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/top_stream.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "os/clock.h"
#include "os/thread.h"
#include "perfdata/perf_abi.h"
#include "top/top_history.h"

enum { BLOCK_BYTES = 256 << 10 };

struct block {
	struct block *next;
	size_t nr, at; /* written, read */
	uint8_t bytes[BLOCK_BYTES];
};

struct top_stream {
	uint64_t max_bytes;
	struct os_lock *lock; /* guards all that follows */
	void (*wake)(void *ctx);
	void *wake_ctx;
	struct block *first, *last, *spare;
	uint64_t written, read; /* bytes since the beginning */
	struct top_history history;
	struct {
		VEC(uint64_t);
	} begins; /* of streams that the reader has not reached: how much was written before them */
	uint64_t mark_at_ns, early_at_ns; /* 0: none is wanted */
	bool wants_mark;                  /* the recorder puts it after its next round */
	bool is_closed, is_dropped, is_failed;
};

struct top_stream *top_stream_new(uint64_t max_bytes, void (*wake)(void *ctx), void *ctx)
{
	struct top_stream *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->max_bytes = max_bytes;
	s->wake = wake;
	s->wake_ctx = ctx;
	s->lock = os_lock_new();
	if (s->lock)
		return s;
	mem_free(s);
	return NULL;
}

void top_stream_free(struct top_stream *s)
{
	if (!s)
		return;
	while (s->first) {
		struct block *next = s->first->next;

		mem_free(s->first);
		s->first = next;
	}
	mem_free(s->spare);
	top_history_done(&s->history);
	vec_done(&s->begins);
	os_lock_free(s->lock);
	mem_free(s);
}

static struct block *room(struct top_stream *s)
{
	struct block *b = s->last;

	if (b && b->nr < BLOCK_BYTES)
		return b;
	b = s->spare ? s->spare : mem_alloc(sizeof(*b));
	s->spare = NULL;
	if (!b)
		return NULL;
	b->next = NULL;
	b->nr = b->at = 0;
	if (s->last)
		s->last->next = b;
	else
		s->first = b;
	return s->last = b;
}

static bool append(struct top_stream *s, const uint8_t *data, size_t size)
{
	while (size) {
		struct block *b = room(s);
		size_t n = b && size > BLOCK_BYTES - b->nr ? BLOCK_BYTES - b->nr : size;

		if (!b)
			return false;
		memcpy(b->bytes + b->nr, data, n);
		b->nr += n;
		s->written += n;
		data += n;
		size -= n;
	}
	return true;
}

static enum clew_err write_locked(struct top_stream *s, const void *data, size_t size)
{
	top_history_add(&s->history, data, size);
	while (s->written - s->read > s->max_bytes && !s->is_dropped)
		os_lock_wait(s->lock);
	if (s->is_dropped)
		return CLEW_OK;
	if (!append(s, data, size))
		return CLEW_NO_MEMORY;
	os_lock_wake_all(s->lock);
	return CLEW_OK;
}

static enum clew_err sink_write(void *ctx, const void *data, size_t size)
{
	struct top_stream *s = ctx;
	enum clew_err err;

	os_lock(s->lock);
	err = write_locked(s, data, size);
	os_unlock(s->lock);
	return err;
}

static void sink_begin(void *ctx)
{
	struct top_stream *s = ctx;

	os_lock(s->lock);
	top_history_begin(&s->history);
	s->is_failed |= !vec_push(&s->begins, s->written);
	os_lock_wake_all(s->lock);
	os_unlock(s->lock);
}

static void sink_round(void *ctx)
{
	static const struct perf_event_header mark = {.type = PERF_RECORD_FINISHED_INIT,
						      .size = sizeof(mark)};
	struct top_stream *s = ctx;

	os_lock(s->lock);
	top_history_round(&s->history, os_clock_ns());
	if (s->wants_mark) {
		s->wants_mark = false;
		s->is_failed |= write_locked(s, &mark, sizeof(mark)) != CLEW_OK;
	}
	os_unlock(s->lock);
}

struct rec_sink top_stream_sink(struct top_stream *s)
{
	return (struct rec_sink){sink_begin, sink_write, sink_round, s};
}

void top_stream_mark_at(struct top_stream *s, uint64_t at_ns)
{
	uint64_t now = os_clock_ns();

	os_lock(s->lock);
	s->mark_at_ns = at_ns;
	/* Records wait for the round after theirs: with one shortly before, nearly all have it. */
	s->early_at_ns = at_ns > now ? at_ns - (at_ns - now) / 8 : 0;
	s->wants_mark = false;
	os_unlock(s->lock);
}

/* What is due at @p now. @return whether the rings are to be read. */
static bool is_due(struct top_stream *s, uint64_t now)
{
	if (s->mark_at_ns && now >= s->mark_at_ns) {
		s->mark_at_ns = s->early_at_ns = 0;
		return s->wants_mark = true;
	}
	if (s->early_at_ns && now >= s->early_at_ns) {
		s->early_at_ns = 0;
		return true;
	}
	return false;
}

static void wait_until_due(struct top_stream *s, uint64_t now)
{
	uint64_t until = s->early_at_ns ? s->early_at_ns : s->mark_at_ns;

	if (!until)
		os_lock_wait(s->lock);
	else if (until > now)
		os_lock_wait_ms(s->lock, (unsigned int)((until - now) / NS_PER_MS) + 1);
	/* Else it has become due since that was asked: ask again. */
}

static void ask_when_due(struct top_stream *s)
{
	if (!is_due(s, os_clock_ns()))
		return;
	os_unlock(s->lock);
	s->wake(s->wake_ctx);
	os_lock(s->lock);
}

/* Bytes of this stream that can be read now. */
static uint64_t available(const struct top_stream *s)
{
	uint64_t end = s->begins.nr ? s->begins.data[0] : s->written;

	return end - s->read;
}

/* Has all been read up to the next stream's first byte? */
static bool is_at_begin(const struct top_stream *s)
{
	return s->begins.nr && s->begins.data[0] == s->read;
}

static bool is_at_end(const struct top_stream *s)
{
	return s->is_dropped || s->is_failed || is_at_begin(s) ||
	       (s->is_closed && s->read == s->written);
}

static size_t take(struct top_stream *s, uint8_t *buf, size_t size)
{
	size_t nr = 0;

	while (nr < size) {
		struct block *b = s->first;
		size_t n = b->nr - b->at;

		n = n < size - nr ? n : size - nr;
		memcpy(buf + nr, b->bytes + b->at, n);
		b->at += n;
		nr += n;
		if (b->at < BLOCK_BYTES)
			continue;
		s->first = b->next;
		s->last = s->first ? s->last : NULL;
		mem_free(s->spare);
		s->spare = b;
	}
	s->read += nr;
	return nr;
}

long top_stream_read(void *stream, void *buf, size_t size)
{
	struct top_stream *s = stream;
	uint64_t nr;
	long ret = 0;

	os_lock(s->lock);
	ask_when_due(s);
	while (!(nr = available(s)) && !is_at_end(s)) {
		wait_until_due(s, os_clock_ns());
		ask_when_due(s);
	}
	if (nr && !s->is_dropped) {
		ret = (long)take(s, buf, nr < size ? (size_t)nr : size);
		os_lock_wake_all(s->lock);
	}
	os_unlock(s->lock);
	return ret;
}

bool top_stream_next(struct top_stream *s)
{
	bool is_there;

	os_lock(s->lock);
	while (!is_at_begin(s) && !s->is_closed && !s->is_dropped && !s->is_failed)
		os_lock_wait(s->lock);
	is_there = !s->is_dropped && is_at_begin(s);
	if (is_there)
		memmove(s->begins.data, s->begins.data + 1,
			--s->begins.nr * sizeof(*s->begins.data));
	while (is_there && !available(s) && !is_at_end(s))
		os_lock_wait(s->lock);
	is_there = is_there && available(s);
	os_unlock(s->lock);
	return is_there;
}

void top_stream_keep(struct top_stream *s, uint64_t max_bytes, uint64_t window_ns)
{
	s->history.max_bytes = max_bytes;
	s->history.window_ns = window_ns;
}

bool top_stream_save(struct top_stream *s, uint64_t window_ns, void (*request)(void *ctx),
		     void *ctx, struct buf *ret)
{
	uint64_t now, nr;
	bool is_kept;

	os_lock(s->lock);
	nr = s->history.nr_starts;
	os_unlock(s->lock);
	request(ctx);
	os_lock(s->lock);
	while (s->history.max_bytes && s->history.nr_starts == nr && !s->is_closed &&
	       !s->is_dropped)
		os_lock_wait(s->lock);
	now = os_clock_ns();
	is_kept = s->history.max_bytes && !s->history.is_in_start;
	if (is_kept)
		top_history_copy(&s->history, now > window_ns ? now - window_ns : 0, ret);
	os_unlock(s->lock);
	return is_kept && !ret->is_failed;
}

void top_stream_close(struct top_stream *s)
{
	os_lock(s->lock);
	s->is_closed = true;
	os_lock_wake_all(s->lock);
	os_unlock(s->lock);
}

void top_stream_drop(struct top_stream *s)
{
	os_lock(s->lock);
	s->is_dropped = true;
	os_lock_wake_all(s->lock);
	os_unlock(s->lock);
}
