/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_RESYNC_H
#define PACKET_SPE_SPE_RESYNC_H

#include "packet/spe/spe_record.h"

/*
 * Where a record begins after damage. Nothing in the format is unique, so a place is accepted if
 * three records in a row can be read from it. docs/decisions/spe.md
 */

/** Bytes of a range that lie side by side. */
struct spe_window {
	const uint8_t *bytes;
	size_t nr;
	uint64_t offset;
	bool is_last; /* the range ends with it */
};

enum {
	/* Bytes before a place that decide whether a record can begin there. */
	SPE_BEFORE_RECORD = 9,
	SPE_EPOCH_BITS = 40, /* times of one range are closer */
};

/** Not where a counter of 56 or 64 bits began again at 0 between them. */
static inline bool spe_times_far(uint64_t a, uint64_t b)
{
	uint64_t least = a < b ? a : b, most = a < b ? b : a;
	uint64_t epoch = most >> SPE_EPOCH_BITS;

	if (!((most - least) >> SPE_EPOCH_BITS))
		return false;
	return least >> SPE_EPOCH_BITS || (epoch != UINT64_MAX >> 8 >> SPE_EPOCH_BITS &&
					   epoch != UINT64_MAX >> SPE_EPOCH_BITS);
}

size_t spe_gap_end_slow(const struct spe_window *w, size_t at, size_t limit);

/**
 * The end of the padding and alignment at @p at. An alignment that the window cuts is not passed.
 * @p limit: not to be looked at.
 */
static inline size_t spe_gap_end(const struct spe_window *w, size_t at, size_t limit)
{
	if (at < limit && w->bytes[at] && (w->bytes[at] & 0xfc) != 0x20)
		return at;
	return spe_gap_end_slow(w, at, limit);
}

enum spe_look {
	SPE_LOOK_RECORD,
	SPE_LOOK_END, /* of the range, maybe inside a record; or of the records: long padding */
	SPE_LOOK_BAD,
	SPE_LOOK_MORE, /* the window does not say */
};

/** Read the next record after padding; *at becomes its end. */
enum spe_look spe_look(const struct spe_window *w, size_t *at, struct spe_record *ret);

/**
 * Search a record from *at on, which becomes the place, or the range's end where there is none.
 * What is at @p from or after it, up to SPE_BEFORE_RECORD bytes before *at, is in the window, and
 * decides whether a record can begin at a place. One can at @p from itself.
 * @return false: the window does not say; *at is where to continue with more.
 */
bool spe_find_record(const struct spe_window *w, uint64_t from, size_t *at);

#endif
