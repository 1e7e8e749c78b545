/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "merge/guest_fit.h"

/* Spec: attribution.md, section 11.3, "Identity". */

static int64_t guest_time(const struct fit_line *line, int64_t host)
{
	int64_t g = host - line->offset;

	return host - fit_line_at(line, g);
}

/** The guest's runs that may be at one time: how many, how many of one thread, and one of these. */
struct runs_there {
	size_t nr, nr_of_id;
	const struct fit_id_run *of_id;
};

static struct runs_there runs_at(const struct fit_id_runs *runs, int64_t g, int64_t slack,
				 uint32_t id)
{
	size_t i = search_first(runs->nr, k, runs->data[k].from > g + slack);
	struct runs_there ret = {0};

	for (; i-- && runs->data[i].to >= g - slack; ret.nr++) {
		if (runs->data[i].id != id)
			continue;
		ret.of_id = &runs->data[i];
		ret.nr_of_id++;
	}
	return ret;
}

static bool add_bounds(const struct fit_piece *p, const struct fit_id *id,
		       const struct fit_id_run *run, struct fit_bounds *low,
		       struct fit_bounds *high)
{
	bool ok = true;

	if (run->from >= p->from && run->from < p->to)
		ok = vec_push(high, (struct fit_bound){run->from, id->at - run->from});
	if (run->to >= p->from && run->to < p->to)
		ok = ok && vec_push(low, (struct fit_bound){run->to, id->at - run->to});
	return ok;
}

bool fit_ids_bounds(const struct fit_pairs *pairs, const struct fit_piece *p, int64_t slack,
		    struct fit_bounds *low, struct fit_bounds *high, struct fit_share *ret)
{
	*ret = (struct fit_share){0};
	vec_for_each (pairs, pair) {
		const struct fit_id_runs *runs = &pair->guest->runs;

		vec_for_each (&pair->host->ids, id) {
			int64_t g = guest_time(&p->line, id->at);
			struct runs_there there;

			if (g < p->from || g >= p->to)
				continue;
			there = runs_at(runs, g, slack, id->id);
			ret->nr += there.nr > 0;
			ret->nr_inside += there.nr_of_id > 0;
			if (there.nr_of_id == 1 && !add_bounds(p, id, there.of_id, low, high))
				return false;
		}
	}
	return true;
}
