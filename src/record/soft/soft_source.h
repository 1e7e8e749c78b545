/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_SOURCE_H
#define RECORD_SOFT_SOFT_SOURCE_H

#include "record/open/counters.h"
#include "record/plan/rec_ui.h"
#include "record/plan/source.h"

/**
 * The software trace source: for an event soft_pt, a process of ours steps the threads of the
 * target (docs/decisions/soft-trace.md), and their trace comes into the file as that of Intel PT,
 * one AUX area per thread. All is borrowed.
 * @return ops NULL: there is no such event, or a code with a sentence.
 */
enum clew_err soft_source_open(struct rec_source *ret, struct rec_counters *c,
			       const struct rec_options *o, const struct rec_ui *ui,
			       struct rec_error *error);

#endif
