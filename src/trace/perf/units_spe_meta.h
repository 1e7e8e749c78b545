/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_UNITS_SPE_META_H
#define TRACE_PERF_UNITS_SPE_META_H

#include <clew/err.h>

#include "base/vec.h"
#include "perfdata/perf_record.h"

/* The CPUs with SPE, as AUXTRACE_INFO describes them. */

struct spe_cpu {
	uint32_t cpu, midr;
	uint64_t event_filter; /* which events the core reports; 0: unknown */
};

struct spe_meta {
	uint64_t version;
	bool is_unknown; /* a newer version: nothing of it is taken */
	bool has_pmu_type;
	uint32_t pmu_type; /* attr.type of its events */
	struct {
		VEC(struct spe_cpu);
	} cpus; /* with SPE; of version 2 */
};

enum clew_err spe_meta_take_info(struct spe_meta *m, const struct perf_record *r,
				 const struct perf_auxtrace_info *info, struct clew_diag *diag);
/** NULL: not described. */
const struct spe_cpu *spe_meta_cpu(const struct spe_meta *m, uint32_t cpu);
/** What all CPUs have in common. @return false: their cores differ, or there are none. */
bool spe_meta_only(const struct spe_meta *m, uint32_t *ret_midr, uint64_t *ret_event_filter);

#endif
