/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/table_worker.h"

#include "base/vec.h"
#include "os/thread.h"
#include "perfdata/perf_deferred.h"
#include "record/stacks/tables/live_code.h"
#include "record/stacks/tables/live_space.h"

enum {
	MAX_HELD_BYTES = 64 * 1024 * 1024,
	MAX_HELD_STACK = 64 * 1024, /* bytes of one copy */
	NR_ENDED = 4096,
};

struct job {
	enum { WANT, NAMED, A_FILE, WARM, RECORD, STACK } kind;
	struct defer_want want;
	struct held_stack *stack; /* owned */
	struct mapped_name name;  /* its name owned */
	struct perf_record record;
	uint8_t *bytes; /* record.data, owned */
	uint64_t ino;
	uint32_t file;
	const struct unw_code *code;
};

struct jobs {
	VEC(struct job);
};

struct table_worker {
	struct os_lock *lock; /* of todo, ready, must_end, what is lost */
	struct os_thread *thread;
	struct jobs todo, ready;
	size_t todo_head;
	bool must_end;
	size_t nr_lost, nr_lost_stacks, lost_bytes; /* results for which there was no memory */
	/* the recorder's */
	struct jobs taken;
	size_t taken_head, nr_pending, nr_stacks, held_bytes;
	uint32_t max_stack;
	/* the thread's */
	struct unw_store *store;
	struct live_space *live;
	struct live_space *past;  /* by records only, of processes that ended too */
	uint32_t ended[NR_ENDED]; /* the newest of them, round and round */
	size_t nr_ended;
	uint8_t *exact; /* of each frame */
};

void held_stack_free(struct held_stack *h)
{
	mem_free(h);
}

static size_t held_size(const struct defer_stack *s, uint32_t max)
{
	return sizeof(struct held_stack) + (sizeof(uint64_t) + 1) * (size_t)max + s->stack_bytes;
}

/* One block: the struct, ips, stack bytes, methods. */
static struct held_stack *hold(const struct defer_stack *s, uint32_t max)
{
	struct held_stack *h = mem_zalloc(held_size(s, max));

	if (!h)
		return NULL;
	h->ips = (uint64_t *)(h + 1);
	h->bytes = (uint8_t *)(h->ips + max);
	h->methods = h->bytes + s->stack_bytes;
	h->regs = *s->regs;
	h->nr_before = s->nr;
	h->stop_before = s->stop;
	memcpy(h->ips, s->ips, 8 * (size_t)s->nr);
	memcpy(h->bytes, s->stack, s->stack_bytes);
	if (s->methods)
		memcpy(h->methods, s->methods, s->nr);
	h->stack = *s;
	h->stack.ips = h->ips;
	h->stack.methods = h->methods;
	h->stack.regs = &h->regs;
	h->stack.stack = h->bytes;
	return h;
}

static const struct unw_code *look_up(struct table_worker *w, const struct job *j)
{
	struct live_mapping m = {.pid = j->want.pid,
				 .start = j->want.start,
				 .end = j->want.end,
				 .name = j->name.name ? j->name.name : "",
				 .ino = j->ino,
				 .build_id = j->name.nr_build_id ? j->name.build_id : NULL,
				 .nr_build_id = j->name.nr_build_id};

	switch (j->kind) {
	case WANT:
	case NAMED:
		if (defer_key_is_vdso(&j->want.key))
			return unw_store_get_vdso(w->store);
		defer_key_file(&j->want.key, &m.size, &m.mtime_ns);
		return j->kind == NAMED ? live_code_find(w->store, &m)
					: live_code_of_mapping(w->store, &m);
	case A_FILE:
		return live_code_find(w->store, &m);
	case WARM:
		return unw_store_get_file(w->store, j->name.name);
	case RECORD:
	case STACK:
		break;
	}
	return NULL;
}

/* Its stacks come later than the record of its end. */
static void keep_ended(struct table_worker *w, const struct perf_record *r)
{
	uint32_t *slot = &w->ended[w->nr_ended % NR_ENDED];
	struct perf_task t;

	if (perf_task_parse(r, &t) != CLEW_OK || t.pid != t.tid)
		return;
	if (w->nr_ended++ >= NR_ENDED)
		live_space_forget(w->past, *slot);
	*slot = t.pid;
}

static void take_record(struct table_worker *w, const struct perf_record *r)
{
	if (r->type == PERF_RECORD_EXIT)
		keep_ended(w, r);
	else
		live_space_record(w->past, r);
}

/* From the last frame on; its pc is a return address unless it is the first or a signal's. */
static void finish(struct table_worker *w, struct held_stack *h)
{
	uint32_t last = h->stack.nr - 1;
	struct live_space *live = h->is_again ? w->past : w->live;
	struct unw_frames frames = {.pc = h->ips + last,
				    .method = h->methods + last,
				    .exact = w->exact,
				    .max = w->max_stack - last};
	const struct live_stack stack = {h->bytes, h->stack.stack_start, h->stack.stack_bytes};
	uint64_t pc = h->ips[last];
	uint8_t method = h->methods[last];
	bool is_exact;

	if (!h->is_again)
		live_space_forget(live, h->stack.pid); /* what it has mapped now, not before */
	h->is_unknown = !live_space_covers(live, h->stack.pid, pc - (last > 0));
	if (h->is_unknown)
		return; /* it has ended, or maps other things now */
	/* A trampoline is entered by return alone: no call stands before it. */
	if (last && live_space_is_signal(live, h->stack.pid, pc))
		method |= PERF_DEFERRED_EXACT;
	is_exact = !last || method & PERF_DEFERRED_EXACT || method == UNW_TRAMPOLINE ||
		   live_space_is_signal(live, h->stack.pid, h->ips[last - 1]);
	h->regs.pc = is_exact ? pc : pc - 1;
	live_space_walk(live, h->stack.pid, &h->regs, &stack, &frames);
	h->ips[last] = pc;
	h->methods[last] = method;
	for (uint32_t i = 1; i < frames.nr; i++)
		h->methods[last + i] |= w->exact[i] ? PERF_DEFERRED_EXACT : 0;
	h->stack.nr = last + frames.nr;
	h->stack.stop = (uint8_t)frames.stop;
	h->stack.why = (uint8_t)frames.why;
}

static void free_job(struct job *j)
{
	held_stack_free(j->stack);
	mem_free(j->name.name);
	mem_free(j->bytes);
}

static void lose(struct table_worker *w, struct job *j)
{
	w->nr_lost++;
	if (j->stack) {
		w->nr_lost_stacks++;
		w->lost_bytes += held_size(&j->stack->stack, w->max_stack);
	}
	free_job(j);
}

static void run(void *ctx)
{
	struct table_worker *w = ctx;

	os_lock(w->lock);
	while (!w->must_end) {
		struct job j;

		if (w->todo_head == w->todo.nr) {
			w->todo_head = w->todo.nr = 0;
			os_lock_wait(w->lock);
			continue;
		}
		j = w->todo.data[w->todo_head++];
		os_unlock(w->lock);
		j.code = look_up(w, &j);
		if (j.kind == STACK)
			finish(w, j.stack);
		else if (j.kind == RECORD)
			take_record(w, &j.record);
		os_lock(w->lock);
		if (!vec_push(&w->ready, j))
			lose(w, &j);
	}
	os_unlock(w->lock);
}

struct table_worker *table_worker_new(const char *cache_dir, uint32_t max_stack)
{
	const struct unw_store_opts opts = {.cache_dir = cache_dir};
	struct table_worker *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->max_stack = max_stack;
	w->lock = os_lock_new();
	w->store = unw_store_new(&opts);
	w->live = w->store ? live_space_new(w->store) : NULL;
	w->past = w->store ? live_space_new(w->store) : NULL;
	w->exact = mem_calloc(max_stack, 1);
	if (w->lock && w->live && w->past && w->exact)
		w->thread = os_thread_start(run, w);
	if (w->thread)
		return w;
	table_worker_free(w);
	return NULL;
}

static void free_jobs(struct jobs *jobs, size_t from)
{
	for (size_t i = from; i < jobs->nr; i++)
		free_job(&jobs->data[i]);
	vec_done(jobs);
}

void table_worker_free(struct table_worker *w)
{
	if (!w)
		return;
	if (w->thread) {
		os_lock(w->lock);
		w->must_end = true;
		os_lock_wake_all(w->lock);
		os_unlock(w->lock);
		os_thread_join(w->thread);
	}
	free_jobs(&w->todo, w->todo_head);
	free_jobs(&w->ready, 0);
	free_jobs(&w->taken, w->taken_head);
	live_space_free(w->live);
	live_space_free(w->past);
	mem_free(w->exact);
	unw_store_free(w->store);
	if (w->lock)
		os_lock_free(w->lock);
	mem_free(w);
}

static bool give(struct table_worker *w, const struct job *j)
{
	bool ok;

	os_lock(w->lock);
	ok = vec_push(&w->todo, *j);
	os_lock_wake_all(w->lock);
	os_unlock(w->lock);
	w->nr_pending += ok;
	return ok;
}

static bool give_named(struct table_worker *w, struct job *j, const char *name)
{
	j->name.name = mem_strdup(name);
	if (j->name.name && give(w, j))
		return true;
	mem_free(j->name.name);
	return false;
}

bool table_worker_want(struct table_worker *w, const struct defer_want *want)
{
	const struct job j = {.kind = WANT, .want = *want};

	return give(w, &j);
}

bool table_worker_want_named(struct table_worker *w, const struct defer_want *want,
			     const struct mapped_name *name)
{
	struct job j = {.kind = NAMED, .want = *want, .name = *name};

	return give_named(w, &j, name->name);
}

bool table_worker_file(struct table_worker *w, uint32_t file, const struct live_mapping *m)
{
	struct job j = {
		.kind = A_FILE,
		.want = {.pid = m->pid, .start = m->start, .end = m->end},
		.ino = m->ino,
		.file = file
        };

	if (m->build_id) {
		j.name.nr_build_id = m->nr_build_id;
		memcpy(j.name.build_id, m->build_id, m->nr_build_id);
	}
	return give_named(w, &j, m->name);
}

bool table_worker_warm(struct table_worker *w, const char *path)
{
	struct job j = {.kind = WARM};

	return give_named(w, &j, path);
}

bool table_worker_finish(struct table_worker *w, const struct defer_stack *s)
{
	struct job j = {.kind = STACK};

	if (!s->regs || !s->stack || !s->nr || s->nr >= w->max_stack ||
	    s->stack_bytes > MAX_HELD_STACK || s->stack_bytes % 8 ||
	    w->held_bytes + held_size(s, w->max_stack) > MAX_HELD_BYTES)
		return false;
	j.stack = hold(s, w->max_stack);
	if (!j.stack)
		return false;
	if (!give(w, &j)) {
		held_stack_free(j.stack);
		return false;
	}
	w->nr_stacks++;
	w->held_bytes += held_size(s, w->max_stack);
	return true;
}

bool table_worker_again(struct table_worker *w, struct held_stack *h)
{
	struct job j = {.kind = STACK, .stack = h};

	if (!h->is_unknown || h->is_again)
		return false;
	h->is_again = true;
	if (!give(w, &j))
		return false;
	w->nr_stacks++;
	w->held_bytes += held_size(&h->stack, w->max_stack);
	return true;
}

bool table_worker_record(struct table_worker *w, const struct perf_record *r)
{
	struct job j = {.kind = RECORD, .record = *r};

	j.bytes = mem_alloc(r->size);
	if (!j.bytes)
		return false;
	memcpy(j.bytes, r->data, r->size);
	j.record.data = j.bytes;
	if (give(w, &j))
		return true;
	mem_free(j.bytes);
	return false;
}

/* What it owns is the caller's. */
static struct job *take(struct table_worker *w)
{
	if (w->taken_head == w->taken.nr) {
		struct jobs empty = w->taken;

		w->taken_head = empty.nr = 0;
		os_lock(w->lock);
		w->taken = w->ready;
		w->ready = empty;
		w->nr_pending -= w->nr_lost;
		w->nr_stacks -= w->nr_lost_stacks;
		w->held_bytes -= w->lost_bytes;
		w->nr_lost = w->nr_lost_stacks = w->lost_bytes = 0;
		os_unlock(w->lock);
	}
	if (w->taken_head == w->taken.nr)
		return NULL;
	w->nr_pending--;
	return &w->taken.data[w->taken_head++];
}

bool table_worker_next(struct table_worker *w, struct table_result *ret)
{
	struct job *j;

	do {
		j = take(w);
		if (!j)
			return false;
		mem_free(j->name.name);
		mem_free(j->bytes);
	} while (j->kind == WARM || j->kind == RECORD);
	*ret = (struct table_result){.want = j->want,
				     .was_named = j->kind == NAMED,
				     .is_file = j->kind == A_FILE,
				     .file = j->file,
				     .code = j->code,
				     .stack = j->stack};
	if (j->stack) {
		w->nr_stacks--;
		w->held_bytes -= held_size(&j->stack->stack, w->max_stack);
	}
	return true;
}

size_t table_worker_nr_pending(const struct table_worker *w)
{
	return w->nr_pending;
}

size_t table_worker_nr_stacks(const struct table_worker *w)
{
	return w->nr_stacks;
}
