/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/rec_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "os/child.h"
#include "os/clock.h"
#include "os/proc.h"
#include "os/signals.h"
#include "record/session/control.h"
#include "record/session/open_events.h"
#include "record/session/stream.h"

#define NS_PER_MS 1000000ull

enum { DRAIN_MS = 200, DRAIN_STEP_MS = 2, BUSY_DRAIN_MS = 10000 };
enum { PROGRESS_MS = 500, MAX_SLEEP_MS = 1000, CHILD_GRACE_MS = 2000, CHILD_STEP_MS = 20 };

struct session {
	const struct rec_options *asked, *options; /* as given; settled */
	struct rec_options settled;
	const struct rec_ui *ui;
	struct rec_result *result;
	struct rec_target target;
	struct rec_counters counters;
	struct rec_sources sources;
	struct rec_stream stream;
	struct rec_control control;
	struct os_child child;
	struct os_poll poll;
	int signal_fd, signal_poll, control_poll;
	size_t task_poll, task_poll_end; /* polled descriptors, one per task, that report its end */
	size_t nr_tasks;
	uint64_t start_ns, enable_at_ns, progress_at_ns;
	bool must_stop, must_switch;
};

/* A command that cannot run is known before anything is made for it: no file is moved away. */
static enum clew_err check_command(struct session *s, struct rec_error *error)
{
	const struct rec_options *o = s->options;
	int err = os_child_check(o->argv[0], o->search_path);

	if (!err)
		return CLEW_OK;
	s->result->has_command_failed_to_start = true;
	s->result->exit_code = err == -ENOENT ? 127 : 126;
	return rec_fail_os(error, err, "cannot run '%s'", o->argv[0]);
}

/* Before any other thread or the child is there. */
static enum clew_err prepare(struct session *s, struct rec_error *error)
{
	const struct rec_options *o = s->options;
	enum clew_err err = rec_target_resolve(&s->target, o, s->ui, error);
	int os_err;

	if (err != CLEW_OK)
		return err;
	if (o->control) {
		err = rec_control_open(&s->control, o->control, error);
		if (err != CLEW_OK)
			return err;
	}
	if (o->realtime) {
		os_err = os_set_realtime(o->realtime);
		if (os_err)
			return rec_fail_os(error, os_err, "-r %d", o->realtime);
	}
	s->signal_fd = os_signal_open();
	if (s->signal_fd < 0)
		return rec_fail_os(error, s->signal_fd, "cannot watch signals");
	if (!o->argv)
		return CLEW_OK;
	err = check_command(s, error);
	if (err != CLEW_OK)
		return err;
	os_err = os_child_fork(&s->child, o->argv);
	if (os_err)
		return rec_fail_os(error, os_err, "cannot fork");
	s->stream.child_pid = s->child.pid;
	if (!s->target.is_system_wide && !s->target.is_attached)
		s->target.tids.data[0] = s->child.pid;
	return CLEW_OK;
}

/* One descriptor of each task is enough to hear of its end: all of a task's events end together. */
static bool poll_tasks(struct session *s)
{
	const struct rec_counter *first = s->counters.list.data;
	size_t nr_tids = s->target.tids.nr;

	s->task_poll = s->task_poll_end = s->poll.nr;
	if (!s->target.is_attached)
		return true;
	for (size_t i = 0; i < nr_tids; i++) {
		int fd = -1;

		for (size_t place = i; place < s->counters.nr_places && fd < 0; place += nr_tids)
			fd = first->fds[place];
		if (fd < 0)
			continue;
		if (os_poll_add(&s->poll, fd) < 0)
			return false;
		s->nr_tasks++;
	}
	s->task_poll_end = s->poll.nr;
	return true;
}

static bool fill_poll(struct session *s)
{
	s->signal_poll = os_poll_add(&s->poll, s->signal_fd);
	s->control_poll = os_poll_add(&s->poll, s->control.fd);
	if (s->signal_poll < 0 || s->control_poll < 0)
		return false;
	return rec_sources_watch(&s->sources, &s->poll) && poll_tasks(s);
}

/* @return how many events or buffers that concerned. */
static size_t order(const struct session *s, enum rec_order_kind kind, const char *event)
{
	return rec_sources_order(&s->sources, &(struct rec_order){kind, event});
}

static void take_snapshot(struct session *s)
{
	order(s, REC_ORDER_SNAPSHOT, NULL);
	s->must_switch |= s->options->switch_output.on_signal;
}

static void on_signal(struct session *s, int number)
{
	switch (number) {
	case 0:
		break;
	case SIGCHLD:
		if (os_child_reap(&s->child, false))
			s->must_stop = true;
		break;
	case SIGUSR2:
		take_snapshot(s);
		break;
	default:
		s->result->signal = number;
		s->must_stop = true;
	}
}

static enum clew_err drain(struct session *s, struct rec_error *error)
{
	struct rec_file *f = &s->stream.file;
	enum clew_err err = rec_drain_pass(&s->stream.drain, f, false);

	if (err == CLEW_OS)
		return rec_fail_os(error, f->os_errno, "cannot write '%s'", f->path);
	if (err != CLEW_OK)
		return rec_fail(error, err, "cannot write '%s': %s", f->path, clew_err_name(err));
	return CLEW_OK;
}

static enum clew_err on_command(struct session *s, enum rec_command command,
				struct rec_error *error)
{
	const char *name = s->control.argument[0] ? s->control.argument : NULL;
	enum clew_err err = CLEW_OK;
	struct buf text = {0};

	switch (command) {
	case REC_COMMAND_ENABLE:
	case REC_COMMAND_DISABLE:
		if (!order(s, command == REC_COMMAND_ENABLE ? REC_ORDER_ENABLE : REC_ORDER_DISABLE,
			   name))
			rec_say(s->ui, REC_WARNING, "--control: no event '%s'", name ? name : "");
		break;
	case REC_COMMAND_SNAPSHOT:
		take_snapshot(s);
		err = drain(s, error); /* it is acknowledged when it is written */
		break;
	case REC_COMMAND_STOP:
		s->must_stop = true;
		break;
	case REC_COMMAND_EVLIST:
		vec_for_each (&s->stream.evlist.evsels, e)
			buf_printf(&text, "%s\n", (*e)->name);
		break;
	case REC_COMMAND_UNKNOWN:
		rec_say(s->ui, REC_WARNING,
			"--control: unknown command; there are enable, disable, snapshot, stop, "
			"ping, evlist");
		return CLEW_OK;
	case REC_COMMAND_PING:
	case REC_COMMAND_NONE:
		break;
	}
	if (err == CLEW_OK)
		rec_control_ack(&s->control, text.nr ? buf_cstr(&text) : NULL);
	buf_done(&text);
	return err;
}

static void drop_ended(struct session *s)
{
	rec_sources_unwatch(&s->sources, &s->poll);
	for (size_t i = s->task_poll; i < s->task_poll_end; i++) {
		if (s->poll.data[i].fd < 0 || !os_poll_is_ended(&s->poll, (int)i))
			continue;
		s->poll.data[i].fd = -1;
		if (--s->nr_tasks == 0)
			s->must_stop = true;
	}
	if (os_poll_is_ended(&s->poll, s->control_poll))
		s->poll.data[s->control_poll].fd = -1; /* its other side went away */
}

static int timeout_ms(const struct session *s, uint64_t now)
{
	const struct rec_switch *w = &s->options->switch_output;
	uint64_t until = UINT64_MAX;
	int sleep_ms = rec_sources_sleep_ms(&s->sources);

	if (s->ui->progress)
		until = s->progress_at_ns;
	if (s->enable_at_ns && s->enable_at_ns < until)
		until = s->enable_at_ns;
	if (w->ns && s->stream.file.start_ns + w->ns < until)
		until = s->stream.file.start_ns + w->ns;
	if (sleep_ms >= 0 && until > now + (unsigned int)sleep_ms * NS_PER_MS)
		return sleep_ms;
	/* Now and then all goes to the file, so that a killed recording has lost little. */
	if (until > now + MAX_SLEEP_MS * NS_PER_MS)
		return MAX_SLEEP_MS;
	return until <= now ? 0 : (int)((until - now) / NS_PER_MS) + 1;
}

static void report_progress(struct session *s, uint64_t now)
{
	struct rec_progress p = {.elapsed_ns = now - s->start_ns,
				 .samples = s->stream.drain.samples,
				 .lost = s->stream.drain.lost,
				 .bytes = rec_stream_bytes(&s->stream),
				 .nr_files = s->stream.nr_files};

	if (!s->ui->progress || now < s->progress_at_ns)
		return;
	s->progress_at_ns = now + PROGRESS_MS * NS_PER_MS;
	s->ui->progress(s->ui->ctx, &p);
}

static void check_limits(struct session *s, uint64_t now)
{
	const struct rec_options *o = s->options;
	const struct rec_switch *w = &o->switch_output;

	if (s->enable_at_ns && now >= s->enable_at_ns) {
		s->enable_at_ns = 0;
		order(s, REC_ORDER_ENABLE, NULL);
	}
	if (o->max_bytes && rec_stream_bytes(&s->stream) >= o->max_bytes) {
		rec_say(s->ui, REC_NOTE, "reached --max-size");
		s->must_stop = true;
	}
	if (o->snapshot.max && s->stream.drain.nr_snapshots >= o->snapshot.max)
		s->must_stop = true;
	if (w->bytes && perf_writer_size(s->stream.file.writer) >= w->bytes)
		s->must_switch = true;
	if (w->ns && now - s->stream.file.start_ns >= w->ns)
		s->must_switch = true;
}

static enum clew_err loop(struct session *s, struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	while (!s->must_stop && err == CLEW_OK) {
		uint64_t now = os_clock_ns();
		enum rec_command command;
		int number, n = os_poll_wait(&s->poll, timeout_ms(s, now));

		if (n < 0)
			return rec_fail_os(error, n, "poll");
		while ((number = os_signal_next(s->signal_fd)))
			on_signal(s, number);
		err = drain(s, error);
		while (err == CLEW_OK && (command = rec_control_next(&s->control)))
			err = on_command(s, command, error);
		drop_ended(s);
		now = os_clock_ns();
		check_limits(s, now);
		report_progress(s, now);
		if (s->must_switch && !s->must_stop && err == CLEW_OK)
			err = rec_stream_switch(&s->stream, error);
		s->must_switch = false;
	}
	return err;
}

static enum clew_err start_sources(struct session *s, struct rec_error *error)
{
	const struct rec_start start = {.child_pid = s->child.pid,
					.is_delayed = s->options->delay_ms != 0};

	s->start_ns = os_clock_ns();
	if (s->options->delay_ms > 0)
		s->enable_at_ns = s->start_ns + (uint64_t)s->options->delay_ms * NS_PER_MS;
	return rec_sources_start(&s->sources, &start, error);
}

static enum clew_err start_command(struct session *s, struct rec_error *error)
{
	int err;

	if (!s->child.pid)
		return CLEW_OK;
	err = os_child_go(&s->child);
	if (!err)
		return CLEW_OK;
	os_child_reap(&s->child, true);
	s->result->has_command_failed_to_start = true;
	s->result->exit_code = os_child_exit_code(&s->child);
	return rec_fail_os(error, err, "cannot run '%s'", s->options->argv[0]);
}

/* A recording that was stopped takes its command along, as perf does; one that ignores that is left
 * running. */
static void end_command(struct session *s)
{
	int number = s->result->signal == SIGHUP ? SIGHUP : SIGTERM;
	uint64_t until = os_clock_ns() + CHILD_GRACE_MS * NS_PER_MS;

	if (!s->child.pid)
		return;
	if (!os_child_reap(&s->child, false))
		os_child_signal(&s->child, number);
	while (!os_child_reap(&s->child, false) && os_clock_ns() < until) {
		struct os_poll one = {0};

		os_poll_add(&one, s->signal_fd);
		os_poll_wait(&one, CHILD_STEP_MS);
		os_signal_next(s->signal_fd);
		os_poll_done(&one);
	}
	if (s->child.is_ended)
		s->result->exit_code = os_child_exit_code(&s->child);
	else
		rec_say(s->ui, REC_WARNING, "'%s' (pid %d) does not end: it continues unrecorded",
			s->options->argv[0], s->child.pid);
}

static bool has_trace(const struct session *s)
{
	vec_for_each (&s->counters.rings, r)
		if (r->again.aux_bytes || (r->ring.aux && os_ring_aux_head(&r->ring)))
			return true;
	return false;
}

static const char *why_empty(const struct session *s)
{
	if (s->stream.drain.samples || has_trace(s))
		return NULL;
	if (s->options->is_no_samples)
		return NULL;
	if (s->stream.drain.lost)
		return "all samples were lost: the buffers were full; try a larger -m";
	if (s->options->delay_ms)
		return "recording was still delayed or disabled when it ended";
	if (s->target.is_attached)
		return "the watched tasks ran too little for a sample, or not at all";
	return "the command ran too short for a sample, or the event never happened; try a higher "
	       "-F, or -c 1";
}

/* What is under way gets some time: tasks that are in the kernel come out of it and give their
 * stacks. */
static enum clew_err drain_pending(struct session *s, struct rec_error *error)
{
	uint64_t wait_ms = s->options->has_drain_ms ? s->options->drain_ms : DRAIN_MS;
	uint64_t now = os_clock_ns(), until = now + wait_ms * NS_PER_MS;
	uint64_t give_up = until + BUSY_DRAIN_MS * NS_PER_MS;
	enum rec_pending pending;
	enum clew_err err;

	if (!rec_sources_stop(&s->sources))
		return CLEW_OK;
	err = drain(s, error);
	while (err == CLEW_OK && (pending = rec_sources_pending(&s->sources)) &&
	       os_clock_ns() < (pending == REC_PENDING_OWN ? give_up : until)) {
		struct os_poll none = {0};

		os_poll_wait(&none, DRAIN_STEP_MS);
		err = drain(s, error);
	}
	if (err == CLEW_OK)
		rec_sources_last_call(&s->sources);
	return err;
}

/* The disk is full: the file is kept as far as it was written, and not merged. */
static void report_rescued(const struct session *s, const struct rec_error *error)
{
	rec_say(s->ui, REC_WARNING, "%s; what was written until then is whole", error->text);
	if (rec_stream_awaits_merge(&s->stream))
		rec_say(s->ui, REC_WARNING,
			"%s: user stacks remain separate: 'clew inject --merge-stacks' merges "
			"them into a new file",
			s->stream.file.path);
}

static void report_skips(const struct session *s)
{
	uint64_t nr = 0;

	vec_for_each (&s->counters.rings, r)
		nr += r->ring.nr_skips;
	if (nr)
		rec_say(s->ui, REC_WARNING,
			"the kernel's position in a buffer was impossible %llu time%s: what was unread "
			"there is lost",
			(unsigned long long)nr, nr == 1 ? "" : "s");
}

static enum clew_err finish(struct session *s, enum clew_err err, struct rec_error *error)
{
	struct rec_result *r = s->result;
	bool is_disk_full = err == CLEW_OS && s->stream.file.os_errno;

	order(s, REC_ORDER_DISABLE, NULL);
	if (err == CLEW_OK)
		err = drain_pending(s, error);
	if (err == CLEW_OK) {
		err = rec_stream_finish(&s->stream, error);
		is_disk_full = err == CLEW_OS && s->stream.file.os_errno;
	}
	if (is_disk_full && rec_stream_rescue(&s->stream)) {
		report_rescued(s, error);
		r->was_disk_full = true;
		err = CLEW_OK;
	}
	rec_sources_report(&s->sources, s->options->is_verbose);
	report_skips(s);
	r->samples = s->stream.drain.samples;
	r->lost = s->stream.drain.lost;
	r->bytes = rec_stream_bytes(&s->stream);
	r->nr_files = s->stream.nr_files;
	r->why_empty = why_empty(s);
	snprintf(r->last_path, sizeof(r->last_path), "%s", s->stream.file.path);
	return err;
}

static void report_opened(const struct session *s)
{
	const struct rec_counters *c = &s->counters;

	vec_for_each (&c->list, e) {
		const struct perf_attr *a = &e->attr;
		size_t nr = 0;

		for (size_t i = 0; i < c->nr_places; i++)
			nr += e->fds[i] >= 0;
		rec_say(s->ui, REC_NOTE,
			"%s: type %u config %#llx %s %llu sample_type %#llx flags %#llx: %zu open%s%s",
			e->name, a->type, (unsigned long long)a->config,
			a->flags & PERF_ATTR_FREQ ? "freq" : "period",
			(unsigned long long)a->sample_period, (unsigned long long)a->sample_type,
			(unsigned long long)a->flags, nr,
			e->event && e->event->filter ? ", filter " : "",
			e->event && e->event->filter ? e->event->filter : "");
	}
	rec_say(s->ui, REC_NOTE, "%zu tasks, %zu CPUs, %zu buffers of %zu KiB", s->target.tids.nr,
		s->target.cpus.nr, c->rings.nr, c->data_bytes / 1024);
}

static enum clew_err run(struct session *s, struct rec_event_list *events, struct rec_error *error)
{
	const struct rec_opening opening = {s->asked, &s->settled,  events,     &s->target,
					    s->ui,    &s->counters, &s->sources};
	enum clew_err err = prepare(s, error);

	progress_begin(s->ui->steps, "opening events", 0);
	if (err == CLEW_OK)
		err = rec_open_events(&opening, error);
	if (err == CLEW_OK)
		rec_sources_prepare(&s->sources);
	if (err == CLEW_OK && !fill_poll(s))
		err = rec_fail_memory(error);
	if (err == CLEW_OK && s->options->is_verbose)
		report_opened(s);
	progress_begin(s->ui->steps, "looking at what runs", 0);
	if (err == CLEW_OK)
		err = rec_stream_open(&s->stream, error);
	progress_begin(s->ui->steps, NULL, 0);
	if (err == CLEW_OK)
		err = start_sources(s, error);
	if (err == CLEW_OK)
		err = start_command(s, error);
	if (err != CLEW_OK) {
		rec_stream_discard(&s->stream);
		return err;
	}
	err = loop(s, error);
	progress_begin(s->ui->steps, "finishing the file", 0);
	err = finish(s, err, error);
	end_command(s);
	return err;
}

static void done(struct session *s)
{
	rec_stream_done(&s->stream);
	rec_sources_done(&s->sources);
	rec_counters_done(&s->counters);
	rec_target_done(&s->target);
	rec_control_done(&s->control);
	os_child_done(&s->child);
	os_poll_done(&s->poll);
	os_signal_close(s->signal_fd);
}

enum clew_err rec_session_run(const struct rec_options *o, struct rec_event_list *events,
			      const struct rec_ui *ui, struct rec_result *ret,
			      struct rec_error *error)
{
	struct session s = {
		.asked = o,
		.options = &s.settled,
		.settled = *o,
		.ui = ui,
		.result = ret,
		.signal_fd = -1,
		.control = {.fd = -1,                .ack_fd = -1},
		.stream = { .options = &s.settled,
			    .sources = &s.sources,
			    .events = events,
			    .ui = ui,
			    .counters = &s.counters,
			    .file = {.out = {.fd = -1}}}
        };
	enum clew_err err;

	*ret = (struct rec_result){0};
	err = run(&s, events, error);
	done(&s);
	return err;
}
