/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/etm/etm_config.h"

#include <stddef.h>

/* TRCCONFIGR */
enum {
	CONFIG_INSTP0 = 3 << 1,
	CONFIG_BB = 1 << 3,
	CONFIG_CCI = 1 << 4,
	CONFIG_CID = 1 << 6,
	CONFIG_VMID = 1 << 7,
	CONFIG_COND = 7 << 8,
	CONFIG_TS = 1 << 11,
	CONFIG_RS = 1 << 12,
	CONFIG_VMIDOPT = 1 << 15,
	CONFIG_DATA = 3 << 16, /* DA, DV */
	IDR2_VMIDOPT_CHOICE = 1 << 29,
	IDR2_VMIDOPT_FIXED = 1 << 30,
	MIN_ID = 0x01,
	MAX_ID = 0x6f
};

static const char *why_unsupported(const struct etm_regs *r)
{
	if (r->configr & CONFIG_INSTP0)
		return "loads or stores are traced as P0 elements (TRCCONFIGR.INSTP0)";
	if (r->configr & CONFIG_COND)
		return "conditional instruction tracing (TRCCONFIGR.COND)";
	if (r->configr & CONFIG_DATA)
		return "data trace (TRCCONFIGR.DA, DV)";
	if (!r->is_ete && (r->idr1 >> 8 & 0xf) != 4)
		return "not an ETMv4 (TRCIDR1)";
	if (r->is_ete && (r->devarch >> 12 & 0xf) != 5)
		return "not an ETE (TRCDEVARCH)";
	return NULL;
}

/** TRCIDR2's sizes count in bytes. */
static uint8_t size_of(uint32_t code)
{
	return code == 1 || code == 2 || code == 4 ? (uint8_t)code : code ? 4 : 0;
}

/** Where TRCIDR2.VMIDOPT leaves no choice, TRCCONFIGR's bit is none. */
static bool vmid_is_cid2(const struct etm_regs *r, uint8_t version)
{
	if (r->idr2 & IDR2_VMIDOPT_CHOICE)
		return r->configr & CONFIG_VMIDOPT;
	return version >= 0x45 && r->idr2 & IDR2_VMIDOPT_FIXED;
}

enum clew_err etm_config_init(struct etm_config *ret, const struct etm_regs *r,
			      struct clew_diag *diag)
{
	const char *why = why_unsupported(r);
	struct etm_config c = {.regs = *r, .is_ete = r->is_ete, .id = r->traceidr & 0x7f};
	enum clew_err err = why ? CLEW_UNSUPPORTED : CLEW_OK;

	if (!why && (c.id < MIN_ID || c.id > MAX_ID)) {
		why = "a trace ID outside of 0x01 to 0x6f";
		err = CLEW_INVALID;
	}
	if (err) {
		if (diag)
			*diag = (struct clew_diag){.code = err, .what = why};
		return err;
	}
	if (r->is_ete)
		c.version = (uint8_t)(0x50 | (r->devarch >> 16 & 0xf));
	else
		c.version = (uint8_t)(0x40 | (r->idr1 >> 4 & 0xf));
	c.cid_bytes = size_of(r->idr2 >> 5 & 0x1f);
	c.vmid_bytes = size_of(r->idr2 >> 10 & 0x1f);
	if (c.version == 0x40 && c.vmid_bytes)
		c.vmid_bytes = 1; /* other sizes came with v4.1 */
	c.cc_bits = (uint8_t)((r->idr2 >> 25 & 0xf) + 12);
	c.max_spec = r->idr8 < ETM_MAX_SPEC ? r->idr8 : ETM_MAX_SPEC;
	c.has_commopt = r->idr0 >> 29 & 1 && r->idr0 >> 7 & 1;
	c.transactions_are_p0 = !(r->idr0 >> 30 & 1);
	c.has_q = r->idr0 >> 15 & 3;
	c.has_ts_marks = r->is_ete && c.version >= 0x51 && r->idr0 >> 23 & 1;
	c.has_return_stack = r->configr & CONFIG_RS;
	c.has_branch_broadcast = r->configr & CONFIG_BB;
	c.wfx_are_waypoints = r->idr2 >> 31 && c.version >= 0x43;
	c.has_cid = r->configr & CONFIG_CID;
	c.has_vmid = r->configr & CONFIG_VMID;
	c.vmid_is_cid2 = vmid_is_cid2(r, c.version);
	c.has_timestamps = r->configr & CONFIG_TS;
	c.has_cycle_counts = r->configr & CONFIG_CCI;
	*ret = c;
	return CLEW_OK;
}
