/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_EVENT_EVENT_AUX_H
#define RECORD_EVENT_EVENT_AUX_H

#include "record/event/event_spell.h"

/*
 * Events that write a trace: what it is of little use without, and so on unless a term says
 * otherwise; and terms that the hardware does not have, which the kernel refuses without a word.
 */

/** Where @p pmu keeps the term @p name in attr.config; 0: it has no such term there. */
uint64_t event_aux_mask(const struct os_pmu *pmu, const char *name);

/** Before the terms. Nothing for an event that writes no trace. */
void event_aux_set(const struct os_pmu *pmu, struct rec_event *e);

/** After the terms. @return a code with a sentence that has the values to choose from. */
enum clew_err event_aux_check(struct event_parse *p, const struct os_pmu *pmu, struct rec_event *e);

/* The same of one kind of PMU. */
void event_intel_pt_set(const struct os_pmu *pmu, struct rec_event *e);
enum clew_err event_intel_pt_check(struct event_parse *p, const struct os_pmu *pmu,
				   const struct rec_event *e);
void event_cs_etm_set(const struct os_pmu *pmu, struct rec_event *e);
enum clew_err event_cs_etm_check(struct event_parse *p, const struct os_pmu *pmu,
				 const struct rec_event *e);

#endif
