/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_GUEST_FITS_H
#define PERFDATA_PERF_GUEST_FITS_H

#include "base/buf.h"
#include "base/vec.h"
#include "perfdata/perf_features.h"

/*
 * How certain the times of guests' records are in a merged recording: the content of the header
 * feature PERF_FEAT_CLEW_GUESTS, which other readers pass over; docs/spec/perf-data.md has its
 * bytes.
 */

enum perf_guest_verdict { PERF_GUEST_GIVEN, PERF_GUEST_LIKELY, PERF_GUEST_SURE };

/** A stretch of guest time with one offset, in ticks or ns. */
struct perf_guest_piece {
	uint64_t from, to;          /* guest time, to exclusive; the first and the last continue */
	uint64_t guest_at, host_at; /* a point of the line */
	double slope;               /* growth of host - guest in one unit of guest time */
	int64_t low[2], high[2];    /* the band around the line at from and at to */
	uint64_t nr_matched, nr_edges;
};

struct perf_guest_fit {
	uint32_t machine; /* the process that runs it */
	enum perf_guest_verdict verdict;
	bool is_ticks;
	const char *path; /* of its recording; borrowed */
	uint64_t band_ns; /* how far a time of its records may be from the truth, either way */
	uint64_t nr_inside, nr_events;
	struct {
		VEC(struct perf_guest_piece);
	} pieces;
};

/** Zeroed: none. Free with perf_guest_fits_done(). */
struct perf_guest_fits {
	struct {
		VEC(struct perf_guest_fit);
	} guests;
};

/** Texts are borrowed from @p f. @return CLEW_OK, also where there are none; CLEW_UNSUPPORTED: of
 * another version; CLEW_BAD_FILE: damaged; CLEW_NO_MEMORY. Then @p ret is empty. */
enum clew_err perf_guest_fits_parse(const struct perf_features *f, struct perf_guest_fits *ret);
void perf_guest_fits_done(struct perf_guest_fits *g);

/** Append the content. */
void perf_put_guest_fits(struct buf *b, const struct perf_guest_fits *g);

#endif
