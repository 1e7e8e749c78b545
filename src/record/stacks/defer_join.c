/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/defer_join.h"

#include "base/search.h"

enum {
	SURE_AFTER = 8,       /* equal times, before nothing else is accepted */
	MAX_WANTED = 1 << 20, /* cookies without a stack so far; then every stack is wanted */
	COMPACT_AT = 1024,    /* used requests, before the rest moves up */
	MAX_LOOK = 4096,      /* requests of other tasks between a task's and its sample */
};

#define KEEP_NS (10 * 1000000000ull) /* a request: its sample is still to come */

struct request {
	uint64_t time, cookie;
	uint32_t tid;
	bool is_used; /* where requests are of the task: its sample has come */
};

struct defer_join_queue {
	struct {
		VEC(struct request); /* by time, from head on */
	} requests;
	size_t head;
	uint64_t aged;          /* no later than this: seen in the pass before */
	uint64_t suspect_until; /* requests up to here may be lost */
	uint32_t nr_equal, nr_earlier;
	bool is_gap;      /* samples were lost since the last one */
	bool wants_equal; /* defer_join_demand_equal() */
	bool is_by_task;  /* of the first CPU: it holds the requests of all */
};

bool defer_join_init(struct defer_join *j, uint32_t nr_cpus, uint32_t nr_events)
{
	*j = (struct defer_join){.nr_cpus = nr_cpus, .nr_events = nr_events};
	j->queues = mem_calloc((size_t)nr_cpus * nr_events, sizeof(*j->queues));
	return j->queues;
}

void defer_join_done(struct defer_join *j)
{
	for (size_t i = 0; j->queues && i < (size_t)j->nr_cpus * j->nr_events; i++)
		vec_done(&j->queues[i].requests);
	mem_free(j->queues);
	map_u64_done(&j->waiting);
	map_u64_done(&j->wanted);
	map_u64_done(&j->done[0]);
	map_u64_done(&j->done[1]);
	*j = (struct defer_join){0};
}

static struct defer_join_queue *queue_of(const struct defer_join *j, uint32_t cpu, uint32_t event)
{
	if (cpu >= j->nr_cpus || event >= j->nr_events)
		return NULL;
	return j->queues[event].is_by_task ? &j->queues[event]
					   : &j->queues[(size_t)cpu * j->nr_events + event];
}

static void wait_for(struct defer_join *j, uint32_t tid, uint64_t cookie)
{
	if (!perf_cookie_is_none(cookie) && !map_u64_get(&j->done[0], cookie) &&
	    !map_u64_get(&j->done[1], cookie))
		map_u64_put(&j->waiting, tid, cookie); /* without memory: not waited for */
}

void defer_join_demand_equal(struct defer_join *j, uint32_t event)
{
	for (uint32_t cpu = 0; cpu < j->nr_cpus && event < j->nr_events; cpu++)
		queue_of(j, cpu, event)->wants_equal = true;
}

void defer_join_by_task(struct defer_join *j, uint32_t event)
{
	if (event < j->nr_events)
		j->queues[event].is_by_task = true;
}

bool defer_join_request(struct defer_join *j, const struct defer_request *r)
{
	struct defer_join_queue *q = queue_of(j, r->cpu, r->event);
	const struct request new = {r->time, r->cookie, r->tid, false};
	size_t at;

	wait_for(j, r->tid, r->cookie);
	if (!q || !vec_push(&q->requests, new))
		return !q;
	for (at = q->requests.nr - 1; at > q->head && q->requests.data[at - 1].time > r->time; at--)
		q->requests.data[at] = q->requests.data[at - 1];
	q->requests.data[at] = new;
	return true;
}

static void drop_to(struct defer_join_queue *q, size_t head)
{
	q->head = head;
	if (q->head == q->requests.nr) {
		q->requests.nr = q->head = 0;
	} else if (q->head >= COMPACT_AT && q->head >= q->requests.nr / 2) {
		q->requests.nr -= q->head;
		memmove(q->requests.data, q->requests.data + q->head,
			q->requests.nr * sizeof(*q->requests.data));
		q->head = 0;
	}
}

/* Of a task that is being released, perf gives no number any more. */
static bool is_task(const struct request *r, uint32_t tid)
{
	return r->tid == tid || tid == PERF_NO_TASK;
}

/* The requests of exactly @time from head on: their one cookie for @tid. They stay, as several
 * samples may have this time. */
static bool find_equal(const struct defer_join_queue *q, uint32_t tid, uint64_t time, uint64_t *ret,
		       bool *ret_is_ambiguous)
{
	bool is_found = false;

	*ret_is_ambiguous = false;
	for (size_t i = q->head; i < q->requests.nr && q->requests.data[i].time <= time; i++) {
		const struct request *r = &q->requests.data[i];

		if (r->time != time || !is_task(r, tid))
			continue;
		*ret_is_ambiguous |= is_found && r->cookie != *ret;
		*ret = r->cookie;
		is_found = true;
	}
	return is_found && !*ret_is_ambiguous;
}

static void drop_before(struct defer_join_queue *q, uint64_t time)
{
	size_t at = q->head;

	while (at < q->requests.nr && q->requests.data[at].time < time)
		at++;
	drop_to(q, at);
}

/* The newest request up to @time, if nothing speaks against it. All of them are used up then. */
static bool take_newest(struct defer_join_queue *q, uint32_t tid, uint64_t time, bool was_gap,
			uint64_t *ret)
{
	size_t at = q->head;
	bool is_good = false;

	while (at < q->requests.nr && q->requests.data[at].time <= time)
		at++;
	if (at > q->head) {
		const struct request *r = &q->requests.data[at - 1];

		*ret = r->cookie;
		is_good = r->tid == tid;
	}
	drop_to(q, at);
	if (was_gap || q->wants_equal || time <= q->suspect_until)
		return false;
	return is_good && !(q->nr_equal >= SURE_AFTER && !q->nr_earlier);
}

/* How many of the requests, from the first on, are no later than @p time. */
static size_t nr_until(const struct defer_join_queue *q, uint64_t time)
{
	const struct request *r = q->requests.data;
	size_t head = q->head;

	return head + search_first(q->requests.nr - head, i, r[head + i].time > time);
}

static struct request *find_of_task(const struct defer_join_queue *q, uint32_t tid, uint64_t time)
{
	size_t at = nr_until(q, time), end = at - q->head > MAX_LOOK ? at - MAX_LOOK : q->head;

	while (at-- > end) {
		struct request *r = &q->requests.data[at];

		if (r->tid == tid)
			return r->is_used ? NULL : r;
	}
	return NULL;
}

static bool take_of_task(struct defer_join_queue *q, uint32_t tid, uint64_t time, uint64_t *ret)
{
	struct request *r = find_of_task(q, tid, time);
	size_t head = q->head;

	if (!r || time <= q->suspect_until)
		return false;
	*ret = r->cookie;
	r->is_used = true;
	while (head < q->requests.nr && q->requests.data[head].is_used)
		head++;
	drop_to(q, head);
	return true;
}

static bool match(struct defer_join_queue *q, uint32_t tid, uint64_t time, uint64_t *ret)
{
	bool was_gap = q->is_gap, is_ambiguous;

	if (q->is_by_task)
		return take_of_task(q, tid, time, ret);
	q->is_gap = false;
	if (find_equal(q, tid, time, ret, &is_ambiguous)) {
		q->nr_equal += q->nr_equal < SURE_AFTER;
		drop_before(q, time);
		return true;
	}
	if (is_ambiguous) {
		drop_before(q, time);
		return false;
	}
	if (!take_newest(q, tid, time, was_gap, ret))
		return false;
	q->nr_earlier += q->nr_earlier < UINT32_MAX;
	return true;
}

bool defer_join_is_ready(const struct defer_join *j, uint32_t cpu, uint32_t event, uint32_t tid,
			 uint64_t time)
{
	const struct defer_join_queue *q = queue_of(j, cpu, event);
	bool wants_equal;

	if (!q)
		return true;
	if (q->is_by_task)
		return find_of_task(q, tid, time);
	wants_equal = q->wants_equal || (q->nr_equal >= SURE_AFTER && !q->nr_earlier);
	for (size_t i = q->head; i < q->requests.nr && q->requests.data[i].time <= time; i++)
		if (is_task(&q->requests.data[i], tid) &&
		    (!wants_equal || q->requests.data[i].time == time))
			return true;
	return false;
}

uint64_t defer_join_sample(struct defer_join *j, uint32_t cpu, uint32_t event, uint32_t tid,
			   uint64_t time)
{
	struct defer_join_queue *q = queue_of(j, cpu, event);
	uint64_t cookie = 0;

	if (!q || !match(q, tid, time, &cookie)) {
		j->nr_unmatched++;
		return perf_no_stack_cookie(PERF_NO_STACK_UNMATCHED);
	}
	if (perf_cookie_is_none(cookie)) {
		j->nr_reasons[cookie >> 16 & 7]++;
		return cookie;
	}
	j->nr_matched++;
	if (j->wanted.nr >= MAX_WANTED || !map_u64_put(&j->wanted, cookie, 0))
		j->wants_all = true;
	return cookie;
}

void defer_join_lost_samples(struct defer_join *j, uint32_t cpu)
{
	for (uint32_t i = 0; cpu < j->nr_cpus && i < j->nr_events; i++)
		queue_of(j, cpu, i)->is_gap = true;
}

void defer_join_lost_requests(struct defer_join *j, uint64_t time)
{
	for (size_t i = 0; i < (size_t)j->nr_cpus * j->nr_events; i++)
		j->queues[i].suspect_until = time;
}

bool defer_join_is_wanted(struct defer_join *j, uint64_t cookie)
{
	return map_u64_remove(&j->wanted, cookie) || j->wants_all;
}

void defer_join_stack(struct defer_join *j, uint32_t tid, uint64_t cookie)
{
	const uint64_t *waiting = map_u64_get(&j->waiting, tid);

	map_u64_put(&j->done[0], cookie, 0);
	if (waiting && *waiting == cookie)
		map_u64_remove(&j->waiting, tid);
}

size_t defer_join_nr_waiting(const struct defer_join *j)
{
	return j->waiting.nr;
}

static void age_done(struct defer_join *j)
{
	struct map_u64 old = j->done[1];

	j->done[1] = j->done[0];
	map_u64_done(&old);
	j->done[0] = (struct map_u64){0};
}

/* A task may lose its CPU between its request and its sample, for any number of passes; it makes
 * no other request meanwhile. @return whether the request is to stay. */
static bool may_still_come(const struct defer_join_queue *q, const struct request *r,
			   struct map_u64 *newer)
{
	uint64_t newest = q->requests.data[q->requests.nr - 1].time;

	if (map_u64_get(newer, r->tid) || !map_u64_put(newer, r->tid, 0))
		return false;
	return !r->is_used && newest - r->time <= KEEP_NS && newer->nr <= MAX_LOOK;
}

/* What was seen in the pass before, but the newest of each task. */
static void drop_aged_of_tasks(struct defer_join_queue *q)
{
	size_t end = nr_until(q, q->aged), to = end;
	struct map_u64 newer = {0};

	for (size_t at = end; at > q->head; at--) {
		struct request *r = &q->requests.data[at - 1];

		if (may_still_come(q, r, &newer))
			q->requests.data[--to] = *r;
	}
	map_u64_done(&newer);
	drop_to(q, to);
}

/* What was seen in the pass before. Where times prove it, a CPU's newest request waits: the CPU of
 * a virtual machine may stand still between it and its sample. */
static void drop_aged(struct defer_join_queue *q)
{
	uint64_t newest = q->requests.data[q->requests.nr - 1].time;

	drop_before(q, q->wants_equal && newest <= q->aged ? newest : q->aged + 1);
}

void defer_join_end_pass(struct defer_join *j)
{
	for (size_t i = 0; i < (size_t)j->nr_cpus * j->nr_events; i++) {
		struct defer_join_queue *q = &j->queues[i];

		if (q->head == q->requests.nr)
			continue;
		if (q->is_by_task && !q->suspect_until)
			drop_aged_of_tasks(q);
		else
			drop_aged(q);
		if (q->head < q->requests.nr)
			q->aged = q->requests.data[q->requests.nr - 1].time;
	}
	if (j->done[0].nr || j->done[1].nr)
		age_done(j);
}
