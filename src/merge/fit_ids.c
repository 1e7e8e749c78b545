/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "merge/guest_fit.h"

/* Spec: attribution.md, section 11.3, "Identity". */

static int64_t guest_time(const struct fit_line *line, int64_t host)
{
	int64_t g = host - line->offset;

	return host - fit_line_at(line, g);
}

/** The only run of @p id around guest time @p g. NULL: none, or several. */
static const struct fit_id_run *run_of(const struct fit_id_runs *runs, int64_t g, int64_t slack,
				       uint32_t id, bool *ret_is_known)
{
	size_t i = search_first(runs->nr, k, runs->data[k].from > g + slack), nr = 0;
	const struct fit_id_run *found = NULL;

	*ret_is_known = false;
	while (i-- && runs->data[i].to >= g - slack) {
		*ret_is_known = true;
		if (runs->data[i].id != id)
			continue;
		found = &runs->data[i];
		nr++;
	}
	return nr == 1 ? found : NULL;
}

static bool has_run(const struct fit_id_runs *runs, int64_t g, int64_t slack, uint32_t id)
{
	size_t i = search_first(runs->nr, k, runs->data[k].from > g + slack);

	while (i-- && runs->data[i].to >= g - slack) {
		if (runs->data[i].id == id)
			return true;
	}
	return false;
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
			const struct fit_id_run *run;
			bool is_known;

			if (g < p->from || g >= p->to)
				continue;
			run = run_of(runs, g, slack, id->id, &is_known);
			ret->nr += is_known;
			ret->nr_inside += is_known && has_run(runs, g, slack, id->id);
			if (run && !add_bounds(p, id, run, low, high))
				return false;
		}
	}
	return true;
}
