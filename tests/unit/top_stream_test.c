/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/top_stream.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/thread.h"
#include "perfdata/perf_abi.h"
#include "unit/tap.h"

enum { NR_BYTES = 8 << 20, LIMIT = 1 << 20, PIECE = 100000 };

static void no_wake(void *ctx)
{
	++*(int *)ctx;
}

static void write_all(void *stream)
{
	struct top_stream *s = stream;
	struct rec_sink sink = top_stream_sink(s);
	uint8_t piece[1000];

	sink.begin(sink.ctx);
	for (uint32_t at = 0; at < NR_BYTES; at += sizeof(piece)) {
		for (uint32_t i = 0; i < sizeof(piece); i++)
			piece[i] = (uint8_t)((at + i) * 2654435761u >> 24);
		sink.write(sink.ctx, piece, sizeof(piece));
	}
	sink.begin(sink.ctx);
	sink.write(sink.ctx, "second", 6);
	top_stream_close(s);
}

/* Two threads, and more than is held at once. */
static void in_order(void)
{
	int nr_wakes = 0;
	struct top_stream *s = top_stream_new(LIMIT, no_wake, &nr_wakes);
	struct os_thread *t = os_thread_start(write_all, s);
	uint8_t *piece = mem_alloc(PIECE);
	uint32_t at = 0;
	bool is_same = true;
	long n;

	CHECK(top_stream_next(s), "a stream begins");
	while ((n = top_stream_read(s, piece, PIECE)) > 0) {
		for (long i = 0; i < n; i++)
			is_same &= piece[i] == (uint8_t)((at + i) * 2654435761u >> 24);
		at += (uint32_t)n;
	}
	CHECK(n == 0 && is_same && at >= NR_BYTES && at < NR_BYTES + 1000,
	      "all its bytes, in order");
	CHECK(top_stream_read(s, piece, PIECE) == 0, "the end stays");
	CHECK(top_stream_next(s) && top_stream_read(s, piece, PIECE) == 6 &&
		      !memcmp(piece, "second", 6),
	      "the next stream");
	CHECK(top_stream_read(s, piece, PIECE) == 0 && !top_stream_next(s), "and no other");
	os_thread_join(t);
	mem_free(piece);
	top_stream_free(s);
}

static void drops(void)
{
	int nr_wakes = 0;
	struct top_stream *s = top_stream_new(LIMIT, no_wake, &nr_wakes);
	struct os_thread *t = os_thread_start(write_all, s);

	CHECK(top_stream_next(s), "a stream begins");
	top_stream_drop(s);
	os_thread_join(t); /* it does not wait for a reader */
	CHECK(!top_stream_next(s), "and is dropped");
	top_stream_free(s);
}

struct recorder {
	struct top_stream *stream;
	struct os_lock *lock;
	bool is_woken, is_ended;
};

static void wake(void *ctx)
{
	struct recorder *r = ctx;

	os_lock(r->lock);
	r->is_woken = true;
	os_lock_wake_all(r->lock);
	os_unlock(r->lock);
}

/* Rounds only where it is woken. */
static void make_rounds(void *ctx)
{
	struct recorder *r = ctx;
	struct rec_sink sink = top_stream_sink(r->stream);

	sink.begin(sink.ctx);
	sink.write(sink.ctx, "12345678", 8);
	for (;;) {
		bool is_ended;

		os_lock(r->lock);
		while (!r->is_woken && !r->is_ended)
			os_lock_wait(r->lock);
		r->is_woken = false;
		is_ended = r->is_ended;
		os_unlock(r->lock);
		if (is_ended)
			break;
		sink.round(sink.ctx);
	}
}

static void marks(void)
{
	struct recorder r = {.lock = os_lock_new()};
	struct perf_event_header h = {0};
	struct os_thread *t;
	uint64_t before, nr = 0;
	char piece[64];

	r.stream = top_stream_new(LIMIT, wake, &r);
	t = os_thread_start(make_rounds, &r);
	top_stream_next(r.stream);
	CHECK(top_stream_read(r.stream, piece, sizeof(piece)) == 8, "a record");
	for (int i = 0; i < 3; i++) {
		before = os_clock_ns();
		top_stream_mark_at(r.stream, before + 20000000);
		CHECK(top_stream_read(r.stream, &h, sizeof(h)) == sizeof(h) &&
			      h.type == PERF_RECORD_FINISHED_INIT && h.size == sizeof(h) &&
			      os_clock_ns() >= before + 20000000,
		      "a mark, when it is due, though nothing else comes");
	}
	for (uint64_t i = 0; i < 2000; i++) {
		top_stream_mark_at(r.stream, os_clock_ns() + i * 5);
		nr += top_stream_read(r.stream, &h, sizeof(h)) == sizeof(h);
	}
	CHECK_EQ(nr, 2000, "marks that become due while the reader is about to wait");
	os_lock(r.lock);
	r.is_ended = true;
	os_lock_wake_all(r.lock);
	os_unlock(r.lock);
	os_thread_join(t);
	top_stream_free(r.stream);
	os_lock_free(r.lock);
}

int main(void)
{
	in_order();
	drops();
	marks();
	return tap_done();
}
