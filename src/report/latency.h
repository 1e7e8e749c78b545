/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_LATENCY_H
#define REPORT_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Values, counted: exact up to 63, above in 32 steps per power of two, so that percentiles are at
 * most 3 % too low. Takes memory from the second distinct value on. Zeroed struct = empty.
 */
struct latency {
	uint64_t nr, sum;
	uint32_t min, max;
	uint32_t *buckets; /* NULL: all are min */
	uint32_t nr_buckets;
};

/** @p nr times. @return false: no memory, and it was not counted. */
bool latency_add_many(struct latency *l, uint64_t value, uint64_t nr);
static inline bool latency_add(struct latency *l, uint64_t value)
{
	return latency_add_many(l, value, 1);
}
bool latency_merge(struct latency *to, const struct latency *from);
/** The least value that @p percent of all do not exceed. Empty: 0. */
uint32_t latency_percentile(const struct latency *l, unsigned int percent);
double latency_mean(const struct latency *l);
void latency_done(struct latency *l);

#endif
