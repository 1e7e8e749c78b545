/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_IPT_PACKETS_USE_H
#define TESTS_PROP_IPT_PACKETS_USE_H

#include "packet/pt/ipt_packet.h"

/**
 * Decode @p in whole and in pieces of @p piece bytes (0: of random sizes): the packets are the
 * same, follow each other without a gap, and every byte is in one.
 * @return NULL, or what does not hold.
 */
const char *ipt_packets_use(const struct ipt_config *c, struct bytes in, size_t piece,
			    uint64_t *ret_nr);

#endif
