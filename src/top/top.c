/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "os/file.h"
#include "os/ptrace.h"
#include "top/top_impl.h"

#define SAVED_NS (TOP_SAVED_SECONDS * 1000000000ull)

static void wake(void *ctx)
{
	top_send(ctx, "ping\n");
}

void top_send(struct top *t, const char *command)
{
	os_write_all(t->control_write, command, strlen(command));
}

struct top *top_new(const struct top_opts *opts, int *ret_errno)
{
	struct top *t = mem_zalloc(sizeof(*t));
	int err = 0;

	*ret_errno = 0;
	if (!t)
		return NULL;
	t->opts = *opts;
	t->refresh_ns = opts->refresh_ns;
	t->is_zeroed = opts->is_zeroed;
	t->control_read = t->control_write = -1;
	t->lock = os_lock_new();
	t->stream = top_stream_new(top_stream_bytes(opts), wake, t);
	if (t->stream && opts->keeps_history)
		top_stream_keep(t->stream, top_stream_bytes(opts), SAVED_NS);
	err = os_pipe(&t->control_read, &t->control_write);
	if (t->lock && t->stream && !err) {
		snprintf(t->control, sizeof(t->control), "fd:%d", t->control_read);
		return t;
	}
	*ret_errno = -err;
	top_free(t);
	return NULL;
}

struct rec_sink top_sink(struct top *t)
{
	return top_stream_sink(t->stream);
}

const char *top_control(const struct top *t)
{
	return t->control;
}

bool top_start(struct top *t)
{
	t->thread = os_thread_start(top_analysis_main, t);
	return t->thread;
}

static void view_free(struct top_view *v)
{
	report_feed_free(v->feed);
	mem_free(v);
}

/* With the lock. */
static void release(struct top_view *v)
{
	if (v && !--v->nr_users)
		view_free(v);
}

void top_release(struct top *t, struct top_view *view)
{
	os_lock(t->lock);
	release(view);
	os_unlock(t->lock);
}

struct top_view *top_hold(struct top *t, struct top_view *v)
{
	os_lock(t->lock);
	v->nr_users++;
	os_unlock(t->lock);
	return v;
}

void top_publish(struct top *t, struct top_view *v)
{
	os_lock(t->lock);
	release(t->view);
	t->view = v;
	t->is_taken = false;
	os_lock_wake_all(t->lock);
	os_unlock(t->lock);
}

bool top_is_taken(struct top *t)
{
	bool is_taken;

	os_lock(t->lock);
	is_taken = !t->view || t->is_taken;
	os_unlock(t->lock);
	return is_taken;
}

void top_wait_taken(struct top *t)
{
	os_lock(t->lock);
	while (t->view && !t->is_taken && !t->is_stopped)
		os_lock_wait(t->lock);
	os_unlock(t->lock);
}

struct top_view *top_wait(struct top *t, struct top_view *old, int ms, bool *ret_is_end)
{
	struct top_view *v = NULL;

	os_lock(t->lock);
	while ((!t->view || t->is_taken) && !t->is_ended && ms < 0)
		os_lock_wait(t->lock);
	if ((!t->view || t->is_taken) && !t->is_ended && ms > 0)
		os_lock_wait_ms(t->lock, (unsigned int)ms);
	if (t->view && !t->is_taken) {
		v = t->view;
		v->nr_users++;
		t->is_taken = true;
		release(old);
		os_lock_wake_all(t->lock);
	}
	*ret_is_end = !v && t->is_ended;
	os_unlock(t->lock);
	return v;
}

void top_stop(struct top *t)
{
	bool is_first;

	os_lock(t->lock);
	is_first = !t->is_stopped;
	t->is_stopped = true;
	os_lock_wake_all(t->lock);
	os_unlock(t->lock);
	if (!is_first)
		return;
	top_stream_drop(t->stream);
	top_send(t, "stop\n");
}

void top_set_refresh(struct top *t, uint64_t ns)
{
	os_lock(t->lock);
	t->refresh_ns = ns;
	os_unlock(t->lock);
}

void top_set_zeroed(struct top *t, bool is_zeroed)
{
	os_lock(t->lock);
	t->is_zeroed = is_zeroed;
	os_unlock(t->lock);
}

void top_pause(struct top *t, bool is_paused)
{
	top_send(t, is_paused ? "disable\n" : "enable\n");
}

static void request_stream(void *ctx)
{
	top_send(ctx, "snapshot\n");
}

bool top_save(struct top *t, struct buf *ret)
{
	return top_stream_save(t->stream, SAVED_NS, request_stream, t, ret);
}

enum clew_err top_finish(struct top *t, struct clew_diag *diag)
{
	top_stream_close(t->stream);
	os_thread_join(t->thread);
	t->thread = NULL;
	*diag = t->a.diag;
	return t->a.diag.code;
}

void top_free(struct top *t)
{
	if (!t)
		return;
	top_analysis_done(t);
	if (t->view)
		release(t->view);
	top_stream_free(t->stream);
	os_lock_free(t->lock);
	os_close(t->control_read);
	os_close(t->control_write);
	mem_free(t);
}
