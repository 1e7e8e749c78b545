/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_STACK_INFO_H
#define PERFDATA_PERF_STACK_INFO_H

#include <clew/err.h>

#include "base/buf.h"
#include "base/bytes.h"

/*
 * What is known beyond their addresses of user stacks that stand in their
 * samples: the outcome of each, why it ends where it ends, and how its frames were found. It is
 * the content of the header feature PERF_FEAT_CLEW_STACKS, which other readers pass over;
 * docs/spec/perf-data.md has its bytes.
 */
struct perf_stack_info {
	uint8_t state, reason;  /* enum stitch_state, enum stitch_reason */
	uint8_t stop, why;      /* enum unw_stop, enum unw_why */
	uint8_t method;         /* of all frames but the first; PERF_DEFERRED_MIXED: see methods */
	uint32_t nr;            /* addresses in the chain that are the stack's; 0: it has none */
	uint32_t after;         /* words of the chain after the stack */
	const uint8_t *methods; /* a byte for each of nr frames, as perf_deferred_method(); NULL:
				   all alike */
};

/** Of the recording before its stacks were put into their samples. */
struct perf_stack_totals {
	uint64_t nr_samples; /* PERF_RECORD_SAMPLE, of any event */
	uint64_t nr_stacks, nr_unclaimed, nr_duplicates, nr_differing, nr_late; /* stitch.h */
};

/* --- writing, in the order of the samples in the file --- */

struct perf_stack_infos;
struct perf_stack_infos *perf_stack_infos_new(void);
void perf_stack_infos_free(struct perf_stack_infos *w);

/** The next sample. NULL: nothing is known of it. @return CLEW_NO_MEMORY: not taken. */
enum clew_err perf_stack_infos_add(struct perf_stack_infos *w, const struct perf_stack_info *info);

/** Samples that were omitted: the section had reached PERF_STACK_INFO_MAX. */
uint64_t perf_stack_infos_left_out(const struct perf_stack_infos *w);

enum { PERF_STACK_INFO_MAX = 256 << 20 };

/** Append the section to @p out; out->is_failed: memory ran short. From then on @p w can only be
 * freed. @p totals: nr_samples is ignored. */
void perf_stack_infos_finish(struct perf_stack_infos *w, const struct perf_stack_totals *totals,
			     struct buf *out);

/* --- reading, in the same order --- */

struct perf_stack_reader;

/**
 * @p section is borrowed for the reader's life. @return CLEW_OK; CLEW_UNSUPPORTED: of another
 * version; CLEW_BAD_FILE: no such section, or damaged; CLEW_NO_MEMORY.
 */
enum clew_err perf_stack_reader_new(struct perf_stack_reader **ret, struct bytes section);
void perf_stack_reader_free(struct perf_stack_reader *r);
const struct perf_stack_totals *perf_stack_reader_totals(const struct perf_stack_reader *r);

/**
 * Of the next sample. O(1) amortised; memory is that of one block, 4 MiB at most.
 * @return true: *ret is set; its methods live until the next call. false: nothing was recorded
 * about this sample.
 */
bool perf_stack_reader_next(struct perf_stack_reader *r, struct perf_stack_info *ret);

/** What the last call gave makes no sense. */
void perf_stack_reader_doubt(struct perf_stack_reader *r);

/** Something of the section was damaged, or memory ran short. */
bool perf_stack_reader_is_broken(const struct perf_stack_reader *r);

/** Samples asked for so far that a whole section would know: where it is broken, or ended
 * before the samples that it counts did. */
uint64_t perf_stack_reader_nr_unknown(const struct perf_stack_reader *r);

#endif
