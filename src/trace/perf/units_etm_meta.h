/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_UNITS_ETM_META_H
#define TRACE_PERF_UNITS_ETM_META_H

#include "base/vec.h"
#include "packet/etm/etm_config.h"
#include "perfdata/perf_record.h"

/* The trace units, as AUXTRACE_INFO and AUX_OUTPUT_HW_ID describe them. */

enum { ETM_MAX_CPUS = 1 << 16 };

struct etm_cpu {
	uint32_t cpu;
	bool is_etm3;
	struct etm_regs regs;
	int64_t ts_source; /* TRFCR.TS: 1 is the virtual counter; -1: unknown */
	bool has_id;       /* AUX_OUTPUT_HW_ID gave regs.traceidr, */
	uint32_t sink;     /* and maybe where it went; 0: unknown */
};

struct etm_meta {
	uint64_t version;
	bool has_ids; /* of some CPU */
	struct {
		VEC(struct etm_cpu);
	} cpus;
};

enum clew_err etm_meta_take_info(struct etm_meta *m, const struct perf_record *r,
				 const struct perf_auxtrace_info *info, struct clew_diag *diag);
/** Of an ID that is none, or another than before, nothing is taken. */
void etm_meta_take_hw_id(struct etm_meta *m, uint32_t cpu, uint64_t hw_id);
/** NULL: none. */
struct etm_cpu *etm_meta_cpu(const struct etm_meta *m, uint32_t cpu);

#endif
