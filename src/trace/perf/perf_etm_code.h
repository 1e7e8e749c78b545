/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_ETM_CODE_H
#define TRACE_PERF_PERF_ETM_CODE_H

#include "analyze/analyze.h"
#include "image/code_source.h"

/*
 * The code of a recording, as a code_source for each unit; places in it.
 *
 * A context names the thread, a timestamp or an AUX record the time. Both select an address space
 * with the mappings of that time (who/who_history.h). The kernel's code is from vmlinux or kcore,
 * modules are relocated, and patched code has versions (perf_etm_patches.h).
 */

struct perf_etm;

/** Space numbers: 4 * version + how to look beyond it. The first versions have no code at all: */
enum pe_no_code {
	PE_NO_THREAD, /* the owner of the code is unknown */
	PE_NO_PROCESS,
	PE_GUEST,
	PE_GUEST_UNKNOWN, /* unknown which guest's, */
	PE_GUEST_THREAD,  /* or which of its threads' */
	PE_FIRMWARE,
	PE_NOT_KEPT, /* later than the budget had room for */
	PE_NR_NO_CODE
};

struct pe_unit_code {
	struct perf_etm *owner;
	uint32_t unit;
	struct code_source source;
};

uint32_t pe_code_space(void *ctx, const struct code_key *key);
bool pe_code_find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret);
const char *pe_code_why(void *ctx, uint32_t space, uint64_t addr);
/** What runs at a level of the unit: is it a guest's? */
bool pe_is_guest(const struct perf_etm *p, uint32_t unit, uint8_t el, uint8_t upper_el,
		 bool has_vmid, uint32_t vmid);
const struct ana_loc *pe_code_locate(struct perf_etm *p, uint32_t space, uint64_t addr);

#endif
