/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_FIT_STAYS_H
#define MERGE_FIT_STAYS_H

#include "merge/fit_coarse.h"
#include "merge/fit_line.h"

/*
 * The offset by containment: what a guest records is at times when the thread of its virtual CPU
 * ran. That needs no guest that idles, and a wake-up that takes long does no harm; it needs a host
 * that has other things to do, too.
 */

enum { FIT_NR_TOPS = 8 };

/** Where most events are in a stay: the best first, none near another one. */
struct fit_tops {
	int64_t from, to; /* guest times that were looked at */
	struct fit_top {
		int64_t offset;
		uint32_t score; /* events inside; 0: there is none */
	} tops[FIT_NR_TOPS];
};

struct fit_coarse_opts {
	double slope;  /* as of fit_coarse() */
	int64_t width; /* of a bin: up to twice this */
	int64_t near;  /* offsets that close are one */
	int64_t span;  /* of a window, at most: drift blurs longer ones */
	const struct fit_stays *holes;
};

/**
 * Over guest times in [from, to): windows of consecutive events at several places, the clearest of
 * which counts. Cost: O(events * stays), which is limited. @return CLEW_NO_MEMORY.
 */
enum clew_err fit_coarse_stays(const struct fit_pairs *pairs, int64_t from, int64_t to,
			       const struct fit_coarse_opts *opts, struct fit_tops *ret);

/** Of offsets that differ from @p line by @p reach at most, move it to where most events in
 * [from, to) are in a stay. @return CLEW_NO_MEMORY. */
enum clew_err fit_fine_stays(const struct fit_pairs *pairs, const struct fit_stays *holes,
			     int64_t from, int64_t to, int64_t reach, struct fit_line *line);

struct fit_where {
	enum { FIT_INSIDE, FIT_OUTSIDE, FIT_UNKNOWN } is; /* unknown: records may be missing */
	const struct fit_stay *stay;                      /* inside */
	size_t next;                                      /* outside: of the stay after it */
};

/** Host time @p t is inside of a stay that it misses by @p slack at most. */
struct fit_where fit_stays_at(const struct fit_stays *s, const struct fit_stays *holes, int64_t t,
			      int64_t slack);

/** Along @p line moved by @p shift, of what the guest recorded in [from, to): in how many gaps
 * between two stays something is. A gap counts once, however much is in it. */
uint64_t fit_gaps_hit(const struct fit_pairs *pairs, const struct fit_stays *holes, int64_t from,
		      int64_t to, const struct fit_line *line, int64_t shift, int64_t slack);

#endif
