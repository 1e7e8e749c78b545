/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_landmark.h"

#include "who/who_ran_impl.h"

struct pairing {
	struct who_run_cursor at;
	struct who_landmarks *to;
};

static bool push(struct pairing *p, const struct who_run *r)
{
	const struct who_landmark l = {r->id, r->end >= WHO_END_SLEEPS, r->from};

	return vec_push(p->to, l);
}

static bool is_thread(const struct who_run *r)
{
	return r->kind == WHO_RUN_THREAD && !r->is_sched;
}

/** Move to the run that holds @p time, or ends at it. */
static void move_to(struct pairing *p, struct clew_perf_ns time)
{
	while (p->at.has_next && p->at.next.from.ns < time.ns)
		who_runs_next(&p->at);
}

/** The run at the chunk's begin. Within a switch, the next one: its landmark came before. */
static const struct who_run *first_of(const struct pairing *p)
{
	const struct who_run *r = &p->at.run;

	if (r->kind == WHO_RUN_SWITCH && p->at.has_next)
		r = &p->at.next;
	return is_thread(r) ? r : NULL;
}

/**
 * Pair the switches that begin in [now, @p end). @return false: their number is not that of the
 * landmarks, or records were lost between them; *ret_ok false: no memory.
 */
static bool take_switches(struct pairing *p, const struct who_marked_chunk *c,
			  struct clew_perf_ns end, bool *ret_ok)
{
	uint32_t nr = 0;

	if (p->at.run.kind == WHO_RUN_HOLE)
		return false;
	for (; p->at.has_next && p->at.next.from.ns < end.ns; who_runs_next(&p->at)) {
		const struct who_run *r = &p->at.next;

		if (r->kind == WHO_RUN_HOLE || r->kind == WHO_RUN_NONE ||
		    (r->kind == WHO_RUN_THREAD && !is_thread(r)))
			return false;
		/* A switch has a landmark if a run follows it. */
		if (r->kind == WHO_RUN_THREAD && p->at.run.kind == WHO_RUN_SWITCH &&
		    p->at.run.from.ns >= c->first.ns) {
			if (nr++ == c->nr)
				return false;
			*ret_ok = push(p, r);
			if (!*ret_ok)
				return false;
		}
	}
	/* If the next chunk begins within a switch, either chunk may have its landmark. */
	if (nr < c->nr && p->at.run.kind == WHO_RUN_SWITCH && p->at.run.from.ns >= c->first.ns &&
	    p->at.has_next && is_thread(&p->at.next)) {
		nr++;
		*ret_ok = push(p, &p->at.next);
	}
	return *ret_ok && nr == c->nr;
}

static bool pair_one(struct pairing *p, struct who_marked_chunk *c, struct clew_perf_ns end)
{
	const struct who_run *first;
	bool is_ok = true;

	c->at = p->to->nr;
	c->is_paired = false;
	move_to(p, c->first);
	first = first_of(p);
	if (!first)
		return true;
	if (!push(p, first))
		return false;
	c->is_paired = take_switches(p, c, end, &is_ok);
	if (!c->is_paired)
		p->to->nr = c->at;
	return is_ok;
}

/** When the next chunk with a time begins. */
static struct clew_perf_ns end_of(const struct who_marked_chunk *chunks, size_t nr, size_t i)
{
	while (++i < nr) {
		if (clew_perf_ns_is_known(chunks[i].first))
			return chunks[i].first;
	}
	return clew_perf_ns_none();
}

bool who_landmarks_pair_line(const struct who_runs *line, struct who_marked_chunk *chunks,
			     size_t nr, struct who_landmarks *ret)
{
	struct pairing p = {.to = ret};

	if (!who_runs_first(line, &p.at))
		return true;
	for (size_t i = 0; i < nr; i++) {
		if (clew_perf_ns_is_known(chunks[i].first) &&
		    !pair_one(&p, &chunks[i], end_of(chunks, nr, i)))
			return false;
	}
	return true;
}

bool who_landmarks_pair(const struct who_ran *w, uint32_t cpu, struct who_marked_chunk *chunks,
			size_t nr, struct who_landmarks *ret)
{
	const uint64_t *at = map_u64_get(&w->by_cpu, cpu);

	if (!w->is_clock_usable || !at)
		return true;
	return who_landmarks_pair_line(&w->cpus.data[*at]->fold.runs, chunks, nr, ret);
}
