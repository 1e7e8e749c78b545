/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_ANALYZE_MADE_H
#define TESTS_ANALYZE_MADE_H

#include "analyze/analyze.h"

/** Analyze a made recording. @p ret: without what lives as long as the analysis. */
static inline enum clew_err analyze_made(const struct perf_input *in, const struct ana_opts *opts,
					 struct ana_consumer consumer, struct ana_summary *ret)
{
	struct analyze *a;
	enum clew_err err = analyze_open(&a, in, opts, NULL);

	if (err != CLEW_OK)
		return err;
	err = analyze_run(a, &consumer, NULL);
	*ret = *analyze_summary(a);
	ret->unresolved = NULL;
	analyze_free(a);
	return err;
}

#endif
