/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_TRACING_DATA_H
#define RECORD_RUNNING_TRACING_DATA_H

#include "base/buf.h"
#include "record/plan/event_list.h"

/**
 * Append the content of the TRACING_DATA feature: how ftrace's header and each recorded
 * tracepoint's fields are laid out. @return false: no event is a tracepoint, nothing was added.
 *
 * Spec: trace-cmd's trace.dat.v6(5), sections up to the command lines; version 0.6.
 */
bool rec_tracing_data(struct buf *b, const struct rec_event_list *events);

#endif
