/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_PT_IPT_CONFIG_H
#define PACKET_PT_IPT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a decoder of Intel PT has to know of the processor that made the trace.
 */

/** Errors of processors that a trace cannot show by itself; what the packets alone show
 * (a FUP in a PSB+ before TIP.PGE) is handled on all of them.
 * Spec: Intel specification updates, by the name that Intel gave to the first one. */
enum ipt_erratum {
	IPT_BDM64 = 1 << 0,  /* the target of the branch before a transaction's abort is wrong */
	IPT_SKD007 = 1 << 1, /* an overflow in the middle of a CYC, after its first byte */
	IPT_SKD010 = 1 << 2, /* after an overflow, the FUP may be missing */
	IPT_SKD022 = 1 << 3, /* a FUP too many before the TIP.PGD of a VM entry */
	IPT_SKL014 = 1 << 4, /* a direct branch out of a filter: TIP.PGD without an address */
	IPT_SKL168 = 1 << 5, /* CYC and MTC before a PSB may be missing */
	IPT_SKZ84 = 1 << 6,  /* TMA of a guest: reserved bits are set, and a byte follows */
	IPT_APL11 = 1 << 7,  /* OVF, TIP.PGD: tracing is off */
	IPT_APL12 = 1 << 8,  /* OVF, FUP though tracing is off */
};

/** How the clocks of the processor are related. */
struct ipt_timing {
	uint32_t numerator,
		denominator; /* ticks of the TSC for one of the crystal clock; 0: unknown */
	uint8_t mtc_shift;   /* MTC shows the crystal clock's bits from here on: 0 to 15 */
	uint8_t max_ratio;   /* of the TSC's clock to the bus; 0: unknown */
	uint64_t reference;  /* a TSC near the trace's, of which it shows 56 bits */
};

struct ipt_config {
	uint16_t errata;      /* enum ipt_erratum */
	bool has_event_trace; /* MODE.Exec has EFLAGS.IF */
	bool has_no_tnt;      /* conditional branches have no answer */
	bool has_no_branches; /* nor has any other; nothing says when tracing is on */
	struct ipt_timing timing;
};

/** Of a processor of Intel. @p model: 0x5e, extended model included. @return bits of enum
 * ipt_erratum; 0: none is known. */
uint16_t ipt_errata_of(unsigned int family, unsigned int model);

#endif
