/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/map_u64.h"
#include "base/mem.h"
#include "isa/x86/x86_branch.h"
#include "os/file.h"
#include "record/aux/aux_drain.h"
#include "record/aux/aux_info.h"
#include "record/soft/soft_thread.h"

enum { MAX_MESSAGE = 64 << 20, READY_MS = 10000 };

struct soft_source {
	struct rec_counters *counters;
	const struct rec_ui *ui;
	struct soft_plan plan;
	char *function; /* the plan's names */
	struct buf info;
	int pid; /* of the process that traces; 0: none */
	int fd, write_fd, poll;
	int child;
	bool has_processes;  /* -p, -u: and not threads alone */
	bool is_ended;       /* the process is gone */
	struct buf in;       /* received, not yet taken */
	struct map_u64 sent; /* stream -> bytes in the file */
	struct soft_totals totals;
	bool has_totals;
};

static int run(void *ctx)
{
	struct soft_source *s = ctx;
	const struct rec_target *t = s->counters->target;
	const struct soft_target started = {.child = s->child},
				 attached = {.tids = &t->tids,
					     .pids = s->has_processes ? &t->pids : NULL};
	struct soft_samples samples = {0};

	os_close(s->fd);
	soft_samples_open(&samples, s->counters, &s->plan);
	return soft_trace(&s->plan, &samples, s->write_fd, t->is_attached ? &attached : &started);
}

/* --- messages --- */

static void receive(struct soft_source *s)
{
	long n = 1;

	while (s->fd >= 0 && n > 0) {
		if (!buf_reserve(&s->in, 65536))
			break;
		n = os_read(s->fd, s->in.data + s->in.nr, 65536);
		s->in.nr += n > 0 ? (size_t)n : 0;
	}
	if (n == 0 || (n < 0 && n != -EAGAIN))
		s->is_ended = true;
}

static enum clew_err put_trace(struct soft_source *s, struct rec_pass *p,
			       const struct soft_header *h, const char *data)
{
	uint64_t *at = map_u64_get(&s->sent, h->idx), offset = at ? *at : 0;
	const struct rec_aux_place place = {
		.idx = h->idx, .tid = (uint32_t)h->tid, .cpu = UINT32_MAX};
	struct bytes part[2] = {bytes_of(data, h->size), {0}};
	enum clew_err err = rec_aux_put_at(p->file->writer, &place, offset, part, h->number);

	if (err == CLEW_OK && !map_u64_put(&s->sent, h->idx, offset + h->size))
		err = CLEW_NO_MEMORY;
	s->counters->soft_bytes += h->size;
	p->has_any = true;
	return err;
}

static enum clew_err take(struct soft_source *s, struct rec_pass *p, const struct soft_header *h,
			  const char *data)
{
	if (h->kind == SOFT_TRACE)
		return put_trace(s, p, h, data);
	if (h->kind == SOFT_TOTALS && h->size == sizeof(s->totals)) {
		memcpy(&s->totals, data, h->size);
		s->has_totals = true;
	}
	return CLEW_OK;
}

/* @return false: not all of it is there yet. */
static bool next(const struct soft_source *s, size_t at, struct soft_header *ret)
{
	if (s->in.nr - at < sizeof(*ret))
		return false;
	memcpy(ret, s->in.data + at, sizeof(*ret));
	return ret->size <= s->in.nr - at - sizeof(*ret);
}

static enum clew_err pass(void *ctx, struct rec_pass *p)
{
	struct soft_source *s = ctx;
	enum clew_err err = CLEW_OK;
	struct soft_header h;
	size_t at = 0;

	receive(s);
	for (; err == CLEW_OK && next(s, at, &h); at += sizeof(h) + h.size)
		err = take(s, p, &h, s->in.data + at + sizeof(h));
	memmove(s->in.data, s->in.data + at, s->in.nr - at);
	s->in.nr -= at;
	return s->in.is_failed ? CLEW_NO_MEMORY : err;
}

/* --- its life --- */

static bool watch(void *ctx, struct os_poll *p)
{
	struct soft_source *s = ctx;

	s->poll = os_poll_add(p, s->fd);
	return s->poll >= 0;
}

static void unwatch(void *ctx, struct os_poll *p)
{
	struct soft_source *s = ctx;

	if (s->is_ended)
		p->data[s->poll].fd = -1;
}

static void begin_file(void *ctx, struct buf *records)
{
	const struct soft_source *s = ctx;

	buf_add(records, s->info.data, s->info.nr);
}

/* It is either traced from its first instruction, or there is a reason. */
static int wait_until_ready(struct soft_source *s)
{
	struct os_poll one = {0};
	struct soft_header h;

	os_poll_add(&one, s->fd);
	while (!s->is_ended && !next(s, 0, &h) && os_poll_wait(&one, READY_MS) > 0)
		receive(s);
	os_poll_done(&one);
	if (!next(s, 0, &h) || h.kind != SOFT_READY)
		return -EIO;
	return -(int)h.number;
}

static enum clew_err refuse(const struct soft_source *s, int err, struct rec_error *error)
{
	const struct rec_ints *tids = &s->counters->target->tids;
	int tid = s->counters->target->is_attached ? tids->data[0] : s->child;

	if (err == -EPERM)
		return rec_fail_os(
			error, err,
			"soft_pt: thread %d may not be traced: another program traces it (gdb, "
			"strace), it belongs to someone else, or kernel.yama.ptrace_scope allows "
			"only children and root",
			tid);
	if (err == -ESRCH)
		return rec_fail_os(error, err, "soft_pt: there is no thread %d (any more)", tid);
	return rec_fail_os(error, err, "soft_pt: thread %d cannot be traced", tid);
}

static enum clew_err start(void *ctx, const struct rec_start *st, struct rec_error *error)
{
	struct soft_source *s = ctx;
	int err;

	s->child = st->child_pid;
	s->pid = os_process_start(run, s);
	if (s->pid < 0) {
		err = s->pid;
		s->pid = 0;
		return rec_fail_os(error, err, "soft_pt: cannot fork");
	}
	os_close(s->write_fd);
	s->write_fd = -1;
	err = wait_until_ready(s);
	return err ? refuse(s, err, error) : CLEW_OK;
}

static void stop(void *ctx)
{
	struct soft_source *s = ctx;

	os_process_end(s->pid);
}

static enum rec_pending pending(const void *ctx)
{
	const struct soft_source *s = ctx;

	return s->pid && !s->is_ended ? REC_PENDING_OWN : REC_PENDING_NONE;
}

static void report(void *ctx, bool is_verbose)
{
	const struct soft_source *s = ctx;
	const struct soft_totals *t = &s->totals;

	if (!s->has_totals)
		rec_say(s->ui, REC_WARNING,
			"soft_pt: the tracing process ended early: the end of the trace is missing");
	if (s->plan.function && !t->nr_calls)
		rec_say(s->ui, REC_WARNING,
			"--trace-function %s: it was not called, or no function of that name, or "
			"several of one file, were loaded",
			s->plan.function);
	else if (s->plan.function)
		rec_say(s->ui, REC_NOTE, "%llu call%s of %s", (unsigned long long)t->nr_calls,
			t->nr_calls == 1 ? "" : "s", s->plan.function);
	if (t->nr_lost)
		rec_say(s->ui, REC_WARNING,
			"soft_pt: %llu times a thread was not where its code had to take it (code "
			"that changes while it runs?): trace is missing there",
			(unsigned long long)t->nr_lost);
	if (t->nr_left)
		rec_say(s->ui, REC_WARNING,
			"soft_pt: %llu threads did not stop within 3 s to be released",
			(unsigned long long)t->nr_left);
	if (is_verbose)
		rec_say(s->ui, REC_NOTE,
			"soft_pt: %llu threads, %llu times from a start to an end, %llu branches, "
			"%llu stops, %llu single steps, %llu bytes",
			(unsigned long long)t->nr_threads, (unsigned long long)t->nr_windows,
			(unsigned long long)t->nr_branches, (unsigned long long)t->nr_stops,
			(unsigned long long)t->nr_steps,
			(unsigned long long)s->counters->soft_bytes);
}

static void done(void *ctx)
{
	struct soft_source *s = ctx;

	if (s->pid > 0) {
		os_process_end(s->pid);
		os_process_join(s->pid);
	}
	os_close(s->fd);
	os_close(s->write_fd);
	soft_plan_done(&s->plan);
	map_u64_done(&s->sent);
	buf_done(&s->info);
	buf_done(&s->in);
	mem_free(s->function);
	mem_free(s);
}

static const struct rec_counter *soft_event(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (e->aux && e->aux->is_soft)
			return e;
	return NULL;
}

/* "main@libfoo.so" */
static bool take_function(struct soft_source *s, const struct rec_options *o)
{
	char *at;

	if (!o->trace_function)
		return true;
	s->function = mem_strdup(o->trace_function);
	if (!s->function)
		return false;
	at = strrchr(s->function, '@');
	if (at)
		*at++ = '\0';
	s->plan.function = s->function;
	s->plan.dso = at;
	return true;
}

static enum clew_err open_all(struct soft_source *s, const struct rec_counter *e,
			      const struct rec_options *o, struct rec_error *error)
{
	enum clew_err err;
	int n;

	if (!os_ptrace_is_possible() || !x86_can_decode())
		return rec_fail(
			error, CLEW_UNSUPPORTED,
			"soft_pt steps x86-64 programs on x86-64 machines, with a clew that "
			"was built with Zydis");
	err = soft_plan_make(&s->plan, s->counters->events, (uint32_t)(e - s->counters->list.data),
			     o, error);
	if (err == CLEW_OK)
		err = rec_aux_info(s->counters, e, &s->info, error);
	if (err != CLEW_OK)
		return err;
	n = os_pipe(&s->fd, &s->write_fd);
	if (n)
		return rec_fail_os(error, n, "soft_pt: cannot make a pipe");
	return take_function(s, o) ? CLEW_OK : rec_fail_memory(error);
}

enum clew_err soft_source_open(struct rec_source *ret, struct rec_counters *c,
			       const struct rec_options *o, const struct rec_ui *ui,
			       struct rec_error *error)
{
	static const struct rec_source_ops ops = {.watch = watch,
						  .unwatch = unwatch,
						  .begin_file = begin_file,
						  .start = start,
						  .pass = pass,
						  .stop = stop,
						  .pending = pending,
						  .report = report,
						  .done = done};
	const struct rec_counter *e = soft_event(c);
	struct soft_source *s;
	enum clew_err err;

	*ret = (struct rec_source){0};
	if (!e)
		return CLEW_OK;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return rec_fail_memory(error);
	*s = (struct soft_source){.counters = c,
				  .ui = ui,
				  .fd = -1,
				  .write_fd = -1,
				  .has_processes = (o->pids || o->user) && !o->tids};
	err = open_all(s, e, o, error);
	if (err != CLEW_OK) {
		done(s);
		return err;
	}
	*ret = (struct rec_source){.ops = &ops, .ctx = s};
	return CLEW_OK;
}
