/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_PT_IPT_HEADERS_H
#define PACKET_PT_IPT_HEADERS_H

#include "packet/pt/ipt_packet.h"

enum {
	IPT_EXTENDED = 0x02, /* the second byte says which packet */
	IPT_PSB_PAIRS = 8,   /* of 02 82 */
	IPT_PSB_BYTES = 2 * IPT_PSB_PAIRS,
	IPT_PSB_SECOND = 0x82,
	IPT_MNT_THIRD = 0x88,
	IPT_TNT_LONG = 0xa3, /* second byte */
	IPT_LONG_TNT_BYTES = 8,
	IPT_MAX_BYTES = 16,
	IPT_MAX_CYC_BYTES = 10,
};

struct ipt_header {
	uint8_t kind;  /* enum ipt_kind; 0: IPT_BAD */
	uint8_t bytes; /* of the whole packet; CYC, TRIG: at least */
};

/** By the first byte, outside a block of PEBS; that of IPT_EXTENDED is BAD. */
extern const struct ipt_header ipt_headers[256];
/** By the second byte, after IPT_EXTENDED. */
extern const struct ipt_header ipt_second[256];

/** The bytes of a PSB. */
extern const uint8_t ipt_psb[IPT_PSB_BYTES];

/** Bytes of an address by IPBytes; 0xff: reserved.
 * Spec: Intel SDM volume 3, "Intel Processor Trace", "IP Compression". */
extern const uint8_t ipt_address_bytes[8];

#endif
