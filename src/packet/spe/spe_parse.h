/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_PARSE_H
#define PACKET_SPE_SPE_PARSE_H

#include "packet/spe/spe_record.h"

/* One record, strictly, packet by packet. The plain way, which the shapes have to agree with. */

enum spe_parsed {
	SPE_PARSED,
	SPE_NEEDS_MORE,   /* the bytes end inside, well formed so far */
	SPE_NOT_A_RECORD, /* ret->damage says why */
};

/**
 * Read the record at @p pos, which is no padding. Every field of *ret but saturated is set;
 * ret->bytes is what was read: of SPE_NOT_A_RECORD up to the packet that is wrong.
 */
enum spe_parsed spe_record_parse(const uint8_t *pos, size_t left, uint64_t offset,
				 struct spe_record *ret);

#endif
