/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_GUEST_FIT_H
#define MERGE_GUEST_FIT_H

#include "merge/fit_coarse.h"
#include "merge/fit_line.h"

/*
 * The offset between a host's clock and a guest's, from switches alone. The host wakes a vcpu's
 * thread, then the guest leaves its idle task: a lower bound of host - guest. The guest goes idle,
 * then the host blocks the thread: an upper bound. Where these do not find it, because the guest
 * does not idle or wakes late, it is looked for by containment (fit_stays.h).
 */

enum fit_verdict { FIT_NOT_FOUND, FIT_LIKELY, FIT_SURE };

struct fit_share {
	uint64_t nr_inside, nr; /* those that agree, of all */
};

/** A stretch of guest time with one offset, or with one that drifts: up to a pause. */
struct fit_piece {
	int64_t from, to; /* guest time, to exclusive; the first and the last one continue */
	struct fit_line line;
	struct fit_band bands[2];      /* at from and at to */
	uint32_t score, runner_up;     /* of fit_coarse() along the line */
	uint64_t nr_edges, nr_matched; /* idle tasks left, of which a wake-up was found */
	struct fit_share ids;          /* of threads in the host's trace, those that ran then */
	/* Of fit_gaps_hit(), here and with the runner-up: by stays, and where edges fit alike. */
	uint64_t gaps_hit, gaps_other;
	enum fit_verdict verdict;
};

struct fit_pieces {
	VEC(struct fit_piece); /* in order, without gaps that matter */
};

struct fit_opts {
	double per_us;     /* units of time in a microsecond */
	bool is_one_clock; /* both count one counter: no drift */
	bool has_offset;   /* this one is to be verified, none is looked for */
	int64_t offset;
	double slope;
};

struct fit_result {
	enum fit_verdict verdict;
	const char *why; /* FIT_NOT_FOUND: static words */
	struct fit_pieces pieces;
	uint64_t nr_edges, nr_matched;
	uint32_t score, runner_up;               /* of the piece where the runner-up is best */
	int64_t width;                           /* of the widest band */
	bool is_by_stays;                        /* found by containment */
	uint64_t gaps_hit, gaps_other;           /* the sum over pieces */
	struct fit_share ids;                    /* the sum over pieces */
	struct fit_share contained, best_random; /* under the fit, under 32 other offsets */
};

/** host - guest at guest time @p t; there is at least one piece. */
int64_t fit_offset_at(const struct fit_pieces *p, int64_t t);

/** @return CLEW_OK, also where nothing is found; CLEW_NO_MEMORY. */
enum clew_err guest_fit(const struct fit_host *host, const struct fit_guest *guest,
			const struct fit_opts *opts, struct fit_result *ret);
void fit_result_done(struct fit_result *r);

/** Of the guest's events where the host knows its vcpus' threads. @p slack: how far the offset is
 * uncertain: an event that close to a stay may be in it. */
struct fit_share fit_contained(const struct fit_host *host, const struct fit_pairs *pairs,
			       const struct fit_pieces *pieces, int64_t shift, int64_t slack);

/* --- parts, for guest_fit.c --- */

/**
 * Threads that the host's trace has at guest times in the piece's: each bounds the offset by when
 * the guest says that the thread ran there, if that is one run alone. @p slack: how far the piece's
 * line may be from the truth. Appends to @p low and @p high. @return false: out of memory.
 */
bool fit_ids_bounds(const struct fit_pairs *pairs, const struct fit_piece *p, int64_t slack,
		    struct fit_bounds *low, struct fit_bounds *high, struct fit_share *ret);
void fit_bounds_sort(struct fit_bounds *b);

/** Of the edges in guest time [from, to): bounds of the offset, near a line. */
struct fit_match {
	struct fit_bounds low, high;
	struct fit_times matched, unmatched; /* idle tasks left, in order */
	int64_t late;                        /* nine in ten wake-ups take no longer */
};

struct fit_near {
	int64_t before, after; /* how far a bound may be from the line, on its side and beyond */
	const struct fit_stays *holes; /* of the host: an edge there need have no match */
};

/** Is a part of [from, to] among what was lost? Its records may be missing. */
bool fit_is_in_hole(const struct fit_stays *holes, int64_t from, int64_t to);

/** @return false: out of memory. */
bool fit_match(const struct fit_pairs *pairs, int64_t from, int64_t to, const struct fit_line *line,
	       const struct fit_near *near, struct fit_match *ret);
/** The same of events and stays: an event is matched if it is in a stay, which bounds it. */
bool fit_match_stays(const struct fit_pairs *pairs, int64_t from, int64_t to,
		     const struct fit_line *line, const struct fit_near *near,
		     struct fit_match *ret);
void fit_match_done(struct fit_match *m);

#endif
