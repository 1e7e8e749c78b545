/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_READ_H
#define ANALYZE_ANA_READ_H

#include <clew/time.h>

#include "os/file.h"
#include "os/map_trail.h"
#include "perfdata/perf_file.h"
#include "perfdata/perf_order.h"

/* Records in the order in which they are played. */

/** Does the time give a record its place? 0 is none either. */
static inline bool ana_has_place(struct clew_perf_ns t)
{
	return t.ns && clew_perf_ns_is_known(t);
}

/** A record without a time: before all others. */
static inline struct clew_perf_ns ana_time_or_first(struct clew_perf_ns t)
{
	return clew_perf_ns_is_known(t) ? t : (struct clew_perf_ns){0};
}

struct os_map_ahead;

struct ana_reader {
	struct perf_file *file; /* borrowed */
	struct perf_order *order;
	struct os_map map; /* its pages are given back; data NULL: none */
	struct os_map_trail trail;
	struct os_map_ahead *ahead; /* does that in a thread; NULL: we do */
	struct progress *progress;  /* NULL: no one looks */
	struct perf_record mark;    /* FINISHED_ROUND, returned after what it releases */
	bool has_mark, is_draining;
	bool ignores_rounds; /* ana_reader_ignore_rounds() */
	bool skips_samples;  /* set by the user: they are neither ordered nor returned */
	enum clew_err end;   /* of the input */
	struct clew_diag why;
};

enum clew_err ana_reader_init(struct ana_reader *rd, struct perf_file *file,
			      const struct perf_input *input, bool is_mapped);
/**
 * Before the first record: order without the promise of FINISHED_ROUND, which recorders break that
 * read some rings late. Up to @p limit records wait; the marks are not returned.
 * @return CLEW_OK; CLEW_NO_MEMORY.
 */
enum clew_err ana_reader_ignore_rounds(struct ana_reader *rd, const struct perf_input *input,
				       uint64_t limit);
void ana_reader_done(struct ana_reader *rd);
/** The next record; the caller releases its block. @return as perf_file_next(), after all that was
 * whole. */
enum clew_err ana_reader_next(struct ana_reader *rd, struct perf_record *ret,
			      struct clew_perf_ns *ret_time, struct clew_diag *diag);

#endif
