/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "merge/fit_stays.h"
#include "merge/guest_fit.h"

int64_t fit_offset_at(const struct fit_pieces *p, int64_t t)
{
	size_t i = search_first(p->nr, k, p->data[k].from > t);

	return fit_line_at(&p->data[i ? i - 1 : 0].line, t);
}

bool fit_is_in_hole(const struct fit_stays *holes, int64_t from, int64_t to)
{
	size_t i = search_first(holes->nr, k, holes->data[k].in > to);

	/* Those before begin in time; ends of holes of several CPUs are in no order. */
	for (size_t n = 0; i-- && n < 64; n++) {
		if (holes->data[i].out >= from)
			return true;
	}
	return false;
}

static void count_event(const struct fit_stays *s, const struct fit_stays *holes, int64_t t,
			int64_t slack, struct fit_share *ret)
{
	struct fit_where w = fit_stays_at(s, holes, t, slack);

	ret->nr_inside += w.is == FIT_INSIDE;
	ret->nr += w.is != FIT_UNKNOWN;
}

struct fit_share fit_contained(const struct fit_host *host, const struct fit_pairs *pairs,
			       const struct fit_pieces *pieces, int64_t shift, int64_t slack)
{
	struct fit_share ret = {0};

	vec_for_each (pairs, p) {
		vec_for_each (&p->guest->events, g)
			count_event(&p->host->stays, &host->holes,
				    *g + fit_offset_at(pieces, *g) + shift, slack, &ret);
	}
	return ret;
}
