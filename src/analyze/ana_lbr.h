/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_LBR_H
#define ANALYZE_ANA_LBR_H

#include "analyze/analyze.h"
#include "who/who.h"

/*
 * Call chains with their user part in the branch stack: record --call-graph lbr, where the
 * processor keeps the calls that have not returned (PERF_SAMPLE_BRANCH_CALL_STACK). The kernel's
 * chain has its own part, and of the user's only the sampled address.
 */

/** Has @p e one? */
static inline bool ana_has_lbr(const struct ana_event *e)
{
	return e->sample->branches.nr && e->sample->callchain.nr &&
	       e->evsel->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

/**
 * *ret: the kernel's part up to the user mark, then where the last call went, then the calls, last
 * one first, as perf has it. Unless text has to be perf's, the sampled address stands before where
 * the last call went, and in its place if both are in one function. As it was where there is no
 * user mark. Calls are no return addresses. Valid until the next call.
 * @return CLEW_NO_MEMORY.
 */
enum clew_err ana_lbr_words(struct analyze *a, struct who_thread *t, const struct ana_event *e,
			    struct perf_words *ret);

#endif
