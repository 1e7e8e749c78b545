/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_play.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "who/who_history.h"

struct play {
	const struct who_player *player;
	void *ctx;
	struct who_guests *guests;
	const struct perf_record *r;
	const struct who_stamp *stamp;
};

/* The kernel writes 0 for a task that the recorder's PID namespace does not contain, and -1 for one
 * that is dead: neither is a thread, nor has the idle task such records. */
static bool is_thread(const struct play *p, uint32_t tid)
{
	return p->stamp->machine || who_is_thread(tid);
}

/**
 * Its files are not the host's: they are looked for by build id, and in the folder of the machine,
 * as `perf --guestmount` has them.
 */
static void put_guest_path(struct buf *path, uint32_t machine, bool is_kernel, const char *name)
{
	/* Modules would have to be relocated, and the kernel's own map names no file. */
	if (is_kernel && strstr(name, ".ko"))
		buf_printf(path, "/%u/[%s]", machine, name);
	else
		buf_printf(path, "/%u%s%s", machine, *name == '/' ? "" : "/", name);
}

static enum clew_err play_guest_mmap(const struct play *p, bool is_kernel,
				     const struct perf_mmap *m)
{
	clew_auto(buf_done) struct buf path = {0};
	uint32_t machine = p->stamp->machine;
	struct perf_mmap own = *m;

	if (is_kernel && !machine)
		machine = m->pid; /* as perf kvm names it */
	if (!machine || machine == WHO_NONE || !p->guests)
		return CLEW_OK;
	own.pid = who_guests_number(p->guests, machine, is_kernel ? WHO_GUEST_KERNEL_PID : m->pid);
	own.tid = is_kernel ? own.pid : who_guests_number(p->guests, machine, m->tid);
	if (own.pid == WHO_NONE || own.tid == WHO_NONE)
		return CLEW_OK;
	put_guest_path(&path, machine, is_kernel, m->filename);
	own.filename = buf_cstr(&path);
	return path.is_failed ? CLEW_NO_MEMORY
			      : p->player->mmap(p->ctx, p->stamp->time, false, &own);
}

static enum clew_err play_mmap(const struct play *p)
{
	uint16_t mode = p->r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct perf_mmap m;

	if (perf_mmap_parse(p->r, &m) != CLEW_OK)
		return CLEW_BAD_FILE;
	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER)
		return play_guest_mmap(p, mode == PERF_RECORD_MISC_GUEST_KERNEL, &m);
	if (p->stamp->machine || (mode == PERF_RECORD_MISC_USER && !is_thread(p, m.pid)))
		return CLEW_OK;
	return p->player->mmap(p->ctx, p->stamp->time, mode == PERF_RECORD_MISC_KERNEL, &m);
}

enum { KSYMBOL_UNREGISTER = 1 };

/* An unloaded program keeps its range until another takes it: late samples still name it. */
static enum clew_err play_ksymbol(const struct play *p)
{
	struct perf_ksymbol k;

	if (perf_ksymbol_parse(p->r, &k) != CLEW_OK)
		return CLEW_BAD_FILE;
	if (k.flags & KSYMBOL_UNREGISTER || p->stamp->machine)
		return CLEW_OK;
	return p->player->mmap(p->ctx, p->stamp->time, true,
			       &(struct perf_mmap){.pid = UINT32_MAX,
						   .start = k.addr,
						   .len = k.len,
						   .filename = k.name,
						   .flags = WHO_MAP_IS_KSYMBOL});
}

/** @return false: it is a guest's, and there is no room for its number. */
static bool rename_id(const struct play *p, uint32_t *id)
{
	if (p->stamp->machine)
		*id = who_guests_number(p->guests, p->stamp->machine, *id);
	return !p->stamp->machine || *id != WHO_NONE;
}

static enum clew_err play_comm(const struct play *p)
{
	struct perf_comm c;

	if (perf_comm_parse(p->r, &c))
		return CLEW_BAD_FILE;
	if (!is_thread(p, c.tid))
		return CLEW_OK;
	if (!rename_id(p, &c.pid) || !rename_id(p, &c.tid))
		return CLEW_OK;
	return p->player->comm(p->ctx, p->stamp->time, &c);
}

static enum clew_err play_fork(const struct play *p)
{
	struct perf_task t;

	if (perf_task_parse(p->r, &t))
		return CLEW_BAD_FILE;
	if (!is_thread(p, t.tid))
		return CLEW_OK;
	if (!rename_id(p, &t.pid) || !rename_id(p, &t.tid) || !rename_id(p, &t.ppid) ||
	    !rename_id(p, &t.ptid))
		return CLEW_OK;
	return p->player->fork(p->ctx, p->stamp->time, &t);
}

static enum clew_err play_exit(const struct play *p)
{
	struct perf_task t;

	if (perf_task_parse(p->r, &t))
		return CLEW_BAD_FILE;
	if (!p->player->exit || !is_thread(p, t.tid) || !rename_id(p, &t.pid) ||
	    !rename_id(p, &t.tid))
		return CLEW_OK;
	return p->player->exit(p->ctx, p->stamp->time, &t);
}

static enum clew_err play_switch(const struct play *p)
{
	uint32_t pid = p->stamp->pid, tid = p->stamp->tid;
	struct perf_switch s;

	if (perf_switch_parse(p->r, &s))
		return CLEW_BAD_FILE;
	if (s.is_out) {
		pid = s.has_other ? s.next_prev_pid : WHO_NONE;
		tid = s.has_other ? s.next_prev_tid : WHO_NONE;
	}
	return p->player->run(p->ctx, p->stamp->time, pid, tid);
}

static enum clew_err play_start(const struct play *p)
{
	struct perf_itrace_start s;

	if (perf_itrace_start_parse(p->r, &s))
		return CLEW_BAD_FILE;
	return p->player->run(p->ctx, p->stamp->time, s.pid, s.tid);
}

bool who_plays(const struct who_player *player, uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_KSYMBOL:
		return true;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_ITRACE_START:
		return player->run;
	default:
		return false;
	}
}

enum clew_err who_play(const struct who_player *player, void *ctx, struct who_guests *guests,
		       const struct perf_record *r, const struct who_stamp *stamp)
{
	const struct play p = {player, ctx, guests, r, stamp};
	bool runs = player->run && stamp->cpu != WHO_NONE;

	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return play_mmap(&p);
	case PERF_RECORD_COMM:
		return play_comm(&p);
	case PERF_RECORD_FORK:
		return play_fork(&p);
	case PERF_RECORD_EXIT:
		return play_exit(&p);
	case PERF_RECORD_KSYMBOL:
		return play_ksymbol(&p);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return runs && !stamp->machine ? play_switch(&p) : CLEW_OK;
	case PERF_RECORD_ITRACE_START:
		return runs ? play_start(&p) : CLEW_OK;
	default:
		return CLEW_OK;
	}
}

/* --- into a who --- */

static enum clew_err now_mmap(void *ctx, struct clew_perf_ns time, bool is_kernel,
			      const struct perf_mmap *m)
{
	struct who_thread *t = is_kernel ? NULL : who_thread_get(ctx, m->pid, m->tid);

	(void)time;
	if (is_kernel)
		return who_take_mmap(ctx, who_kernel(ctx), m);
	return t ? who_take_mmap(ctx, t->space, m) : CLEW_NO_MEMORY;
}

static enum clew_err now_comm(void *ctx, struct clew_perf_ns time, const struct perf_comm *c)
{
	(void)time;
	return who_take_comm(ctx, c);
}

static enum clew_err now_fork(void *ctx, struct clew_perf_ns time, const struct perf_task *t)
{
	(void)time;
	return who_take_fork(ctx, t);
}

const struct who_player who_player_of_now = {.mmap = now_mmap, .comm = now_comm, .fork = now_fork};

/* --- into a history --- */

static enum clew_err history_mmap(void *ctx, struct clew_perf_ns time, bool is_kernel,
				  const struct perf_mmap *m)
{
	return who_history_mmap(ctx, time, is_kernel, m);
}

static enum clew_err history_comm(void *ctx, struct clew_perf_ns time, const struct perf_comm *c)
{
	return who_history_comm(ctx, time, c);
}

static enum clew_err history_fork(void *ctx, struct clew_perf_ns time, const struct perf_task *t)
{
	return who_history_fork(ctx, time, t);
}

static enum clew_err history_run(void *ctx, struct clew_perf_ns time, uint32_t pid, uint32_t tid)
{
	return who_history_run(ctx, time, pid, tid);
}

const struct who_player who_player_of_history = {.mmap = history_mmap,
						 .comm = history_comm,
						 .fork = history_fork,
						 .run = history_run};
