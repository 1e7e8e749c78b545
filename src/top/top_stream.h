/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TOP_TOP_STREAM_H
#define TOP_TOP_STREAM_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/plan/rec_sink.h"

/*
 * From the thread that reads the rings to the one that analyzes: bytes in memory, in order. The
 * first never waits for the second unless @p max_bytes are between them; then records remain in the
 * rings, and the kernel counts what has no room there.
 *
 * Marks are FINISHED_INIT records, which no reader acts on: where one is read, all that the rings
 * held when it was requested has been read before it.
 */
struct top_stream;

/** @p wake: called without a lock to have the rings read at once; from any thread. */
struct top_stream *top_stream_new(uint64_t max_bytes, void (*wake)(void *ctx), void *ctx);
void top_stream_free(struct top_stream *s);

/** From here on keep what was written in the last @p window_ns, for top_stream_save(), as far as
 * @p max_bytes hold it. Before anything is written. */
void top_stream_keep(struct top_stream *s, uint64_t max_bytes, uint64_t window_ns);

/** The recorder's end; borrows @p s. */
struct rec_sink top_stream_sink(struct top_stream *s);

/** The reader's end, as perf_input.read: waits for bytes; 0 at the end of each stream that the
 * recorder began, and when all is closed. */
long top_stream_read(void *stream, void *buf, size_t size);

/** After such an end: is there another stream? Waits for its first byte. */
bool top_stream_next(struct top_stream *s);

/** A mark comes at @p at_ns of os_clock_ns(), or as soon after it as the rings are read. Another
 * call replaces it. Reader's thread. */
void top_stream_mark_at(struct top_stream *s, uint64_t at_ns);

/**
 * Append the last @p window_ns as a recording from a pipe, with the tasks and mappings of now:
 * waits until the recorder has begun another stream, which the caller requests by @p request. Any
 * thread. @return false: nothing is kept, or all has ended; or memory is short.
 */
bool top_stream_save(struct top_stream *s, uint64_t window_ns, void (*request)(void *ctx),
		     void *ctx, struct buf *ret);

/** Nothing more will be written: what is there is read, then all ends. Any thread. */
void top_stream_close(struct top_stream *s);

/** Nothing more will be read: what is written is dropped. Any thread. */
void top_stream_drop(struct top_stream *s);

#endif
