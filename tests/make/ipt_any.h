/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_IPT_ANY_H
#define TESTS_MAKE_IPT_ANY_H

#include "packet/pt/ipt_write.h"

/*
 * Random Intel PT packets, one after the other: any kind, any field, with no sense in their order.
 * For what has to hold for every stream. The same seed gives the same bytes.
 */
struct ipt_any {
	uint64_t random;
	uint64_t last_ip;
	uint8_t item_bytes; /* 0: not in a block of PEBS */
	bool is_after_overflow;
};

/** One packet more. @p ret: as it has to be read, but for its offset. */
void ipt_any_packet(struct ipt_any *a, struct buf *out, struct ipt_packet *ret);

/** PSB, then @p nr packets with, now and then, another PSB or (@p has_garbage) a few bytes of
 * anything. */
void ipt_any_stream(struct ipt_any *a, struct buf *out, size_t nr, bool has_garbage);

#endif
