/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_STITCH_H
#define ANALYZE_ANA_STITCH_H

#include "perfdata/perf_file.h"
#include "stitch/stitch.h"

/* Records into the stitch. */
struct stitch *ana_stitch_new(const struct perf_input *input, uint64_t age_ns);
/** A sample that waits for a stack: which? */
bool ana_stitch_key(struct perf_file *file, const struct perf_record *r, uint32_t *ret_tid,
		    uint64_t *ret_cookie);
/** Any other record: a stack, or what ends a task's entry. */
enum clew_err ana_stitch_record(struct stitch *stitch, struct perf_file *file,
				const struct perf_record *r, struct clew_perf_ns time);
/** The stack of a CALLCHAIN_DEFERRED record, borrowed from its bytes. @return false: not
 * understood, or of no event. */
bool ana_stack_of_record(struct perf_file *file, const struct perf_record *r,
			 struct stitch_stack *ret, uint32_t *ret_tid, uint64_t *ret_cookie);
/** Position of the mark of deferral; false: none. */
bool ana_find_mark(const struct perf_words *chain, uint32_t *ret);

#endif
