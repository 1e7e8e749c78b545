/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_SPE_ENCODE_H
#define TESTS_MAKE_SPE_ENCODE_H

#include "base/buf.h"
#include "packet/spe/spe_record.h"

/*
 * Records to bytes: from the description of the format, not from the reader. Only the struct that
 * both fill is shared.
 */

/** A packet of a header of one byte and @p bytes (0, 1, 2, 4, 8) of @p value. */
void spe_put(struct buf *out, uint8_t header, uint64_t value, unsigned int bytes);

/** Address or counter of an index up to 31; above 7, or with @p is_extended, by two header bytes.
 */
void spe_put_address(struct buf *out, unsigned int index, uint64_t value, bool is_extended);
void spe_put_counter(struct buf *out, unsigned int index, uint16_t value, bool is_extended);

/** How the same record may be written. */
struct spe_style {
	bool is_extended;      /* two header bytes where one is enough */
	uint8_t source_bytes;  /* 1, 2, 4, 8 */
	uint8_t other_address; /* with SPE_HAS_OTHER_ADDRESS: its index */
	uint8_t other_counter;
	uint8_t padding; /* bytes of it before the source or the end */
};

/** What r->has says, the PC first. */
void spe_put_record(struct buf *out, const struct spe_record *r, const struct spe_style *s);

/** Fields of a record as a core makes them, by chance. @p ts: 0, it ends with END. */
void spe_random_record(uint64_t *random, uint64_t ts, struct spe_record *ret,
		       struct spe_style *ret_style);

/** Are both the same, but for offset, bytes and saturated? */
bool spe_records_equal(const struct spe_record *a, const struct spe_record *b);

#endif
