/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_ALIKE_H
#define PACKET_SPE_SPE_ALIKE_H

#include "packet/spe/spe_record.h"

/*
 * Records that are counted need not be read: one with the bytes of an earlier one, but for what
 * does not matter, is recognised by them, and only its time is read.
 */

enum { SPE_NR_ALIKE = 512, SPE_ALIKE_WORDS = 8 };

struct spe_alike {
	uint64_t value[SPE_ALIKE_WORDS]; /* bytes that matter */
	uint64_t used_in; /* spe_alike_set.nr_takes of the last item that points here */
	uint8_t shape;    /* number + 1; 0: unused */
	struct spe_record first;
	/* The consumer's: where the last of them was counted, and what that holds for. */
	struct {
		const void *by;
		uint64_t generation, from, ticks;
		uint32_t entry;
	} counted;
};

/** Of one reader. Zeroed, but for .care. Some 170 KiB. */
struct spe_alike_set {
	uint64_t care[SPE_NR_FIELDS]; /* bits of the payloads that matter */
	uint16_t counter_max[2];      /* the reader's */
	uint64_t nr_takes, nr_met;
	uint32_t nr_missed, nr_paused; /* records: see spe_alike.c */
	uint8_t nr_shapes;
	struct {
		uint64_t mask[SPE_ALIKE_WORDS]; /* headers and .care, at their places */
		bool is_long;                   /* beyond these words: always read */
	} shapes[SPE_NR_SHAPES];
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

/** A whole record in place of an item with .alike. */
static inline struct spe_record spe_alike_record(const struct spe_record *item)
{
	struct spe_record r = item->alike->first;

	r.offset = item->offset;
	r.timestamp = item->timestamp;
	return r;
}

#endif
