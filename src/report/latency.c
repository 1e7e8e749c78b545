/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/latency.h"

#include <string.h>

#include "base/mem.h"

enum { EXACT = 64, EXACT_BITS = 6, STEP_BITS = 5, STEPS = 1 << STEP_BITS };

static uint32_t bucket_of(uint32_t v)
{
	uint32_t e;

	if (v < EXACT)
		return v;
	e = 31 - (uint32_t)__builtin_clz(v);
	return EXACT + (e - EXACT_BITS) * STEPS + (v >> (e - STEP_BITS) & (STEPS - 1));
}

static uint32_t least_in(uint32_t bucket)
{
	uint32_t e;

	if (bucket < EXACT)
		return bucket;
	bucket -= EXACT;
	e = bucket / STEPS;
	return (STEPS + bucket % STEPS) << (e + EXACT_BITS - STEP_BITS);
}

static bool make_room(struct latency *l, uint32_t bucket)
{
	uint32_t nr = (bucket + STEPS) & ~(uint32_t)(STEPS - 1);
	uint32_t *more;

	if (bucket < l->nr_buckets)
		return true;
	more = mem_calloc(nr, sizeof(*more));
	if (!more)
		return false;
	if (l->nr_buckets)
		memcpy(more, l->buckets, l->nr_buckets * sizeof(*more));
	mem_free(l->buckets);
	l->buckets = more;
	l->nr_buckets = nr;
	return true;
}

static void count(struct latency *l, uint32_t bucket, uint64_t nr)
{
	uint32_t *b = &l->buckets[bucket];

	*b = UINT32_MAX - *b < nr ? UINT32_MAX : *b + (uint32_t)nr;
}

/* Buckets for what was one value so far. */
static bool spread(struct latency *l, uint32_t bucket)
{
	bool is_first = !l->buckets;

	if (!make_room(l, bucket) || !make_room(l, bucket_of(l->max)))
		return false;
	if (is_first)
		count(l, bucket_of(l->min), l->nr);
	return true;
}

bool latency_add_many(struct latency *l, uint64_t value, uint64_t nr)
{
	uint32_t v = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value, bucket;

	if (!l->nr)
		l->min = l->max = v;
	if (l->buckets || v != l->min) {
		bucket = bucket_of(v);
		if ((!l->buckets || bucket >= l->nr_buckets) && !spread(l, bucket))
			return false;
		count(l, bucket, nr);
	}
	l->nr += nr;
	l->sum += v * nr;
	l->min = v < l->min ? v : l->min;
	l->max = v > l->max ? v : l->max;
	return true;
}

bool latency_merge(struct latency *to, const struct latency *from)
{
	if (!from->nr)
		return true;
	if (!to->nr)
		to->min = to->max = from->min;
	if (to->buckets || from->buckets || to->min != from->min) {
		if (!spread(to, bucket_of(from->max)))
			return false;
		if (!from->buckets)
			count(to, bucket_of(from->min), from->nr);
		for (uint32_t i = 0; i < from->nr_buckets && i < to->nr_buckets; i++)
			count(to, i, from->buckets[i]);
	}
	to->nr += from->nr;
	to->sum += from->sum;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	return true;
}

uint32_t latency_percentile(const struct latency *l, unsigned int percent)
{
	uint64_t before = 0, wanted = l->nr / 100 * percent + (l->nr % 100 * percent + 99) / 100;

	for (uint32_t i = 0; i < l->nr_buckets; i++) {
		uint32_t v = least_in(i);

		before += l->buckets[i];
		if (before >= wanted && before)
			return v < l->min ? l->min : v > l->max ? l->max : v;
	}
	return l->max;
}

double latency_mean(const struct latency *l)
{
	return l->nr ? (double)l->sum / (double)l->nr : 0;
}

void latency_done(struct latency *l)
{
	mem_free(l->buckets);
	*l = (struct latency){0};
}
