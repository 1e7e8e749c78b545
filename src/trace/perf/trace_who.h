/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_WHO_H
#define TRACE_PERF_TRACE_WHO_H

#include <clew/err.h>

#include "perfdata/perf_evlist.h"
#include "who/who_ids.h"

/* What the rule of who/who_ran.h is given of a recording. */

struct perf_trace;
struct who_stamp;

/** Does the recording have samples that it makes use of? Its events are known. */
bool trace_who_wants_samples(struct perf_trace *p);
/** A record of the kernel's, after the history took it. @p evsel: of its event; NULL: unknown. */
enum clew_err trace_who_take(struct perf_trace *p, const struct perf_record *r,
			     const struct perf_evsel *evsel, const struct who_stamp *at);
/** All records were read. */
enum clew_err trace_who_close(struct perf_trace *p);

#endif
