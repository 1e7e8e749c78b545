/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_queue.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "os/thread.h"

/*
 * Batches circulate: the pipeline fills one, hands it over, takes a free one. A batch is touched by
 * one side at a time; the lock guards only which side owns it. Blocks of records are released by
 * the pipeline's thread alone, as their reference counts are not atomic.
 */
enum { NR_BATCHES = 4, BATCH_EVENTS = 1024 };

struct batch {
	struct ana_event events[BATCH_EVENTS];
	struct perf_sample samples[BATCH_EVENTS];
	size_t nr;
	uint64_t epoch;
	struct arena memory;
};

struct ana_queue {
	struct ana_consumer consumer;
	struct batch *batches[NR_BATCHES];
	struct batch *filling;
	uint64_t epoch;
	struct os_lock
		*lock; /* guards what follows; NULL: no thread, the consumer is called at once */
	struct os_thread *thread;
	struct batch *full[NR_BATCHES], *empty[NR_BATCHES];
	size_t nr_full, nr_empty; /* full: first in first out */
	enum clew_err error;      /* the consumer's */
	bool is_ended;
};

static enum clew_err consume(struct ana_queue *q, struct batch *b)
{
	struct ana_batch view = {b->events, b->nr, b->epoch};

	return q->consumer.batch(q->consumer.ctx, &view);
}

static void consumer_main(void *ctx)
{
	struct ana_queue *q = ctx;

	os_lock(q->lock);
	for (;;) {
		while (!q->nr_full && !q->is_ended)
			os_lock_wait(q->lock);
		if (!q->nr_full)
			break;
		struct batch *b = q->full[0];
		bool is_wanted = q->error == CLEW_OK;

		os_unlock(q->lock);
		enum clew_err err = is_wanted ? consume(q, b) : CLEW_OK;

		os_lock(q->lock);
		if (is_wanted)
			q->error = err;
		memmove(q->full, q->full + 1, --q->nr_full * sizeof(q->full[0]));
		q->empty[q->nr_empty++] = b;
		os_lock_wake_all(q->lock);
	}
	os_unlock(q->lock);
}

/* Forget what the batch held. Pipeline's thread only. */
static void batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->nr; i++)
		perf_block_release(b->events[i].record.block);
	b->nr = 0;
	arena_done(&b->memory);
}

struct ana_queue *ana_queue_new(const struct ana_consumer *consumer, bool is_threaded,
				uint64_t epoch)
{
	struct ana_queue *q = mem_zalloc(sizeof(*q));

	if (!q)
		return NULL;
	q->consumer = *consumer;
	q->epoch = epoch;
	for (int i = 0; i < (is_threaded ? NR_BATCHES : 1); i++) {
		q->batches[i] = mem_zalloc(sizeof(*q->batches[i]));
		if (!q->batches[i])
			goto fail;
		q->empty[q->nr_empty++] = q->batches[i];
	}
	q->filling = q->empty[--q->nr_empty];
	if (!is_threaded)
		return q;
	q->lock = os_lock_new();
	q->thread = q->lock ? os_thread_start(consumer_main, q) : NULL;
	if (q->thread)
		return q;
fail:
	ana_queue_free(q);
	return NULL;
}

/* Hand over the batch being filled and take another. */
static enum clew_err pass_on(struct ana_queue *q)
{
	enum clew_err err;

	q->filling->epoch = q->epoch;
	if (!q->lock) {
		if (q->error == CLEW_OK)
			q->error = consume(q, q->filling);
		batch_clear(q->filling);
		return q->error;
	}
	os_lock(q->lock);
	q->full[q->nr_full++] = q->filling;
	os_lock_wake_all(q->lock);
	while (!q->nr_empty)
		os_lock_wait(q->lock);
	q->filling = q->empty[--q->nr_empty];
	err = q->error;
	os_unlock(q->lock);
	batch_clear(q->filling);
	return err;
}

enum clew_err ana_queue_flush(struct ana_queue *q)
{
	return q->filling->nr ? pass_on(q) : CLEW_OK;
}

enum clew_err ana_queue_wait(struct ana_queue *q)
{
	enum clew_err err = ana_queue_flush(q);

	if (!q->lock)
		return q->error;
	os_lock(q->lock);
	while (q->nr_full)
		os_lock_wait(q->lock);
	if (err == CLEW_OK)
		err = q->error;
	os_unlock(q->lock);
	return err;
}

struct ana_event *ana_queue_add(struct ana_queue *q, struct perf_sample **ret_sample)
{
	struct batch *b = q->filling;

	if (b->nr == BATCH_EVENTS) {
		if (pass_on(q) != CLEW_OK)
			return NULL;
		b = q->filling;
	}
	*ret_sample = &b->samples[b->nr];
	b->events[b->nr] =
		(struct ana_event){.pid = UINT32_MAX, .tid = UINT32_MAX, .cpu = UINT32_MAX};
	return &b->events[b->nr++];
}

void *ana_queue_alloc(struct ana_queue *q, size_t size)
{
	return arena_alloc(&q->filling->memory, size);
}

void ana_queue_set_epoch(struct ana_queue *q, uint64_t epoch)
{
	q->epoch = epoch;
}

void ana_queue_stop(struct ana_queue *q)
{
	if (!q->thread)
		return;
	os_lock(q->lock);
	q->is_ended = true;
	os_lock_wake_all(q->lock);
	os_unlock(q->lock);
	os_thread_join(q->thread);
	q->thread = NULL;
}

void ana_queue_free(struct ana_queue *q)
{
	if (!q)
		return;
	ana_queue_stop(q);
	for (int i = 0; i < NR_BATCHES; i++) {
		if (q->batches[i])
			batch_clear(q->batches[i]);
		mem_free(q->batches[i]);
	}
	os_lock_free(q->lock);
	mem_free(q);
}
