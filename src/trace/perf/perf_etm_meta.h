/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_ETM_META_H
#define TRACE_PERF_PERF_ETM_META_H

#include "base/vec.h"
#include "packet/etm/etm_config.h"
#include "perfdata/perf_record.h"

/* The trace units, as AUXTRACE_INFO and AUX_OUTPUT_HW_ID describe them. */

enum { PE_MAX_CPUS = 1 << 16 };

/** Which register the trace carries a thread's number in, if any. */
enum pe_pid_format { PE_PID_NONE, PE_PID_CID, PE_PID_CID2 };

struct pe_cpu {
	uint32_t cpu;
	bool is_etm3;
	struct etm_regs regs;
	int64_t ts_source; /* TRFCR.TS: 1 is the virtual counter; -1: unknown */
	bool has_id;       /* AUX_OUTPUT_HW_ID gave regs.traceidr, */
	uint32_t sink;     /* and maybe where it went; 0: unknown */
};

struct pe_meta {
	bool is_there;
	uint64_t version;
	bool has_ids; /* of some CPU */
	struct {
		VEC(struct pe_cpu);
	} cpus;
};

enum clew_err pe_meta_take_info(struct pe_meta *m, const struct perf_record *r,
				struct clew_diag *diag);
enum clew_err pe_meta_take_hw_id(struct pe_meta *m, uint32_t cpu, uint64_t hw_id);
struct pe_cpu *pe_meta_cpu(const struct pe_meta *m, uint32_t cpu);

#endif
