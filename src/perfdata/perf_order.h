/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_ORDER_H
#define PERFDATA_PERF_ORDER_H

#include "perfdata/perf_file.h"

/**
 * Puts records into time order. Each CPU's buffer is in order, and FINISHED_ROUND promises that
 * what is written after it is not older than the newest record of the round before: so after each
 * such mark, all up to that time can go. Records of equal time keep their order in the file.
 */
struct perf_order;

struct perf_order_counts {
	uint64_t nr_late;    /* delivered after a newer record: the promise was broken, or the limit
				forced a flush */
	uint64_t peak_queue; /* most records waiting at once */
};

/** @p limit: most records to hold, 0: the default of 4 Mi (about 400 MB). Above it the older half
 * goes early. */
struct perf_order *perf_order_new(uint64_t limit);

/** Where the blocks of the records that wait hold much of @p budget, all of them go early; and half
 * of them where their list does. */
void perf_order_set_budget(struct perf_order *o, struct budget *budget);

void perf_order_free(struct perf_order *o);

/**
 * Queue a record (its block is held). Pop until false before the next push. @return CLEW_NO_MEMORY.
 */
enum clew_err perf_order_push(struct perf_order *o, const struct perf_record *r, uint64_t time);

/** A FINISHED_ROUND went by. */
void perf_order_round(struct perf_order *o);

/** The input has ended: all may go. */
void perf_order_finish(struct perf_order *o);

/**
 * The next record that may go, oldest first; false: none for now. The caller releases its block.
 * Amortised O(log number of CPU buffers).
 */
bool perf_order_pop(struct perf_order *o, struct perf_record *ret, uint64_t *ret_time);

const struct perf_order_counts *perf_order_counts(const struct perf_order *o);

#endif
