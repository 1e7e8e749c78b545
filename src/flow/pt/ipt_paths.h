/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_PT_IPT_PATHS_H
#define FLOW_PT_IPT_PATHS_H

#include "flow/pt/ipt_flow_impl.h"

/* Known paths, taken in one loop. */

enum {
	IPT_SCAN_PADS = 16, /* looked at after a packet */
	/* Read ahead, at most: twice a packet after padding. */
	IPT_SCAN_BYTES = FLOW_PATH_LETTERS + 3 * IPT_SCAN_PADS + 2 * 16,
};

/** What stands at a place of the trace: branches, and the address after them. */
struct ipt_piece {
	uint64_t key;
	uint64_t to;               /* FLOW_NO_ADDRESS: none */
	const uint8_t *address_at; /* the packet that has it, or whatever else comes */
	uint8_t nr_letters;
	uint8_t address_bytes; /* 0: none */
	uint8_t how;           /* FLOW_TO_UNTRACED: tracing ends there */
	bool is_long;          /* the letters are of one packet */
};

void ipt_scan_init(struct ipt_flow *f);

/** @p nr bytes of @p in were TNTs, addresses and padding. */
static inline void ipt_took(struct ipt_flow *f, struct bytes *in, size_t nr)
{
	in->pos += nr;
	f->packets.offset += nr;
	f->clock.is_after_cyc = false;
}

/** At @p pos, of which IPT_SCAN_BYTES can be read. The letters of a long TNT are in @p ret
 * already. */
void ipt_read_piece(const struct ipt_flow *f, const uint8_t *pos, struct ipt_piece *ret);

/** From block flow.at on: as far as paths are known, and do no more than to lead on. Tracing may
 * be off then. */
void ipt_scan(struct ipt_flow *f, struct bytes *in);

#endif
