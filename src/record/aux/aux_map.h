/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_MAP_H
#define RECORD_AUX_AUX_MAP_H

#include "record/open/counters.h"
#include "record/plan/rec_ui.h"

/**
 * Map the AUX areas of the rings that belong to a trace event. The kernel overwrites an area that
 * is only sampled (aux-sample-size): its bytes come in the samples. @return CLEW_OS with a
 * sentence.
 */
enum clew_err rec_aux_map(struct rec_counters *c, const struct rec_options *o,
			  const struct rec_ui *ui, struct rec_error *error);

/** Do samples carry the trace of @p trace (aux-sample-size)? */
bool rec_aux_is_sampled(const struct rec_counters *c, const struct rec_counter *trace);

#endif
