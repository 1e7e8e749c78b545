/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_OWN_IDS_H
#define RECORD_OPEN_OWN_IDS_H

#include "record/open/target.h"

/**
 * Before anything is opened: what a reader needs to find the threads of a trace, or in a PID
 * namespace that is not the initial one, is recorded unless the user said no. Warns where a trace
 * would have root ids beside our own, or none.
 */
void rec_settle_ids(struct rec_options *o, struct rec_event_list *events,
		    const struct rec_target *t, const struct rec_ui *ui);

/**
 * What contexts in the trace of @p pmu are in a PID namespace that is not the initial one: a
 * sentence for a warning; NULL: no such trace. @p may_profile_kernel: as the kernel judges us.
 */
const char *rec_contexts_inside(const char *pmu, bool may_profile_kernel);

#endif
