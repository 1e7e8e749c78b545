/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/rec_session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/proc.h"
#include "os/signals.h"
#include "record/open/command.h"
#include "record/session/open_events.h"
#include "record/session/session_impl.h"

enum { DRAIN_MS = 200, DRAIN_STEP_MS = 2, BUSY_DRAIN_MS = 10000 };

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
	err = rec_command_fork(&s->child, o, &s->result->exit_code, error);
	s->result->has_command_failed_to_start = s->result->exit_code != 0;
	if (err != CLEW_OK)
		return err;
	s->stream.child_pid = s->child.pid;
	if (!s->target.is_system_wide && !s->target.is_attached)
		s->target.tids.data[0] = s->child.pid;
	return CLEW_OK;
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
	enum clew_err err;

	if (!s->child.pid)
		return CLEW_OK;
	err = rec_command_start(&s->child, s->options, &s->result->exit_code, error);
	s->result->has_command_failed_to_start = err != CLEW_OK;
	return err;
}

static void end_command(struct session *s)
{
	if (s->child.pid)
		rec_command_end(&s->child, s->options, s->ui, s->signal_fd, s->result->signal,
				&s->result->exit_code);
}

static bool has_trace(const struct session *s)
{
	vec_for_each (&s->counters.rings, r)
		if (r->again.aux_bytes || (r->ring.aux && os_ring_aux_head(&r->ring)))
			return true;
	return s->counters.soft_bytes;
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
	err = session_drain(s, error);
	while (err == CLEW_OK && (pending = rec_sources_pending(&s->sources)) &&
	       os_clock_ns() < (pending == REC_PENDING_OWN ? give_up : until)) {
		struct os_poll none = {0};

		os_poll_wait(&none, DRAIN_STEP_MS);
		err = session_drain(s, error);
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

	session_order(s, REC_ORDER_DISABLE, NULL);
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
	if (err == CLEW_OK && !session_fill_poll(s))
		err = rec_fail_memory(error);
	if (err == CLEW_OK && s->options->is_verbose)
		report_opened(s);
	progress_begin(s->ui->steps, "looking at what runs", 0);
	if (err == CLEW_OK)
		err = rec_stream_open(&s->stream, error);
	progress_begin(s->ui->steps, NULL, 0);
	if (s->ui->ready)
		s->ui->ready(s->ui->ctx);
	if (err == CLEW_OK)
		err = start_sources(s, error);
	if (err == CLEW_OK)
		err = start_command(s, error);
	if (err != CLEW_OK) {
		rec_stream_discard(&s->stream);
		return err;
	}
	err = session_loop(s, error);
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
