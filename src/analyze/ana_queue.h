/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_QUEUE_H
#define ANALYZE_ANA_QUEUE_H

#include "analyze/analyze.h"

/* Batches to the consumer. */

struct ana_queue *ana_queue_new(const struct ana_consumer *consumer, bool is_threaded,
				uint64_t epoch);
/** A free event of the batch being filled, zeroed, with room for its sample; NULL: the consumer has
 * failed. */
struct ana_event *ana_queue_add(struct ana_queue *q, struct perf_sample **ret_sample);
/** Memory that lives as long as the batch being filled. */
void *ana_queue_alloc(struct ana_queue *q, size_t size);
/** Hand over the batch being filled, if it holds anything. */
enum clew_err ana_queue_flush(struct ana_queue *q);
/** Flush, and wait until the consumer has seen everything. */
enum clew_err ana_queue_wait(struct ana_queue *q);
void ana_queue_set_epoch(struct ana_queue *q, uint64_t epoch);
/** No call of the consumer is running when this returns, and none follows; what was not handed over
 * is dropped. */
void ana_queue_stop(struct ana_queue *q);
void ana_queue_free(struct ana_queue *q);

#endif
