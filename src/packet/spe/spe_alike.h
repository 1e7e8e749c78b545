/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_ALIKE_H
#define PACKET_SPE_SPE_ALIKE_H

#include "packet/spe/spe_record.h"

/*
 * Records that are counted need not be read: one with the bytes of an earlier one, but for what
 * does not matter, is recognised by them, and only its time is read. Where the consumer has set for
 * which ticks it counts them together, they are no items: the reader counts them, until
 * spe_alike_collect().
 */

enum { SPE_NR_ALIKE = 512, SPE_ALIKE_WORDS = 8 };

/** Records that are counted together. */
struct spe_many {
	uint64_t nr;
	uint64_t from, last; /* the least and the greatest of their ticks */
};

static inline void spe_many_add(struct spe_many *to, const struct spe_many *m)
{
	to->from = !to->nr || m->from < to->from ? m->from : to->from;
	to->last = !to->nr || m->last > to->last ? m->last : to->last;
	to->nr += m->nr;
}

struct spe_alike {
	uint64_t value[SPE_ALIKE_WORDS]; /* bytes that matter */
	uint64_t used_in; /* spe_alike_set.nr_takes of the last item that points here */
	uint64_t time_mask;
	uint8_t shape; /* number + 1; 0: unused */
	uint8_t bytes, time_at;
	uint16_t next; /* what came after it the last time */
	struct spe_record first;
	/* The consumer's: where the last of them was counted, and for which ticks, while
	 * spe_alike_set.generation is this. */
	struct {
		uint64_t generation, from, ticks;
		uint32_t entry;
	} counted;
	struct spe_many many; /* since then */
};

/** Of one reader. Zeroed, but for .care. Some 170 KiB. */
struct spe_alike_set {
	uint64_t care[SPE_NR_FIELDS]; /* bits of the payloads that matter */
	uint16_t counter_max[2];      /* the reader's */
	uint64_t nr_takes, nr_met;
	uint64_t generation; /* of what the consumer has set: it increments this to discard all */
	uint32_t nr_missed, nr_paused; /* records: see spe_alike.c */
	uint8_t nr_shapes;
	struct {
		uint64_t mask[SPE_ALIKE_WORDS]; /* headers and .care, at their places */
		bool is_long;                   /* beyond these words: always read */
	} shapes[SPE_NR_SHAPES];
	uint16_t last;    /* that was met; SPE_NR_ALIKE: another record since */
	uint16_t nr_used; /* with .many */
	/* Runs without a record: how many records are not tried after the next. */
	uint8_t nr_untried, pause;
	uint16_t used[SPE_NR_ALIKE];
	struct spe_alike all[SPE_NR_ALIKE];
};

/** Mark counters at one of the two values that mean "at least". */
static inline void spe_mark_saturated(const uint16_t max[2], struct spe_record *ret)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < 3; i++)
		bits |= (unsigned int)(ret->counter[i] == max[0] || ret->counter[i] == max[1]) << i;
	ret->saturated = (uint8_t)bits;
}

/**
 * As spe_shapes_read(). Where ret->alike is set, the record is as that one's .first in all that
 * matters, and only offset, bytes, has, outcome and timestamp are its own, and set.
 */
bool spe_alike_read(struct spe_alike_set *a, const struct spe_shapes *s, const uint8_t *pos,
		    uint64_t offset, struct spe_record *ret);

/** Records that were counted in place of being items. */
struct spe_run {
	uint64_t last; /* timestamp of the record before; there is one */
	uint64_t nr, bytes, padding_bytes;
};

struct spe_window;

/** May a run begin? Where records differ, it is seldom tried. */
static inline bool spe_alike_may_run(struct spe_alike_set *a)
{
	if (a->nr_untried) {
		a->nr_untried--;
		return false;
	}
	return a->last != SPE_NR_ALIKE;
}

/** Count records from *at on, as far as they are alike ones, for the ticks that the consumer set.
 */
void spe_alike_run(struct spe_alike_set *a, const struct spe_shapes *s, const struct spe_window *w,
		   size_t *at, struct spe_run *run);

/** One of those with .many, which is left to the caller to take and zero. NULL: none is left. */
static inline struct spe_alike *spe_alike_collect(struct spe_alike_set *a)
{
	return a->nr_used ? &a->all[a->used[--a->nr_used]] : NULL;
}

/** A whole record in place of an item with .alike. */
static inline struct spe_record spe_alike_record(const struct spe_record *item)
{
	struct spe_record r = item->alike->first;

	r.offset = item->offset;
	r.timestamp = item->timestamp;
	return r;
}

#endif
