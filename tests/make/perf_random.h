/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_PERF_RANDOM_H
#define TESTS_MAKE_PERF_RANDOM_H

#include "base/arena.h"
#include "make/perf_build.h"

/*
 * Random but valid recordings: the same seed gives the same bytes on every machine. What the values
 * point to lives in the generator until perf_random_done().
 */
struct perf_random {
	uint64_t state; /* the seed */
	struct arena memory;
	bool big; /* order of the byte runs inside values */
};

uint64_t perf_random_u64(struct perf_random *r);

/** Uniform enough in [0, @p n); 0 for n == 0. */
uint64_t perf_random_below(struct perf_random *r, uint64_t n);

/** Any sample_type, read_format, branch_sample_type and register masks; sample_id_all mostly. */
void perf_random_attr(struct perf_random *r, struct perf_attr *ret);

/** A value for each field of @p attr's samples, @p time and @p id apart. */
void perf_random_sample(struct perf_random *r, const struct perf_attr *attr,
			struct perf_sample *ret);

/** A random record type that stands alone in a file, with a value for it. */
uint32_t perf_random_view(struct perf_random *r, union perf_view *ret);

/** A value for a record of @p type. */
void perf_random_view_of(struct perf_random *r, uint32_t type, union perf_view *ret);

struct perf_random_opts {
	struct perf_build_opts build;
	uint32_t nr_records;
	uint32_t compress_type; /* COMPRESSED, COMPRESSED2: about half of the records; 0: none */
	bool is_ordered; /* records come in rounds of several CPU buffers, each in time order */
};

/**
 * Fill @p b, which is empty, with events, features, and records; finish it yourself. The events
 * have their ids at a common place, as perf requires; attr of event 0 has sample_id_all.
 */
void perf_random_fill(struct perf_random *r, const struct perf_random_opts *opts,
		      struct perf_build *b);
void perf_random_done(struct perf_random *r);

#endif
