/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_PERFDATA_WALK_H
#define TESTS_PROP_PERFDATA_WALK_H

#include "perfdata/perf_file.h"

/** What a walk over a recording found. */
struct perf_walk {
	enum clew_err open_err; /* of perf_file_open() */
	enum clew_err end;      /* what perf_file_next() ended with: CLEW_END or an error */
	struct clew_diag diag;
	uint64_t nr_records, nr_samples, nr_bad; /* bad: refused by their parse function */
	uint64_t nr_features;
	uint64_t hash;    /* of all delivered bytes with their payloads, in file order */
	uint64_t nr_late; /* popped from the queue after a newer one */
	uint64_t nr_popped;
	bool is_over_budget; /* more records than the input can hold */
};

/**
 * Open @p file and use all that src/perfdata offers on it: every record through its parse function,
 * samples with all their runs read to the last word, trailers, the queue that orders records, and
 * every feature as its typed view. For tests that look for crashes, and fuzzers.
 *
 * @p chunk 0: the bytes as a mapped file; else through read() with at most that many bytes a call.
 */
void perf_walk(struct bytes file, size_t chunk, struct perf_walk *ret);

/** Every feature of @p f, each list to its end. @return how many sections were there. */
uint64_t perf_walk_features(const struct perf_features *f);

#endif
