/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
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

static bool is_known(const struct fit_stays *s, const struct fit_stays *holes, size_t i, int64_t t)
{
	int64_t from = i ? s->data[i - 1].out : t;
	int64_t to = i < s->nr ? s->data[i].in : t;

	/* The IN or OUT that would contain the time may be among those. */
	return !fit_is_in_hole(holes, from, to);
}

static void count_event(const struct fit_stays *s, const struct fit_stays *holes, int64_t t,
			int64_t slack, struct fit_share *ret)
{
	size_t i;

	if (!s->nr || t < s->data[0].in || t > s->data[s->nr - 1].out)
		return;
	i = search_first(s->nr, k, s->data[k].in > t);
	if ((i && t - slack <= s->data[i - 1].out) || (i < s->nr && t + slack >= s->data[i].in)) {
		ret->nr_inside++;
		ret->nr++;
	} else {
		ret->nr += is_known(s, holes, i, t);
	}
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
