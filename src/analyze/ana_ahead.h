/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_AHEAD_H
#define ANALYZE_ANA_AHEAD_H

#include "analyze/ana_read.h"
#include "stitch/stitch.h"

struct ana_user;

/* A second reader goes ahead for the stacks. */

struct ana_ahead {
	struct stitch *stitch;
	struct perf_file *file;
	struct ana_reader reader;
	bool is_at_end;
};
enum clew_err ana_ahead_init(struct ana_ahead *d, const struct perf_file *first,
			     const struct perf_input *input, bool is_mapped);
/** The outcome of the sample with a cookie that is played now. */
enum clew_err ana_ahead_ask(struct ana_ahead *d, const struct perf_record *r, struct ana_user *ret);
void ana_ahead_done(struct ana_ahead *d);

#endif
