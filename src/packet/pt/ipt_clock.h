/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_PT_IPT_CLOCK_H
#define PACKET_PT_IPT_CLOCK_H

#include "packet/pt/ipt_packet.h"

/*
 * The time of a trace, in ticks of the TSC: TSC packets have it; between them the crystal clock
 * (MTC) counts, in a phase that TMA gives, and the core's own cycles (CYC); CBR says how many of
 * them make a tick. Time goes back only at a PSB, by what was estimated too much: what follows it
 * does not depend on what came before.
 * Spec: Intel SDM volume 3, "Intel Processor Trace": "Tracing Time".
 */
struct ipt_clock {
	const struct ipt_config *config;
	uint64_t ticks; /* now; 0: no TSC came yet */

	uint64_t base;   /* when the crystal clock last had a whole period, as of TMA */
	uint64_t nr_ctc; /* ticks of the crystal clock since then */
	uint8_t last_mtc;
	bool has_tma, is_partial; /* is_partial: bits of last_mtc that TMA has not are unknown */
	bool has_tsc;             /* and what comes next may be its TMA */
	bool is_in_psb;

	uint64_t since;     /* ticks when cycles was 0 */
	uint64_t nr_cycles; /* of the core, since then */
	bool is_after_cyc;  /* CYC was the packet before */
	uint8_t cbr;        /* ratio of the core's clock to the bus; 0: unknown */
};

void ipt_clock_init(struct ipt_clock *c, const struct ipt_config *config);
/** Trace was lost: what TMA said holds no more. */
void ipt_clock_forget(struct ipt_clock *c);
/** The time near @p around of which a TSC packet has the @p low 56 bits. */
uint64_t ipt_clock_whole_tsc(uint64_t low, uint64_t around);
/** Any packet. @return whether the time is another one now. */
bool ipt_clock_take(struct ipt_clock *c, const struct ipt_packet *k);

#endif
