/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_fold.h"

/* A sample of sched_switch stands before its switch, and nothing says how long that takes. */
enum { SCHED_WINDOW_NS = 20000 };

static bool add(struct who_fold *f, enum who_run_kind kind, struct clew_perf_ns from)
{
	return who_runs_add(&f->runs, &(struct who_run){.kind = kind, .from = from});
}

static void seen(struct who_fold *f, struct clew_perf_ns time)
{
	if (!f->has_last) {
		f->since = f->has_begin && f->begin.ns < time.ns ? f->begin : time;
		f->is_pending = true;
	}
	f->has_last = true;
	f->last = time;
}

/** Nothing is known from @p time on until something is found out about it. */
static void begin_unknown(struct who_fold *f, struct clew_perf_ns time)
{
	f->since = time;
	f->is_pending = true;
	f->is_since_point = false;
}

/** What was pending stays unknown. */
static bool settle_pending(struct who_fold *f)
{
	bool was = f->is_pending;

	f->is_pending = false;
	return !was || add(f, WHO_RUN_NONE, f->since);
}

/** The raw id of the stay that ends now: that of the samples before it and at its end. */
static void root_of_cur(const struct who_fold *f, bool is_last, struct who_run *r)
{
	if (!f->has_cur_root)
		return;
	r->has_root = is_last || (f->has_sched && f->sched_prev.n == f->cur_root.n);
	r->root = f->cur_root;
}

static bool shut_cur(struct who_fold *f, enum who_run_end end, bool is_last)
{
	struct who_run r = {.kind = WHO_RUN_THREAD, .end = end, .id = f->cur, .from = f->cur_since};

	if (!f->has_cur)
		return true;
	f->has_cur = false;
	root_of_cur(f, is_last, &r);
	return who_runs_add(&f->runs, &r);
}

/** Records contradict each other since @p from. */
static bool break_chain(struct who_fold *f, struct clew_perf_ns from)
{
	f->has_cur = f->has_out = f->has_cur_root = false;
	f->is_pending = false;
	return add(f, WHO_RUN_HOLE, from);
}

static bool add_backward(struct who_fold *f, const struct who_fold_out *o, enum who_run_end end)
{
	struct who_run r = {.kind = WHO_RUN_THREAD,
			    .end = end,
			    .is_backward = true,
			    .id = o->from.n == -1 ? f->point : o->from,
			    .from = f->since};

	f->is_pending = false;
	if (f->has_sched) {
		r.has_root = true;
		r.root = f->sched_prev;
	}
	return who_runs_add(&f->runs, &r);
}

/** Ends what ran until the switch from o->from began. */
static bool end_run(struct who_fold *f, const struct who_fold_out *o)
{
	enum who_run_end end = o->is_preempt ? WHO_END_PREEMPTED : WHO_END_SLEEPS;

	if (f->has_cur && f->cur.n != o->from.n && o->from.n != -1)
		return break_chain(f, f->cur_since);
	if (f->has_cur)
		return shut_cur(f, end, false);
	if (f->has_out)
		return break_chain(f, f->out_time);
	/* What ran at ITRACE_START runs until the first switch. */
	if (o->next && f->is_pending && (o->from.n != -1 || f->is_since_point))
		return add_backward(f, o, end);
	return settle_pending(f);
}

bool who_fold_out(struct who_fold *f, struct clew_perf_ns time, const struct who_fold_out *o)
{
	seen(f, time);
	f->has_switches = true;
	if (!end_run(f, o) || !add(f, WHO_RUN_SWITCH, time))
		return false;
	f->has_out = true;
	f->out = o->from;
	f->out_time = time;
	f->has_next = o->next;
	if (o->next)
		f->next = *o->next;
	return true;
}

/** Begins what runs from the end of the switch on. */
static bool begin_run(struct who_fold *f, struct clew_perf_ns time, const struct who_fold_in *i)
{
	bool is_other = f->has_out && f->has_next && f->next.n != i->to.n && f->next.n != -1 &&
			i->to.n != -1;

	if (f->has_cur)
		return break_chain(f, f->cur_since);
	if (is_other)
		return break_chain(f, f->out_time);
	if (f->has_out)
		return true;
	if (i->prev && f->is_pending && f->since.ns < time.ns) {
		f->is_pending = false;
		return add(f, WHO_RUN_SWITCH, f->since);
	}
	return settle_pending(f);
}

bool who_fold_in(struct who_fold *f, struct clew_perf_ns time, const struct who_fold_in *i)
{
	seen(f, time);
	f->has_switches = true;
	if (!begin_run(f, time, i))
		return false;
	f->has_out = false;
	f->has_cur = true;
	f->cur = i->to;
	f->cur_since = time;
	f->has_cur_root = f->has_sched;
	f->cur_root = f->sched_next;
	f->has_sched = false;
	return true;
}

bool who_fold_lost(struct who_fold *f, struct clew_perf_ns time)
{
	struct clew_perf_ns from = f->has_last ? f->last : time;

	if (!shut_cur(f, WHO_END_UNSEEN, false) || !settle_pending(f) ||
	    !add(f, WHO_RUN_HOLE, from))
		return false;
	seen(f, time);
	f->has_out = f->has_point = f->has_sched = f->has_cur_root = false;
	begin_unknown(f, time);
	return true;
}

bool who_fold_start(struct who_fold *f, struct clew_perf_ns time, struct who_local_id tid)
{
	struct clew_perf_ns before = f->has_last ? f->last : time;
	bool is_new = !f->has_last;

	seen(f, time);
	if (f->has_out)
		return true;
	/* The CPU was away: nothing holds from before. */
	if (f->has_cur && f->cur.n != tid.n) {
		if (!shut_cur(f, WHO_END_UNSEEN, false) || !add(f, WHO_RUN_NONE, before))
			return false;
		begin_unknown(f, time);
		return true;
	}
	if (f->has_cur || (f->has_point && f->point.n == tid.n))
		return true;
	if (!is_new && !settle_pending(f))
		return false;
	begin_unknown(f, time);
	f->is_since_point = true;
	f->has_point = true;
	f->point = tid;
	return true;
}

/** Without switch records the samples have to do: two that agree say who ran between them. */
static bool run_by_samples(struct who_fold *f, struct clew_perf_ns time, struct who_root_id prev)
{
	struct clew_perf_ns from = {f->sched_time.ns + SCHED_WINDOW_NS};
	struct who_run r = {.kind = WHO_RUN_THREAD,
			    .is_sched = true,
			    .has_root = true,
			    .root = f->sched_next,
			    .from = from};

	if (f->sched_next.n != prev.n)
		return add(f, WHO_RUN_HOLE, f->sched_time);
	if (!add(f, WHO_RUN_SWITCH, f->sched_time))
		return false;
	return from.ns >= time.ns || who_runs_add(&f->runs, &r);
}

bool who_fold_sched(struct who_fold *f, struct clew_perf_ns time, struct who_root_id prev,
		    struct who_root_id next)
{
	seen(f, time);
	if (!f->has_switches && f->has_sched &&
	    (!settle_pending(f) || !run_by_samples(f, time, prev)))
		return false;
	/* A switch between the two has no records: what is pending begins after it. */
	if (f->has_switches && f->has_sched && f->is_pending) {
		if (!settle_pending(f))
			return false;
		begin_unknown(f, f->sched_time);
	}
	f->has_sched = true;
	f->sched_prev = prev;
	f->sched_next = next;
	f->sched_time = time;
	return true;
}

bool who_fold_other(struct who_fold *f, struct clew_perf_ns time)
{
	seen(f, time);
	return true;
}

bool who_fold_end(struct who_fold *f)
{
	bool is_switching = f->has_sched && (f->has_cur || !f->has_switches);

	return shut_cur(f, WHO_END_UNSEEN, true) && settle_pending(f) &&
	       (!is_switching || add(f, WHO_RUN_SWITCH, f->sched_time)) && who_runs_end(&f->runs);
}

void who_fold_done(struct who_fold *f)
{
	who_runs_done(&f->runs);
}
