/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_AUX_H
#define ANALYZE_ANA_AUX_H

#include "analyze/analyze.h"
#include "base/map_u64.h"
#include "base/vec.h"

/** What AUX records say of the trace of each CPU. Zeroed: nothing. */
struct ana_aux {
	struct map_u64 by_cpu; /* -> cpus */
	struct {
		VEC(struct ana_aux_cpu);
	} cpus;
	struct {
		VEC(struct ana_aux_gap);
	} gaps;
	struct map_u64 open; /* CPU -> its gap that no record has ended yet */
};

/** CLEW_OK; CLEW_BAD_FILE; CLEW_NO_MEMORY. */
enum clew_err ana_aux_take(struct ana_aux *x, const struct perf_record *r,
			   const struct perf_sample_id *id);
/** By CPU, gaps by time, too. */
void ana_aux_sort(struct ana_aux *x);
void ana_aux_done(struct ana_aux *x);

#endif
