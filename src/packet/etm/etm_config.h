/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_ETM_ETM_CONFIG_H
#define PACKET_ETM_ETM_CONFIG_H

#include <stdbool.h>

#include <clew/err.h>

/*
 * What a decoder has to know of one trace unit, from its ID registers and TRCCONFIGR.
 * Spec: IHI 0064 (ETMv4) and DDI 0487 (ETE), register descriptions; defaults as documented in
 * docs/spec/coresight.md.
 */
struct etm_regs {
	uint32_t configr, traceidr;
	uint32_t idr0, idr1, idr2, idr8; /* idr1 of ETMv4, */
	uint32_t devarch;                /* this of ETE */
	bool is_ete;
};

struct etm_config {
	struct etm_regs regs;
	uint8_t id;      /* trace ID, 0x01-0x6f */
	uint8_t version; /* major << 4 | minor: 0x40-0x46, ETE 0x50, 0x51, 0x53 */
	bool is_ete;
	bool is_m_profile;             /* of the core: no register says so, the caller sets it */
	uint8_t cid_bytes, vmid_bytes; /* 0, 1, 2, 4 */
	uint8_t cc_bits;               /* a cycle count's */
	uint32_t max_spec; /* P0 elements that may wait uncommitted, capped at ETM_MAX_SPEC */
	bool has_commopt;  /* cycle counts carry no commits */
	bool transactions_are_p0, has_q, has_ts_marks, has_return_stack, has_branch_broadcast;
	bool wfx_are_waypoints;
	bool has_cid, has_vmid; /* context packets carry them */
	bool vmid_is_cid2;      /* the VMID field holds CONTEXTIDR_EL2 */
	bool has_timestamps, has_cycle_counts;
};

enum { ETM_MAX_SPEC = 4096 };

/** @return CLEW_UNSUPPORTED (diag.what: data trace, conditional instruction tracing, loads and
 * stores as P0, an ETMv3), CLEW_INVALID (a trace ID outside 0x01-0x6f). */
enum clew_err etm_config_init(struct etm_config *ret, const struct etm_regs *regs,
			      struct clew_diag *diag);

#endif
