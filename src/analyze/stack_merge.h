/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_STACK_MERGE_H
#define ANALYZE_STACK_MERGE_H

#include "perfdata/perf_file.h"
#include "perfdata/perf_writer.h"

/*
 * Puts deferred user stacks into their samples, so that readers that do not know of records of
 * their own for these (perf before 6.19, hotspot, and others) see whole call chains. Which stack is
 * which sample's is found as by the reports (ana_ahead.c); where a sample has none, the reason is
 * kept (perfdata/perf_stack_info.h). Records are written in the order in which they are played.
 * docs/decisions/merged-stacks.md
 */
#define STACK_MERGE_PHASE "merging stacks" /* reported to in->progress, in bytes of the input */

struct stack_merge_opts {
	/** Asked now and then; false ends the pass with CLEW_STOPPED. NULL: never stop. */
	bool (*goes_on)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
	void *ctx;
};

struct stack_merge_counts {
	uint64_t nr_samples;
	uint64_t nr_marked;   /* of these, that were to get a stack or say why not */
	uint64_t nr_merged;   /* of these, that got one */
	uint64_t nr_cut;      /* of these, cut: the record had no room for all frames */
	uint64_t nr_left_out; /* samples without room for their outcome: perf_stack_infos_left_out()
			       */
	struct clew_diag end; /* CLEW_TRUNCATED: the input was cut at offset; what is whole was
				 written */
};

/** Does some event defer its user stacks to separate records? False also for what is no recording,
 * and for the content of a pipe. */
bool stack_merge_is_deferred(const struct perf_input *in);

/**
 * Write @p in once more, merged; compressed where it was. @p in: mapped (data), of a file or of
 * what a pipe brought; @p out: file mode, its sink at offset 0.
 *
 * @return CLEW_OK, also for an input that was cut; CLEW_UNSUPPORTED: of the other byte order, or
 * read from a stream; CLEW_STOPPED; as perf_file_open(), perf_file_next(); CLEW_NO_MEMORY; the
 * sink's error. On failure what was written is of no use. Cost: O(bytes), reads them twice. Memory
 * as for a report, and at most PERF_STACK_INFO_MAX.
 */
enum clew_err stack_merge(const struct perf_input *in, const struct perf_writer_out *out,
			  const struct stack_merge_opts *opts, struct stack_merge_counts *ret,
			  struct clew_diag *diag);

#endif
