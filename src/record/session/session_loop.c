/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "os/clock.h"
#include "os/signals.h"
#include "record/session/session_impl.h"

enum {
	PROGRESS_MS = 500,
	/* Now and then all goes to the file, so that a killed recording has lost little; and where
	 * generated code has its names (perf_maps.h) is seen while the process runs. */
	MAX_SLEEP_MS = 200,
	FIRST_SLEEP_MS = 100, /* in the first second */
};

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

bool session_fill_poll(struct session *s)
{
	s->signal_poll = os_poll_add(&s->poll, s->signal_fd);
	s->control_poll = os_poll_add(&s->poll, s->control.fd);
	if (s->signal_poll < 0 || s->control_poll < 0)
		return false;
	return rec_sources_watch(&s->sources, &s->poll) && poll_tasks(s);
}

size_t session_order(const struct session *s, enum rec_order_kind kind, const char *event)
{
	return rec_sources_order(&s->sources, &(struct rec_order){kind, event});
}

static void take_snapshot(struct session *s)
{
	session_order(s, REC_ORDER_SNAPSHOT, NULL);
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

enum clew_err session_drain(struct session *s, struct rec_error *error)
{
	struct rec_file *f = &s->stream.file;
	enum clew_err err = rec_drain_pass(&s->stream.drain, f, false);

	if (err == CLEW_OS)
		return rec_fail_os(error, f->os_errno, "cannot write '%s'", f->path);
	if (err != CLEW_OK)
		return rec_fail(error, err, "cannot write '%s': %s", f->path, clew_err_name(err));
	if (s->options->sink)
		s->options->sink->round(s->options->sink->ctx);
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
		if (!session_order(
			    s, command == REC_COMMAND_ENABLE ? REC_ORDER_ENABLE : REC_ORDER_DISABLE,
			    name))
			rec_say(s->ui, REC_WARNING, "--control: no event '%s'", name ? name : "");
		break;
	case REC_COMMAND_SNAPSHOT:
		take_snapshot(s);
		err = session_drain(s, error); /* it is acknowledged when it is written */
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
	uint64_t max_ms = now - s->start_ns < 1000 * NS_PER_MS ? FIRST_SLEEP_MS : MAX_SLEEP_MS;

	if (s->ui->progress)
		until = s->progress_at_ns;
	if (s->enable_at_ns && s->enable_at_ns < until)
		until = s->enable_at_ns;
	if (w->ns && s->stream.file.start_ns + w->ns < until)
		until = s->stream.file.start_ns + w->ns;
	if (sleep_ms >= 0 && until > now + (unsigned int)sleep_ms * NS_PER_MS)
		return sleep_ms;
	if (until > now + max_ms * NS_PER_MS)
		return (int)max_ms;
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
		session_order(s, REC_ORDER_ENABLE, NULL);
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

enum clew_err session_loop(struct session *s, struct rec_error *error)
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
		err = session_drain(s, error);
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
