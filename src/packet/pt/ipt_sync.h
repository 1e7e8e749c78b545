/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_PT_IPT_SYNC_H
#define PACKET_PT_IPT_SYNC_H

#include "packet/pt/ipt_packet.h"

/*
 * Where decoding can begin: PSB+, and what it says. Found by its pattern, so that nothing between
 * two of them is decoded.
 * Spec: Intel SDM volume 3, "Intel Processor Trace": "Packet Stream Boundary (PSB) Packet".
 */

enum { /* ipt_sync.has: packets of the PSB+ */
       IPT_SYNC_TSC = 1 << 0,
       IPT_SYNC_CBR = 1 << 1,
       IPT_SYNC_MODE = 1 << 2, /* MODE.Exec */
       IPT_SYNC_PIP = 1 << 3,
       IPT_SYNC_VMCS = 1 << 4,
       IPT_SYNC_ON = 1 << 5,     /* FUP, and no TIP.PGE follows: something is traced there */
       IPT_SYNC_BRANCH = 1 << 6, /* after it comes a TNT or TIP* packet, before the next PSB */
       IPT_SYNC_ALL = (1 << 7) - 1
};

struct ipt_sync {
	size_t at;    /* of the PSB in the input */
	uint64_t tsc; /* bits 55:0; 0 without IPT_SYNC_TSC */
	uint64_t ip;  /* of the FUP; 0 without IPT_SYNC_ON */
	size_t ip_at; /* of the FUP in the input */
	uint8_t has;
};

/** The first whole PSB+ of @p in that begins at @p from or later. @return false: there is none.
 * O(n), by memmem. Any bytes may be fed. */
bool ipt_sync_find(const struct ipt_config *config, struct bytes in, size_t from,
		   struct ipt_sync *ret);

#endif
