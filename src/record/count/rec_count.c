/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/count/rec_count.h"

#include <signal.h>
#include <string.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/pid_view.h"
#include "os/signals.h"
#include "record/count/count_parts.h"
#include "record/open/command.h"

enum { TASK_CHECK_MS = 100, MAX_SLEEP_MS = 60000 };

struct part_sum {
	double value;
	uint64_t enabled_ns, running_ns;
};

struct run {
	const struct rec_options *options;
	const struct rec_count_plan *plan;
	struct rec_event_list *events;
	const struct rec_ui *ui;
	struct rec_count_result *result;
	struct counts *counts;
	int signal_fd;

	struct rec_target target;
	struct rec_counters counters;
	struct os_child child;
	struct rec_count *now,
		*before;       /* [event * nr_places + place]; before: at the last interval */
	uint32_t *part;        /* [place], of counts */
	struct part_sum *sums; /* [part], of one event */
	uint64_t start_ns, end_ns, last_ns;
	uint64_t enable_at_ns, stop_at_ns, next_at_ns; /* 0: not */
	uint64_t nr_intervals;
	bool must_stop;
};

/* What was said in the first run need not be said again. */
static const struct rec_ui *ui_of(const struct run *r)
{
	static const struct rec_ui silent;

	return r->counts->nr_runs ? &silent : r->ui;
}

static enum clew_err prepare(struct run *r, struct rec_error *error)
{
	const struct rec_options *o = r->options;
	enum clew_err err = CLEW_OK;

	/* Once: the table, which all runs share, has a part for each place. */
	if (!r->target.tids.nr)
		err = rec_target_resolve(&r->target, o, r->ui, error);
	if (err != CLEW_OK || !o->argv)
		return err;
	err = rec_command_fork(&r->child, o, &r->result->exit_code, error);
	r->result->has_command_failed_to_start = r->result->exit_code != 0;
	if (err == CLEW_OK && !r->target.is_system_wide && !r->target.is_attached)
		r->target.tids.data[0] = r->child.pid;
	return err;
}

static enum clew_err open_events(struct run *r, struct rec_error *error)
{
	struct rec_counters *c = &r->counters;
	enum clew_err err = rec_counters_build(c, r->events, r->options, &r->target, error);
	size_t nr;

	if (err == CLEW_OK)
		err = rec_counters_open(c, ui_of(r), error);
	if (err == CLEW_OK)
		err = rec_counters_filter(c, 0, c->nr_places, error);
	if (err != CLEW_OK)
		return err;
	nr = c->list.nr * c->nr_places + 1;
	r->now = arena_zalloc(&c->memory, nr * sizeof(*r->now));
	r->before = arena_zalloc(&c->memory, nr * sizeof(*r->before));
	if (!r->now || !r->before)
		return rec_fail_memory(error);
	return CLEW_OK;
}

/* The table is made in the first run: the others have the same events and parts. */
static enum clew_err make_table(struct run *r, struct rec_error *error)
{
	struct counts *c = r->counts;

	if (r->part)
		return CLEW_OK;
	if (count_parts_make(&r->counters, c, &r->part) != CLEW_OK)
		return rec_fail_memory(error);
	r->sums = arena_alloc(&c->memory, (c->nr_parts + 1) * sizeof(*r->sums));
	return r->sums ? CLEW_OK : rec_fail_memory(error);
}

/* Else the command only says how long to count. */
static bool is_command_counted(const struct run *r)
{
	return r->child.pid && !r->target.is_system_wide && !r->target.is_attached;
}

static void enable(struct run *r)
{
	uint64_t now = os_clock_ns();

	r->enable_at_ns = 0;
	r->start_ns = r->last_ns = now;
	if (r->plan->interval_ms)
		r->next_at_ns = now + r->plan->interval_ms * NS_PER_MS;
}

static enum clew_err start(struct run *r, struct rec_error *error)
{
	int64_t delay_ms = r->options->delay_ms;
	enum clew_err err;

	enable(r);
	if (r->plan->timeout_ms)
		r->stop_at_ns = r->start_ns + r->plan->timeout_ms * NS_PER_MS;
	if (delay_ms > 0) {
		r->enable_at_ns = r->start_ns + (uint64_t)delay_ms * NS_PER_MS;
		r->next_at_ns = 0;
	} else if (!is_command_counted(r)) {
		rec_counters_switch(&r->counters, NULL, true);
	}
	if (!r->child.pid)
		return CLEW_OK;
	err = rec_command_start(&r->child, r->options, &r->result->exit_code, error);
	r->result->has_command_failed_to_start = err != CLEW_OK;
	return err;
}

static double scaled(const struct run *r, const struct rec_count *n)
{
	if (r->plan->is_unscaled || !n->running_ns || n->running_ns >= n->enabled_ns)
		return (double)n->value;
	return (double)n->value / (double)n->running_ns * (double)n->enabled_ns;
}

/* Since the last interval, if there was one. */
static struct rec_count since(const struct run *r, size_t at)
{
	const struct rec_count *n = &r->now[at], *b = &r->before[at];

	return (struct rec_count){n->value - b->value, n->enabled_ns - b->enabled_ns,
				  n->running_ns - b->running_ns};
}

/* One event's places, by part. */
static void add_event(struct run *r, uint32_t event)
{
	size_t nr_places = r->counters.nr_places;
	uint32_t nr_parts = r->counts->nr_parts;
	double scale = r->counts->events[event].scale;

	scale = scale > 0 ? scale : 1;
	memset(r->sums, 0, nr_parts * sizeof(*r->sums));
	for (size_t i = 0; i < nr_places; i++) {
		struct rec_count n = since(r, event * nr_places + i);
		struct part_sum *s = &r->sums[r->part[i]];

		s->value += scaled(r, &n);
		s->enabled_ns += n.enabled_ns;
		s->running_ns += n.running_ns;
	}
	for (uint32_t part = 0; part < nr_parts; part++) {
		const struct part_sum *s = &r->sums[part];

		counts_add(r->counts, event, part, s->value * scale, s->enabled_ns, s->running_ns);
	}
}

static enum clew_err take_counts(struct run *r, uint64_t now, struct rec_error *error)
{
	struct counts *c = r->counts;

	if (rec_counters_read(&r->counters, r->now) != CLEW_OK)
		return rec_fail_memory(error);
	for (uint32_t event = 0; event < c->nr_events; event++)
		add_event(r, event);
	count_stats_add(&c->elapsed_ns, (double)(now - r->last_ns));
	return CLEW_OK;
}

static enum clew_err pass_interval(struct run *r, uint64_t now, struct rec_error *error)
{
	struct rec_count *before = r->before;
	enum clew_err err;

	counts_clear(r->counts);
	err = take_counts(r, now, error);
	if (err != CLEW_OK)
		return err;
	r->counts->at_ns = now - r->start_ns;
	r->plan->interval(r->plan->ctx, r->counts);
	r->before = r->now;
	r->now = before;
	r->last_ns = now;
	while (r->next_at_ns && r->next_at_ns <= now)
		r->next_at_ns += r->plan->interval_ms * NS_PER_MS;
	if (++r->nr_intervals == r->plan->max_intervals)
		r->must_stop = true;
	return CLEW_OK;
}

static bool is_any_task_left(const struct run *r)
{
	vec_for_each (&r->target.tids, tid) {
		if (os_task_exists((uint32_t)*tid))
			return true;
	}
	return false;
}

static int timeout_ms(const struct run *r, uint64_t now)
{
	const uint64_t at[] = {r->enable_at_ns, r->stop_at_ns, r->next_at_ns};
	uint64_t until = now + MAX_SLEEP_MS * NS_PER_MS;

	if (r->target.is_attached)
		until = now + TASK_CHECK_MS * NS_PER_MS;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		if (at[i] && at[i] < until)
			until = at[i];
	return until <= now ? 0 : (int)((until - now) / NS_PER_MS) + 1;
}

static void on_signal(struct run *r, int number)
{
	if (number == SIGCHLD) {
		r->must_stop |= os_child_reap(&r->child, false);
	} else if (number != SIGUSR2) {
		r->result->signal = number;
		r->must_stop = true;
	}
}

static enum clew_err check_times(struct run *r, uint64_t now, struct rec_error *error)
{
	if (r->enable_at_ns && now >= r->enable_at_ns) {
		enable(r);
		rec_counters_switch(&r->counters, NULL, true);
	}
	if (r->stop_at_ns && now >= r->stop_at_ns)
		r->must_stop = true;
	if (r->target.is_attached && !is_any_task_left(r))
		r->must_stop = true;
	if (r->next_at_ns && now >= r->next_at_ns && !r->must_stop)
		return pass_interval(r, now, error);
	return CLEW_OK;
}

static enum clew_err wait_for_end(struct run *r, struct rec_error *error)
{
	struct os_poll poll = {0};
	enum clew_err err = os_poll_add(&poll, r->signal_fd) < 0 ? rec_fail_memory(error) : CLEW_OK;

	while (!r->must_stop && err == CLEW_OK) {
		int number, n = os_poll_wait(&poll, timeout_ms(r, os_clock_ns()));

		if (n < 0)
			err = rec_fail_os(error, n, "poll");
		while ((number = os_signal_next(r->signal_fd)))
			on_signal(r, number);
		r->end_ns = os_clock_ns();
		if (err == CLEW_OK)
			err = check_times(r, r->end_ns, error);
	}
	os_poll_done(&poll);
	return err;
}

static enum clew_err finish(struct run *r, struct rec_error *error)
{
	enum clew_err err;

	rec_counters_switch(&r->counters, NULL, false);
	if (!r->plan->interval)
		err = take_counts(r, r->end_ns, error);
	else if (r->end_ns > r->last_ns)
		err = pass_interval(r, r->end_ns, error);
	else
		err = CLEW_OK;
	if (r->child.pid)
		rec_command_end(&r->child, r->options, r->ui, r->signal_fd, r->result->signal,
				&r->result->exit_code);
	r->counts->nr_runs++;
	r->counts->has_times = r->child.is_ended && is_command_counted(r);
	r->counts->user_ns = r->child.user_ns;
	r->counts->sys_ns = r->child.sys_ns;
	return err;
}

static enum clew_err run_once(struct run *r, struct rec_error *error)
{
	enum clew_err err = prepare(r, error);

	if (err == CLEW_OK)
		err = open_events(r, error);
	if (err == CLEW_OK)
		err = make_table(r, error);
	if (err == CLEW_OK)
		err = start(r, error);
	if (err == CLEW_OK)
		err = wait_for_end(r, error);
	if (r->end_ns)
		err = err == CLEW_OK ? finish(r, error) : err;
	rec_counters_done(&r->counters);
	os_child_done(&r->child);
	return err;
}

static void begin_run(struct run *r)
{
	r->counters = (struct rec_counters){0};
	r->child = (struct os_child){0};
	r->start_ns = r->end_ns = r->last_ns = 0;
	r->enable_at_ns = r->stop_at_ns = r->next_at_ns = 0;
	r->must_stop = false;
}

enum clew_err rec_count_run(const struct rec_options *o, const struct rec_count_plan *plan,
			    struct rec_event_list *events, const struct rec_ui *ui,
			    struct counts *ret, struct rec_count_result *result,
			    struct rec_error *error)
{
	struct run r = {.options = o,
			.plan = plan,
			.events = events,
			.ui = ui,
			.result = result,
			.counts = ret};
	uint32_t nr_runs = plan->nr_runs ? plan->nr_runs : 1;
	enum clew_err err = CLEW_OK;

	*result = (struct rec_count_result){0};
	ret->by = plan->by;
	r.signal_fd = os_signal_open();
	if (r.signal_fd < 0)
		return rec_fail_os(error, r.signal_fd, "cannot watch signals");
	for (uint32_t i = 0; i < nr_runs && err == CLEW_OK && !result->signal; i++) {
		begin_run(&r);
		err = run_once(&r, error);
	}
	rec_target_done(&r.target);
	os_signal_close(r.signal_fd);
	return err;
}
