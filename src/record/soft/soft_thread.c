/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_thread.h"

#include "base/mem.h"
#include "os/file.h"

struct soft_thread *soft_thread_find(const struct soft_tracer *x, int tid)
{
	uint64_t *at = map_u64_get(&x->by_tid, (uint64_t)tid);

	return at ? x->threads.data[*at] : NULL;
}

static struct soft_space *space_of(const struct soft_tracer *x, int pid)
{
	vec_for_each (&x->threads, t)
		if ((*t)->space && (*t)->space->code.pid == pid)
			return (*t)->space;
	return NULL;
}

static void let_go(struct soft_space *s)
{
	if (!s || --s->nr_users)
		return;
	soft_code_done(&s->code);
	mem_free(s);
}

static bool take_space(struct soft_tracer *x, struct soft_thread *t, int pid, bool is_new)
{
	struct soft_space *s = is_new ? NULL : space_of(x, pid);

	if (!s) {
		s = mem_zalloc(sizeof(*s));
		if (!s)
			return false;
		s->code.pid = pid;
		s->epoch = 1;
	}
	s->nr_users++;
	t->space = s;
	return true;
}

struct soft_thread *soft_thread_add(struct soft_tracer *x, int tid, int pid)
{
	struct soft_thread *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->nr_usable = OS_NR_BREAKPOINTS;
	t->stream.idx = x->nr_streams++;
	t->stream.clockid = x->plan->clockid;
	t->stream.psb_bytes = x->plan->psb_bytes;
	if (!take_space(x, t, pid, false) || !vec_push(&x->threads, t)) {
		let_go(t->space);
		mem_free(t);
		return NULL;
	}
	x->totals.nr_threads++;
	map_u64_put(&x->by_tid, (uint64_t)tid, x->threads.nr - 1);
	return t;
}

void soft_thread_exec(struct soft_tracer *x, struct soft_thread *t)
{
	int pid = t->space->code.pid;

	let_go(t->space);
	t->space = NULL;
	take_space(x, t, pid, true);
	t->slots_on = t->nr_fixed = 0; /* the kernel clears them */
	t->epoch = 0;
	t->has_stray_flag = t->steps_itself = t->did_so = false;
}

void soft_thread_remove(struct soft_tracer *x, struct soft_thread *t)
{
	uint64_t *at = map_u64_get(&x->by_tid, (uint64_t)t->tid);
	size_t i = at ? (size_t)*at : 0;

	soft_thread_send(x, t);
	map_u64_remove(&x->by_tid, (uint64_t)t->tid);
	x->threads.data[i] = x->threads.data[--x->threads.nr];
	if (i < x->threads.nr)
		map_u64_put(&x->by_tid, (uint64_t)x->threads.data[i]->tid, i);
	let_go(t->space);
	soft_watch_end(t);
	vec_done(&t->events);
	buf_done(&t->stream.bytes);
	mem_free(t);
}

void soft_send(struct soft_tracer *x, const struct soft_header *h, const void *data)
{
	if (x->is_deaf)
		return;
	x->is_deaf = os_write_all(x->fd, h, sizeof(*h)) ||
		     (h->size && os_write_all(x->fd, data, h->size));
	x->is_ending |= x->is_deaf;
}

void soft_thread_send(struct soft_tracer *x, struct soft_thread *t)
{
	struct soft_header h = {.kind = SOFT_TRACE, .idx = t->stream.idx, .tid = t->tid};

	soft_stream_pad(&t->stream);
	if (!t->stream.bytes.nr)
		return;
	h.size = (uint32_t)t->stream.bytes.nr;
	h.number = soft_stream_now(&t->stream);
	soft_send(x, &h, t->stream.bytes.data);
	buf_clear(&t->stream.bytes);
}
