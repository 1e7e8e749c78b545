/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who.h"

#include <stdio.h>

#include "base/map_u64.h"
#include "who/who_impl.h"

enum {
	THREAD_BYTES = sizeof(struct who_thread) + sizeof(struct who_space) + BUDGET_TABLE_BYTES,
};

static bool make_others(struct who *w)
{
	struct who_thread *t = w->others = mem_zalloc(sizeof(*t));

	if (!t)
		return false;
	t->space = who_space_new(w);
	if (!t->space)
		return false;
	t->pid = t->tid = UINT32_MAX;
	t->comm = who_not_kept;
	return true;
}

struct who *who_new(struct budget *budget)
{
	struct who *w = mem_zalloc(sizeof(*w));
	struct who_thread *idle;

	if (!w)
		return NULL;
	w->account.budget = w->guests.account.budget = budget;
	w->pool.account = &w->account;
	w->kernel = who_space_new(w);
	idle = w->kernel && make_others(w) ? who_thread_get(w, 0, 0) : NULL;
	if (!idle) {
		who_free(w);
		return NULL;
	}
	idle->comm = "swapper";
	idle->has_comm = true;
	return w;
}

static void thread_free(struct who *w, struct who_thread *t)
{
	who_space_release(w, t->space);
	mem_free(t);
}

/* It is in no table any more. */
static void thread_forget(struct who *w, struct who_thread *t)
{
	thread_free(w, t);
	budget_account_give(&w->account, THREAD_BYTES);
}

void who_free(struct who *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->threads.cap; i++) {
		if (w->threads.used[i])
			thread_free(w, (struct who_thread *)(uintptr_t)w->threads.slots[i].value);
	}
	map_u64_done(&w->threads);
	who_space_release(w, w->kernel);
	if (w->others)
		thread_free(w, w->others);
	budget_account_done(&w->account);
	who_guests_done(&w->guests);
	intern_done(&w->texts);
	who_map_pool_done(&w->pool);
	mem_free(w);
}

void who_keep_maps_over_exec(struct who *w)
{
	w->keeps_maps_over_exec = true;
}

struct who_space *who_kernel(struct who *w)
{
	return w->kernel;
}

struct who_guests *who_guests(struct who *w)
{
	return &w->guests;
}

struct who_thread *who_thread_find(const struct who *w, uint32_t tid)
{
	uint64_t *t = map_u64_get(&w->threads, tid);

	return t ? (struct who_thread *)(uintptr_t)*t : NULL;
}

static const char *name_of(struct who *w, const char *name)
{
	const char *text = who_not_kept;

	return who_text(w, name, &text, NULL) == CLEW_NO_MEMORY ? NULL : text;
}

static const char *name_by_tid(struct who *w, uint32_t tid)
{
	const struct who_guest_id *guest = who_guests_id(&w->guests, tid);
	char name[16];

	if (guest && !guest->id)
		return "swapper"; /* as the host's */
	if (guest)
		tid = guest->id;
	snprintf(name, sizeof(name), ":%d", (int)tid);
	return name_of(w, name);
}

/* Threads of a process share its leader's space. */
static bool give_space(struct who *w, struct who_thread *t)
{
	struct who_thread *leader = NULL;

	if (t->pid != t->tid && t->pid != UINT32_MAX)
		leader = who_thread_get(w, t->pid, t->pid);
	t->space = leader ? who_space_hold(leader->space) : who_space_new(w);
	return t->space;
}

static struct who_thread *thread_new(struct who *w, uint32_t pid, uint32_t tid)
{
	struct who_thread *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->pid = pid;
	t->tid = tid;
	t->is_guest = who_guests_id(&w->guests, tid);
	t->comm = name_by_tid(w, tid);
	if (!t->comm || !map_u64_put(&w->threads, tid, (uintptr_t)t)) {
		mem_free(t);
		return NULL;
	}
	return t;
}

static bool has_room(struct who *w)
{
	return budget_account_take(&w->account, THREAD_BYTES, "threads of");
}

static struct who_thread *thread_add(struct who *w, uint32_t pid, uint32_t tid)
{
	struct who_thread *t;

	if (!has_room(w))
		return w->others;
	t = thread_new(w, pid, tid);
	if (t && !give_space(w, t)) {
		map_u64_remove(&w->threads, tid);
		mem_free(t);
		return NULL;
	}
	return t;
}

/* A thread first met without its process: it moves into the process's space once that is known. */
static void learn_pid(struct who *w, struct who_thread *t, uint32_t pid)
{
	struct who_thread *leader;

	t->pid = pid;
	if (pid == t->tid)
		return;
	leader = who_thread_get(w, pid, pid);
	if (!leader)
		return;
	who_space_release(w, t->space);
	t->space = who_space_hold(leader->space);
}

struct who_thread *who_thread_get(struct who *w, uint32_t pid, uint32_t tid)
{
	struct who_thread *t = who_thread_find(w, tid);

	if (!t)
		return thread_add(w, pid, tid);
	if (t->pid == UINT32_MAX && pid != UINT32_MAX)
		learn_pid(w, t, pid);
	return t;
}

enum clew_err who_take_comm(struct who *w, const struct perf_comm *c)
{
	struct who_thread *t = who_thread_get(w, c->pid, c->tid);
	const char *comm;

	if (t == w->others)
		return CLEW_OK;
	comm = t ? name_of(w, c->comm) : NULL;
	if (!comm)
		return CLEW_NO_MEMORY;
	t->comm = comm;
	t->has_comm = true;
	if (c->is_exec && !w->keeps_maps_over_exec) /* the old program's mappings are gone; the new
						       one's follow */
		who_space_exec(w, t->space);
	return CLEW_OK;
}

enum clew_err who_take_fork(struct who *w, const struct perf_task *f)
{
	bool is_orphan = who_is_orphan(f);
	struct who_thread *parent = is_orphan ? w->others : who_thread_get(w, f->ppid, f->ptid);
	struct who_thread *old, *t;

	if (!parent)
		return CLEW_NO_MEMORY;
	old = who_thread_find(w, f->tid);
	if (old == parent) /* nonsense, or a recorder's own line for a running task */
		return CLEW_OK;
	if (old) { /* the number is used again */
		map_u64_remove(&w->threads, f->tid);
		thread_forget(w, old);
	}
	if (!has_room(w))
		return CLEW_OK;
	t = thread_new(w, f->pid, f->tid);
	if (!t)
		return CLEW_NO_MEMORY;
	if (is_orphan)
		give_space(w, t);
	else if (f->pid == parent->pid)
		t->space = who_space_hold(parent->space);
	else if (f->is_recorders) /* its own maps follow; the parent's are none of them */
		give_space(w, t);
	else
		t->space = who_space_clone(w, parent->space);
	if (!t->space) {
		map_u64_remove(&w->threads, f->tid);
		mem_free(t);
		return CLEW_NO_MEMORY;
	}
	if (parent->has_comm && !is_orphan) {
		t->comm = parent->comm;
		t->has_comm = true;
	}
	return CLEW_OK;
}
