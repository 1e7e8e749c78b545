/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_intervals.h"

#include <stdlib.h>

#include "base/search.h"

enum { CPU_BITS = 20, EVENT_BITS = 12, MAX_AUX_EVENTS = 16 };

/* What is too large for its bits is as good as unknown. */
static uint64_t limited(uint32_t value, unsigned int bits)
{
	uint32_t max = (1u << bits) - 1;

	return value < max ? value : max;
}

static uint64_t key_of(uint32_t aux_event, uint32_t tid, uint32_t cpu)
{
	return (uint64_t)tid << 32 | limited(cpu, CPU_BITS) << EVENT_BITS |
	       limited(aux_event, EVENT_BITS);
}

uint32_t ana_intervals_find(const struct ana_intervals *x, uint32_t aux_event, uint32_t tid,
			    uint32_t cpu)
{
	const uint64_t *at = map_u64_get(&x->by_key, key_of(aux_event, tid, cpu));

	return at ? (uint32_t)*at : ANA_TRACED_NONE;
}

static bool has_room(struct ana_intervals *x, size_t nr, size_t max, size_t bytes)
{
	if (nr < max && budget_account_take(&x->account, bytes, "intervals of tracing in"))
		return true;
	x->nr_omitted++;
	return false;
}

static void omit(struct ana_intervals *x, struct clew_perf_ns from)
{
	if (!x->omitted_from.ns || from.ns < x->omitted_from.ns)
		x->omitted_from.ns = from.ns ? from.ns : 1;
}

/* --- which states of a thread are on: a list of each AUX event --- */

static uint64_t list_of(const struct ana_traced *t)
{
	return (uint64_t)t->tid << 32 | t->aux_event;
}

static uint32_t first_on(const struct ana_intervals *x, uint64_t list)
{
	const uint64_t *at = map_u64_get(&x->on, list);

	return at ? (uint32_t)*at : ANA_TRACED_NONE;
}

static bool turn_on(struct ana_intervals *x, uint32_t of)
{
	struct ana_traced *t = &x->traced.data[of];

	t->is_on = true;
	if (t->tid == ANA_TRACED_NONE)
		return true;
	t->next_on = first_on(x, list_of(t));
	if (t->next_on != ANA_TRACED_NONE)
		x->traced.data[t->next_on].previous_on = of;
	t->previous_on = ANA_TRACED_NONE;
	return map_u64_put(&x->on, list_of(t), of);
}

static void turn_off(struct ana_intervals *x, struct ana_traced *t)
{
	uint64_t *first = t->is_on ? map_u64_get(&x->on, list_of(t)) : NULL;

	t->is_on = false;
	if (!first)
		return;
	if (t->previous_on != ANA_TRACED_NONE)
		x->traced.data[t->previous_on].next_on = t->next_on;
	else
		*first = t->next_on;
	if (t->next_on != ANA_TRACED_NONE)
		x->traced.data[t->next_on].previous_on = t->previous_on;
}

/* --- intervals --- */

static bool open_interval(struct ana_intervals *x, uint32_t of, struct clew_perf_ns from)
{
	struct ana_traced *t = &x->traced.data[of];
	const struct ana_interval i = {
		.from = from, .to = clew_perf_ns_none(), .traced = of, .older = t->newest};

	if (!turn_on(x, of))
		return false;
	/* Sorting takes as much again. */
	t->is_omitted = !has_room(x, x->all.nr, ANA_INTERVALS_MAX, 3 * sizeof(i));
	if (t->is_omitted) {
		omit(x, from);
		return true;
	}
	if (!vec_push(&x->all, i))
		return false;
	t->newest = (uint32_t)x->all.nr - 1;
	return true;
}

static bool is_known_event(const struct ana_intervals *x, uint32_t aux_event)
{
	vec_for_each (&x->aux_events, e)
		if (*e == aux_event)
			return true;
	return false;
}

static bool add_traced(struct ana_intervals *x, const struct ana_traced *t)
{
	uint32_t number = (uint32_t)x->traced.nr;

	return (is_known_event(x, t->aux_event) || vec_push(&x->aux_events, t->aux_event)) &&
	       vec_push(&x->traced, *t) &&
	       map_u64_put(&x->by_key, key_of(t->aux_event, t->tid, t->cpu), number);
}

static bool has_room_for(struct ana_intervals *x, const struct ana_traced *t)
{
	size_t max = x->aux_events.nr < MAX_AUX_EVENTS || is_known_event(x, t->aux_event)
			   ? ANA_TRACED_MAX
			   : 0;

	return has_room(x, x->traced.nr, max, 2 * (sizeof(*t) + BUDGET_TABLE_BYTES));
}

bool ana_intervals_of(struct ana_intervals *x, uint32_t aux_event, uint32_t tid, uint32_t cpu,
		      bool starts_paused, uint32_t *ret)
{
	const struct ana_traced t = {
		.aux_event = aux_event, .tid = tid, .cpu = cpu, .newest = ANA_TRACED_NONE};

	*ret = ana_intervals_find(x, aux_event, tid, cpu);
	if (*ret != ANA_TRACED_NONE)
		return true;
	if (!has_room_for(x, &t)) {
		omit(x, x->last);
		return true;
	}
	if (!add_traced(x, &t))
		return false;
	*ret = (uint32_t)x->traced.nr - 1;
	return starts_paused || open_interval(x, *ret, (struct clew_perf_ns){0});
}

static void note_time(struct ana_intervals *x, struct clew_perf_ns time)
{
	if (clew_perf_ns_is_known(time) && time.ns > x->last.ns)
		x->last = time;
}

bool ana_intervals_resume(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time)
{
	struct ana_traced *t = &x->traced.data[of];

	note_time(x, time);
	t->nr_resumes++;
	t->nr_unpaired += t->is_on;
	return t->is_on || open_interval(x, of, time);
}

static void end_interval(struct ana_intervals *x, struct ana_traced *t, struct clew_perf_ns time,
			 enum ana_interval_end end)
{
	bool is_kept = t->is_on && !t->is_omitted && t->newest != ANA_TRACED_NONE;

	turn_off(x, t);
	if (!is_kept)
		return;
	x->all.data[t->newest].to = time;
	x->all.data[t->newest].end = (uint8_t)end;
}

void ana_intervals_pause(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time)
{
	struct ana_traced *t = &x->traced.data[of];

	note_time(x, time);
	t->nr_pauses++;
	t->nr_unpaired += !t->is_on;
	/* Inherited events: another state of the thread has tracing on. */
	t->nr_elsewhere += !t->is_on && first_on(x, list_of(t)) != ANA_TRACED_NONE;
	end_interval(x, t, time, ANA_INTERVAL_PAUSED);
}

void ana_intervals_exit(struct ana_intervals *x, uint32_t tid, struct clew_perf_ns time)
{
	note_time(x, time);
	vec_for_each (&x->aux_events, e) {
		const struct ana_traced key = {.aux_event = *e, .tid = tid};
		uint32_t n;

		while ((n = first_on(x, list_of(&key))) != ANA_TRACED_NONE)
			end_interval(x, &x->traced.data[n], time, ANA_INTERVAL_EXITED);
	}
}

void ana_intervals_aux(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time,
		       bool has_bytes, bool is_truncated)
{
	struct ana_traced *t = &x->traced.data[of];

	if (!clew_perf_ns_is_known(time))
		return;
	note_time(x, time);
	for (uint32_t n = t->newest; n != ANA_TRACED_NONE; n = x->all.data[n].older) {
		struct ana_interval *i = &x->all.data[n];

		if (clew_perf_ns_is_known(i->to) && i->to.ns <= t->described_to.ns)
			break; /* it and all before were described by earlier records */
		if (i->from.ns > time.ns || (clew_perf_ns_is_known(i->to) && i->to.ns > time.ns)) {
			t->is_disordered = true; /* and so never walked again and again */
			break;
		}
		i->has_bytes |= has_bytes;
		i->is_truncated |= is_truncated;
		i->is_described = clew_perf_ns_is_known(i->to);
	}
	if (time.ns > t->described_to.ns)
		t->described_to = time;
}

static int by_place(const void *a, const void *b)
{
	const struct ana_interval *x = a, *y = b;

	if (x->traced != y->traced)
		return x->traced < y->traced ? -1 : 1;
	return (x->from.ns > y->from.ns) - (x->from.ns < y->from.ns);
}

/** The begin of one that ran before the first trigger is unknown: it does not count. */
static uint64_t lasted_ns(const struct ana_intervals *x, const struct ana_interval *i)
{
	uint64_t to = clew_perf_ns_is_known(i->to) ? i->to.ns : x->last.ns;

	return i->from.ns && to > i->from.ns ? to - i->from.ns : 0;
}

void ana_intervals_close(struct ana_intervals *x)
{
	if (x->all.nr)
		qsort(x->all.data, x->all.nr, sizeof(*x->all.data), by_place);
	for (size_t i = 0; i < x->all.nr; i++) {
		struct ana_traced *t = &x->traced.data[x->all.data[i].traced];

		if (!t->nr++)
			t->first = i;
		t->sum_ns += lasted_ns(x, &x->all.data[i]);
	}
}

static struct ana_interval *last_from(const struct ana_intervals *x, const struct ana_traced *t,
				      struct clew_perf_ns time)
{
	struct ana_interval *all = x->all.data + (t->nr ? t->first : 0);
	size_t at = search_first(t->nr, i, all[i].from.ns > time.ns);

	return at ? &all[at - 1] : NULL;
}

static bool contains(const struct ana_interval *i, struct clew_perf_ns time)
{
	return i && (!clew_perf_ns_is_known(i->to) || time.ns <= i->to.ns);
}

/** The states that trace of @p tid on @p cpu may be under. */
struct candidates {
	uint32_t of[3 * MAX_AUX_EVENTS];
	size_t nr;
};

static struct candidates candidates(const struct ana_intervals *x, uint32_t tid, uint32_t cpu)
{
	struct candidates c = {.nr = 0};

	vec_for_each (&x->aux_events, e) {
		const uint32_t found[] = {ana_intervals_find(x, *e, ANA_TRACED_NONE, cpu),
					  ana_intervals_find(x, *e, tid, ANA_TRACED_NONE),
					  ana_intervals_find(x, *e, tid, cpu)};

		for (size_t i = 0; i < 3; i++)
			if (found[i] != ANA_TRACED_NONE)
				c.of[c.nr++] = found[i];
	}
	return c;
}

/* Before what was omitted. */
static bool is_certain(const struct ana_intervals *x, struct clew_perf_ns time)
{
	return clew_perf_ns_is_known(time) && (!x->omitted_from.ns || time.ns < x->omitted_from.ns);
}

bool ana_intervals_has(const struct ana_intervals *x, uint32_t tid, uint32_t cpu,
		       struct clew_perf_ns time)
{
	const struct candidates c = candidates(x, tid, cpu);

	if (!x->traced.nr || !is_certain(x, time))
		return true;
	for (size_t i = 0; i < c.nr; i++)
		if (contains(last_from(x, &x->traced.data[c.of[i]], time), time))
			return true;
	/* A thread that was never resumed, or one that no trigger ever hit. */
	return !c.nr && (x->has_running || tid == ANA_TRACED_NONE);
}

static void note_payload(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time)
{
	struct ana_traced *t = &x->traced.data[of];
	struct ana_interval *i = last_from(x, t, time);

	t->has_payload = true;
	if (contains(i, time))
		i->has_payload = true;
	else if (i && time.ns > i->after.ns)
		i->after = time;
}

bool ana_intervals_payload(struct ana_intervals *x, uint32_t tid, uint32_t cpu,
			   struct clew_perf_ns time)
{
	const struct candidates c = candidates(x, tid, cpu);
	bool is_in = ana_intervals_has(x, tid, cpu, time);

	if (!is_certain(x, time))
		return is_in;
	for (size_t i = 0; i < c.nr; i++)
		note_payload(x, c.of[i], time);
	x->nr_payload++;
	x->nr_outside += !is_in;
	return is_in;
}

/** All of the interval is known, and that nothing was traced in it. */
static bool is_empty(const struct ana_intervals *x, const struct ana_interval *i)
{
	const struct ana_traced *t = &x->traced.data[i->traced];

	if (i->has_payload || !i->is_described || t->is_disordered || x->nr_lost || x->is_snapshot)
		return false;
	return !i->has_bytes || t->has_payload;
}

enum ana_interval_outcome ana_intervals_outcome(const struct ana_intervals *x,
						const struct ana_interval *i)
{
	bool is_paused = i->end == ANA_INTERVAL_PAUSED;

	if (is_paused && i->after.ns > i->to.ns && i->after.ns - i->to.ns > ANA_INTERVAL_SLACK_NS)
		return ANA_INTERVAL_RAN_ON;
	if (!is_paused || lasted_ns(x, i) <= ANA_INTERVAL_SLACK_NS || !is_empty(x, i))
		return ANA_INTERVAL_GOOD;
	return i->is_truncated ? ANA_INTERVAL_FULL : ANA_INTERVAL_NO_TRACE;
}

struct ana_intervals_totals ana_intervals_totals(const struct ana_intervals *x)
{
	struct ana_intervals_totals sum = {.nr_intervals = x->all.nr};

	vec_for_each (&x->traced, t) {
		sum.nr_triggers += t->nr_resumes + t->nr_pauses;
		sum.nr_unpaired += t->nr_unpaired;
		sum.nr_elsewhere += t->nr_elsewhere;
		sum.sum_ns += t->sum_ns;
	}
	vec_for_each (&x->all, i) {
		sum.nr_running += i->end == ANA_INTERVAL_RUNS;
		sum.by_outcome[ana_intervals_outcome(x, i)]++;
	}
	return sum;
}

void ana_intervals_done(struct ana_intervals *x)
{
	map_u64_done(&x->by_key);
	map_u64_done(&x->on);
	vec_done(&x->traced);
	vec_done(&x->all);
	vec_done(&x->aux_events);
	budget_account_done(&x->account);
}
