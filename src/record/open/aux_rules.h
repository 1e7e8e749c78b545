/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_AUX_RULES_H
#define RECORD_OPEN_AUX_RULES_H

#include "record/open/counters.h"

/**
 * What the kernel would refuse without a reason, or accept though it can never act: events that
 * act on a trace, and traces themselves. Before anything is opened.
 * @return CLEW_INVALID with a sentence that names the event, the rule and a remedy.
 */
enum clew_err rec_aux_rules(const struct rec_counters *c, const struct rec_options *o,
			    struct rec_error *error);

/** Do the times of a trace need perf's own clock? Its times are the CPU's counter. */
bool rec_aux_has_own_clock(const struct rec_event *e);

/** What is allowed and of little use: a trace that starts paused and is never resumed. */
void rec_aux_warn(const struct rec_counters *c, const struct rec_ui *ui);

#endif
