/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_FILTER_H
#define ANALYZE_ANA_FILTER_H

#include "analyze/analyze.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "who/who.h"

/* What the user asked for, parsed once. */
struct ana_filter_set {
	struct intern comms;
	struct map_u64 pids, tids, cpus;
	bool has_comms, has_pids, has_tids, has_cpus;
	struct clew_perf_ns from, to;
};

enum clew_err ana_filter_init(struct ana_filter_set *f, const struct ana_filter *opts,
			      struct clew_diag *diag);
bool ana_filter_keeps(struct ana_filter_set *f, const struct perf_sample *s,
		      const struct who_thread *t);
void ana_filter_done(struct ana_filter_set *f);

#endif
