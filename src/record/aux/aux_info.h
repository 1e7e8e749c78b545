/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_INFO_H
#define RECORD_AUX_AUX_INFO_H

#include "base/buf.h"
#include "record/open/counters.h"

/** Append the AUXTRACE_INFO of the trace event @p e: what a decoder must know of the PMU.
 * Only of PMUs that are described (record/plan/aux_pmu.h). */
void rec_aux_info(const struct rec_counters *c, const struct rec_counter *e, struct buf *records);

#endif
