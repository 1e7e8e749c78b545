/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_GUEST_FIT_IMPL_H
#define MERGE_GUEST_FIT_IMPL_H

#include "merge/fit_stays.h"
#include "merge/guest_fit.h"

/* Shared by the files of guest_fit(). */

enum { FIT_BIN_US = 64, FIT_NEAR_US = 2000 };

struct fit {
	const struct fit_host *host;
	const struct fit_opts *opts;
	bool is_by_stays; /* by events in stays, else by edges of the idle task */
	struct fit_pairs pairs;
	struct fit_match match;
	struct fit_near near;
	struct fit_peak nearest; /* of those that became no piece; score 0: none */
	struct fit_result *ret;
};

static inline int64_t fit_us(const struct fit *f, int64_t n)
{
	int64_t v = (int64_t)((double)n * f->opts->per_us);

	return v > 2 ? v : 2;
}

/** Of its band, where that is wider. */
static inline int64_t fit_width(const struct fit_piece *p)
{
	int64_t a = p->bands[0].high - p->bands[0].low, b = p->bands[1].high - p->bands[1].low;

	return a > b ? a : b;
}

/** How clear it is, along its line, and its verdict. */
enum clew_err fit_judge_piece(struct fit *f, struct fit_piece *p);
/** Of all pieces. */
enum clew_err fit_conclude(struct fit *f);
/** There is no piece: count its edges, and say why. */
void fit_conclude_none(struct fit *f);

#endif
