/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "who/who_history.h"

/* Which thread has a number at some time, and what it is called then. */

struct task_place {
	const struct who_task *task;
	struct clew_perf_ns to;
	size_t index;
};

/** @return false: the one that had the number then was never mentioned. */
static bool task_at(const struct who_thread_line *t, struct clew_perf_ns time, size_t first,
		    struct task_place *ret)
{
	size_t after = first;

	if (first == t->tasks.nr)
		return false;
	after += search_first(t->tasks.nr - first, i, t->tasks.data[first + i].time.ns > time.ns);
	if (after == first && t->tasks.data[first].start != WHO_TASK_MET) {
		ret->to = t->tasks.data[first].time;
		return false;
	}
	ret->index = after > first ? after - 1 : first;
	ret->task = &t->tasks.data[ret->index];
	if (ret->index + 1 < t->tasks.nr)
		ret->to = t->tasks.data[ret->index + 1].time;
	return true;
}

static void comm_at(const struct who_history *h, const struct who_thread_line *t,
		    struct clew_perf_ns time, struct clew_perf_ns since, bool ignores_found,
		    struct who_object *ret)
{
	size_t after = search_first(t->comms.nr, i, t->comms.data[i].time.ns > time.ns);
	const struct who_change *c = after ? &t->comms.data[after - 1] : NULL;

	if (after < t->comms.nr && t->comms.data[after].time.ns < ret->to.ns)
		ret->to = t->comms.data[after].time;
	if (!c || c->time.ns < since.ns)
		return;
	ret->comm_since = who_change_since(c);
	/* Also where it comes from a parent. */
	ret->is_found = !ret->comm_since.ns;
	if (!ret->is_found || !ignores_found)
		ret->comm = intern_get(&h->texts, c->value);
}

bool who_history_object(const struct who_history *h, uint32_t tid, struct clew_perf_ns time,
			bool ignores_found, struct who_object *ret)
{
	const uint64_t *at = map_u64_get(&h->by_tid, tid);
	const struct who_thread_line *t = at ? &h->threads.data[*at] : NULL;
	struct task_place p = {.to = clew_perf_ns_none()};
	struct clew_perf_ns since = {0};
	size_t first = 0;

	*ret = (struct who_object){
		.serial = (uint64_t)tid << 32 | UINT32_MAX,
		.to = p.to,
		.pid = WHO_NONE,
		.space = WHO_NONE,
	};
	if (!t || !who_history_knows(h, time))
		return false;
	while (ignores_found && first < t->tasks.nr && !t->tasks.data[first].time.ns)
		first++;
	if (!task_at(t, time, first, &p)) {
		ret->to = p.to;
		return false;
	}
	ret->serial = (uint64_t)tid << 32 | (uint32_t)p.index;
	ret->to = p.to;
	ret->pid = p.task->pid;
	ret->space = p.task->space;
	ret->is_reborn = p.task->start == WHO_TASK_REBORN;
	if (p.index > first || p.task->start != WHO_TASK_MET)
		since = p.task->time;
	else if (ignores_found)
		since.ns = 1;
	comm_at(h, t, time, since, ignores_found, ret);
	return true;
}

/** The last thing the recorder found of it; NULL: nothing. */
static const struct who_task *found(const struct who_thread_line *t)
{
	const struct who_task *last = NULL;

	for (size_t i = 0; i < t->tasks.nr && !t->tasks.data[i].time.ns; i++)
		last = &t->tasks.data[i];
	return last;
}

static bool is_born(const struct who_thread_line *t)
{
	vec_for_each (&t->tasks, k) {
		if (k->start == WHO_TASK_FORKED && k->time.ns)
			return true;
	}
	return false;
}

void who_history_count_found(const struct who_history *h, struct who_found_counts *ret)
{
	*ret = (struct who_found_counts){0};
	vec_for_each (&h->threads, t) {
		const struct who_task *f = found(t);

		ret->nr_found += f && t->comms.nr && !t->comms.data[0].time.ns;
		if (!t->has_run || is_born(t))
			continue;
		ret->nr_run++;
		ret->nr_missing += !f;
		ret->nr_other_pid += t->has_other_pid;
		ret->nr_same_pid += f && !t->has_other_pid && f->pid != t->tid;
	}
}

bool who_history_is_found_kthread(const struct who_history *h, uint32_t tid)
{
	const uint64_t *at = map_u64_get(&h->by_tid, tid);
	const struct who_task *f = at ? found(&h->threads.data[*at]) : NULL;

	if (!f || is_born(&h->threads.data[*at]))
		return false;
	at = map_u64_get(&h->by_tid, f->pid);
	return !at || !h->threads.data[*at].has_found_maps;
}
