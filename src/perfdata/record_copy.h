/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_RECORD_COPY_H
#define PERFDATA_RECORD_COPY_H

#include <clew/time.h>

#include "perfdata/perf_features.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_writer.h"

/*
 * A recording written once more, by its records in the order in which they are played. Records
 * gather in out, where the caller may append some, too. Zeroed struct with a writer = nothing
 * written yet.
 */
struct record_copy {
	struct perf_writer *writer; /* owned */
	struct buf out;             /* records on their way to the writer */
	struct clew_perf_ns newest; /* of the records that no round has released; 0: none */
	uint64_t round_bytes;       /* written since the last FINISHED_ROUND */
	/* Times go back and forth: there are no rounds, and the reader sorts it all. */
	bool is_unordered;
};

void record_copy_done(struct record_copy *c);

/** The features of @p f that stay true of a copy: all but those of trace, compression and numbered
 * samples. EVENT_DESC is made of @p l. */
enum clew_err record_copy_features(struct record_copy *c, const struct perf_features *f,
				   const struct perf_evlist *l);

/**
 * Before a kernel record at @p time is appended; a @p time of 0 or unknown has no place in the
 * order. A reader sorts a record that is earlier than the one before, or a sample without a time
 * after records with one, to another place; two rounds before such a record release all that came
 * before. With is_unordered, only before samples without a time.
 */
enum clew_err record_copy_keep_order(struct record_copy *c, uint32_t type,
				     struct clew_perf_ns time);

/** Append @p r, with the misc the reader found to be true: other readers believe it. */
enum clew_err record_copy_add(struct record_copy *c, const struct perf_record *r);

/** After something was appended to out. */
enum clew_err record_copy_flush_much(struct record_copy *c);
enum clew_err record_copy_flush(struct record_copy *c);

/** A place where a round may end: any is right in a file in order. */
enum clew_err record_copy_end_round(struct record_copy *c);

#endif
