/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_EVENTS_TRACE_STEPS_H
#define TRACE_EVENTS_TRACE_STEPS_H

#include "analyze/ana_steps.h"
#include "trace/events/trace_events_impl.h"

/*
 * What runs, as steps (analyze/ana_steps.h), for a consumer that takes them: branches, or each
 * instruction. An event of ours stands for all of a thread between two events of the flow.
 */

struct trace_steps;

/** *ret NULL: what is wanted cannot be made as steps. @return false: no memory. */
bool trace_steps_new(struct trace_steps **ret, const struct trace_events *e);
void trace_steps_free(struct trace_steps *t);

/** As trace_runs_take(), and makes the events. */
size_t trace_steps_take(struct trace_synth *s, const struct flow_batch *b, size_t i);

/** An event, if it can be one of a step. @return false: it cannot. */
bool trace_steps_emit(struct trace_synth *s, const struct synth_fields *f);
/** Before another event, or the end of the batch: that of the steps so far is complete. */
void trace_steps_close(struct trace_events *e);

/** Those of the batch that is being filled. */
const struct ana_step *trace_steps_all(const struct trace_steps *t, size_t *ret_nr);
/** The batch was delivered. */
void trace_steps_clear(struct trace_steps *t);

#endif
