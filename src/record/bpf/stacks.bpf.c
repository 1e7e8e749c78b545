/* SPDX-License-Identifier: GPL-2.0-only */
#include "vmlinux.h"

#include "record/bpf/bpf_entry.h"
#include "record/bpf/bpf_send.h"

char LICENSE[] SEC("license") = "GPL";

enum { PF_EXITING = 0x4, PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000, PF_KTHREAD = 0x200000 };
enum { ESRCH = 3 };
#define NO_SYSCALL (~0ull)

/* perfdata/perf_deferred.h, enum perf_no_stack */
enum { NO_KERNEL_THREAD = 1, NO_IDLE, NO_EXITING, NO_MAP_FULL, NO_RING_FULL, NO_REFUSED };

/* What the kernel has to put a walk off, given by the compiler's command line: 0: nothing, 1: the
 * kfunc up to 6.x, which needs a program pointer, 2: that of later ones, which do not. resume, not
 * signal: that one interrupts the task's system call. */
#if CLEW_TASK_WORK == 1
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *tw,
					      void *map__map, bpf_task_work_callback_t callback,
					      void *aux__prog) __ksym;
#elif CLEW_TASK_WORK == 2
extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *tw,
					 void *map__map, bpf_task_work_callback_t callback) __ksym;
#endif

/* Since 6.2. */
extern void *bpf_cast_to_kern_ctx(void *obj) __ksym __weak;

/* --- the callback --- */

/* With c->w->regs: to the ring goes what the walk of @p way finds. */
static __always_inline void walk_and_send(struct walk_ctx *c, struct task_struct *t,
					  uint64_t cookie, const enum walk_way way)
{
	name_stack(c->w, t, cookie);
	begin_walk(c->w, way, t);
	if (!c->w->stop)
		bpf_loop(CB_MAX_DEPTH, way == WALK_SLEEPING ? step_sleeping : step_now, c, 0);
	copy_stack(c, way);
	send_stack(c->w);
}

/* @return whether there is something to walk from, then in w->regs. */
static __always_inline bool begin_callback(struct task_slot *slot, struct walk *w,
					   struct task_struct *t)
{
	uint64_t asked = slot->cookie.cookie;

	get_regs(&w->regs, t);
	if (!cookie_callback_begin(&slot->cookie, begin_place(slot, w, mm_id_of(t)),
				   fresh_cookie()))
		return false;
	if (slot->cookie.cookie != asked)
		send_none(t, asked, UNW_STOP_LATE);
	return true;
}

__attribute__((unused)) static int read_user_stack(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct task_slot *slot = value;
	struct walk_ctx c = {};

	if (!slot)
		return 0;
	c.w = get_scratch((uint32_t)t->pid);
	if (!c.w) {
		if (slot->cookie.state == COOKIE_PENDING)
			send_none(t, slot->cookie.cookie, UNW_STOP_NONE);
		slot->cookie.state = COOKIE_FREE;
		return 0;
	}
	if (begin_callback(slot, c.w, t)) {
		walk_and_send(&c, t, slot->cookie.cookie, WALK_SLEEPING);
		cookie_callback_end(&slot->cookie, rest_of(&c.w->regs, t));
	}
	put_scratch(c.w);
	return 0;
}

/* --- requests --- */

static __always_inline int schedule(struct task_struct *t, struct task_slot *slot)
{
#if CLEW_TASK_WORK == 1
	return bpf_task_work_schedule_resume_impl(t, &slot->work, &tasks, read_user_stack, NULL);
#elif CLEW_TASK_WORK == 2
	return bpf_task_work_schedule_resume(t, &slot->work, &tasks, read_user_stack);
#else
	return -ESRCH;
#endif
}

/* The task's slot; NULL: no room. */
static __always_inline struct task_slot *slot_of(struct task_struct *t)
{
	uint32_t tid = (uint32_t)t->pid;
	struct task_slot *slot = bpf_map_lookup_elem(&tasks, &tid);

	if (!slot) {
		struct task_slot zero = {.start_time = t->start_time, .guess = entry_guess_new()};

		bpf_map_update_elem(&tasks, &tid, &zero, BPF_NOEXIST);
		return bpf_map_lookup_elem(&tasks, &tid);
	}
	if (slot->start_time != t->start_time) {
		slot->start_time = t->start_time;
		slot->cookie.state = COOKIE_FREE;
		slot->guess = entry_guess_new();
	}
	return slot;
}

static __always_inline uint64_t no_stack(uint32_t why)
{
	return (uint64_t)why << 16;
}

static __always_inline bool is_in(const volatile struct cb_range *r, uint64_t pc)
{
	return pc - r->start < r->end - r->start;
}

/* What a request works with: too large for the stack. */
struct request_room {
	struct clew_regs regs;
	uint64_t kernel_ip[32];
};

/* Requests run one at a time on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct request_room);
} request_rooms SEC(".maps");

/* Does the kernel stack show the way back to user mode? */
static __noinline bool is_returning(void *ctx)
{
	uint32_t zero = 0, i, j;
	struct request_room *room = bpf_map_lookup_elem(&request_rooms, &zero);
	long size;

	if (!room || !text.returning[0].end)
		return false;
	size = bpf_get_stack(ctx, room->kernel_ip, sizeof(room->kernel_ip), 0);
	for (i = 0; i < 32 && (long)(i * 8) < size; i++) {
		for (j = 0; j < CB_NR_RANGES; j++) {
			if (is_in(&text.returning[j], room->kernel_ip[i]))
				return true;
		}
	}
	return false;
}

/* A sample, and how its stack is to be read. */
struct origin {
	void *ctx;
	uint64_t event;
	uint64_t time; /* 0: when the request is sent */
	uint64_t ip;
	bool is_user;
	bool is_clock;     /* or a counter: nothing that the task did itself */
	bool is_now;       /* walk here, not on the way back to user mode */
	bool is_sleepable; /* and all of the stack, not only what is in memory */
	uint64_t own;      /* is_now: COOKIE_OWN of a uprobe, or 0 */
};

/* Where a clock interrupted user mode, no other sample of this entry comes before its way out, so
 * putting the walk off would only cost another interrupt. In the kernel the user registers are as
 * good, unless they were replaced, or may be: then the walk waits for those that user mode resumes
 * with. */
static __always_inline bool may_walk_at_once(const struct origin *o, struct task_slot *slot,
					     const struct clew_regs *regs,
					     const struct cookie_sight *sight)
{
	uint64_t nr = syscall_of(regs);

	if (o->is_user)
		entry_guess_user(&slot->guess);
	if (!o->is_clock || o->is_user)
		return o->is_clock;
	if (!sight->place || !text.returning[0].end || !is_native(regs) || nr == SIGRETURN ||
	    nr == EXECVE || nr == EXECVEAT)
		return false;
	return entry_guess_is_short(&slot->guess, sight->place) && !is_returning(o->ctx);
}

/* Nearly always all of the stack is in memory. It stands for a callback that ran at once. */
static __always_inline bool walk_at_once(struct task_struct *t, struct task_slot *slot,
					 const struct clew_regs *regs,
					 const struct cookie_sight *sight, uint64_t cookie)
{
	struct walk_ctx c = {};
	bool is_whole;

	c.w = get_scratch((uint32_t)t->pid);
	if (!c.w)
		return false;
	c.w->regs = *regs;
	c.w->is_sigreturn = false;
	name_stack(c.w, t, cookie);
	begin_walk(c.w, WALK_NOW, t);
	if (!c.w->stop)
		bpf_loop(CB_MAX_DEPTH, step_now, &c, 0);
	/* Without the code before a return address no frame pointer is believed. */
	is_whole = c.w->stop != UNW_STOP_UNREADABLE && !may_go_on(c.w) &&
		   !(c.w->stop == UNW_STOP_NO_INFO && c.w->lacking);
	if (is_whole) {
		cookie_asked(&slot->cookie, sight, COOKIE_TAKEN, cookie);
		slot->cookie.is_at_once = true;
		cookie_callback_begin(&slot->cookie, sight->place, 0);
		send_stack(c.w);
		cookie_callback_end(&slot->cookie, rest_of(&c.w->regs, t));
	}
	put_scratch(c.w);
	return is_whole;
}

static __always_inline uint64_t ask(const struct origin *o, struct task_struct *t)
{
	bool is_user = o->is_user;
	struct task_slot *slot = slot_of(t);
	struct cookie_sight sight = {.is_user = is_user};
	uint32_t zero = 0;
	struct request_room *room = bpf_map_lookup_elem(&request_rooms, &zero);
	enum cookie_taken taken = COOKIE_TAKEN;
	uint64_t cookie, nr;
	int err;

	if (!slot || !room) {
		count(CB_MAP_FULL);
		return no_stack(NO_MAP_FULL);
	}
	if (is_user || !is_in(&text.entry, o->ip)) {
		get_regs(&room->regs, t);
		sight.place = place_at(&room->regs, pc_of(&room->regs));
		if (slot->cookie.state == COOKIE_PENDING && !is_user &&
		    sight.place != slot->cookie.place && slot->sp &&
		    (slot->mm_id != mm_id_of(t) || (slot->is_exec && is_fresh(&room->regs)) ||
		     (slot->is_sigreturn && is_after_sigreturn(slot, &room->regs))))
			return slot->cookie.cookie;
		if (slot->cookie.state == COOKIE_DONE && !is_user &&
		    slot->cookie.place == sight.place) {
			sight.rest = rest_of(&room->regs, t);
			sight.is_returning = is_returning(o->ctx);
		}
	}
	if (cookie_request(&slot->cookie, &sight) == COOKIE_SAME) {
		slot->guess.is_shared |= slot->cookie.state == COOKIE_PENDING;
		return slot->cookie.cookie;
	}
	if (slot->cookie.state == COOKIE_PENDING)
		send_none(t, slot->cookie.cookie, UNW_STOP_LATE);
	cookie = fresh_cookie();
	if (may_walk_at_once(o, slot, &room->regs, &sight) &&
	    walk_at_once(t, slot, &room->regs, &sight, cookie)) {
		count(CB_ENTRIES);
		count(CB_AT_ONCE);
		return cookie;
	}
	err = schedule(t, slot);
	if (err)
		taken = err == -EBUSY ? COOKIE_QUEUED : COOKIE_REFUSED;
	cookie = cookie_asked(&slot->cookie, &sight, taken, cookie);
	if (!cookie) {
		count(CB_REFUSED);
		return no_stack(NO_REFUSED);
	}
	if (cookie == slot->cookie.cookie) {
		nr = sight.place ? syscall_of(&room->regs) : NO_SYSCALL;
		slot->ip = sight.place ? pc_of(&room->regs) : 0;
		slot->sp = sight.place ? sp_of(&room->regs) : 0;
		slot->is_sigreturn = !is_user && nr == SIGRETURN;
		slot->mm_id = mm_id_of(t);
		slot->is_exec = !is_user && (nr == EXECVE || nr == EXECVEAT);
	}
	count(CB_ENTRIES);
	return cookie;
}

/* 0: this task may be asked; else the word that says why not. */
static __always_inline uint64_t why_not(struct task_struct *t)
{
	uint32_t flags = t->flags;

	if (!t->pid)
		return no_stack(NO_IDLE);
	if (flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) || !t->mm)
		return flags & PF_EXITING ? no_stack(NO_EXITING) : no_stack(NO_KERNEL_THREAD);
	return flags & PF_EXITING ? no_stack(NO_EXITING) : 0;
}

static __always_inline void send_request(uint64_t time, uint64_t cookie, struct task_struct *t,
					 uint64_t event)
{
	struct cb_request *r = bpf_ringbuf_reserve(&requests, sizeof(*r), 0);

	if (!r) {
		count(CB_RING_FULL);
		return;
	}
	r->time = time;
	r->cookie = cookie;
	r->tid = (uint32_t)t->pid;
	r->cpu = bpf_get_smp_processor_id();
	r->event = (uint32_t)event;
	r->pad = 0;
	bpf_ringbuf_submit(r, bpf_ringbuf_query(&requests, BPF_RB_AVAIL_DATA) >= config.request_wake
				      ? BPF_RB_FORCE_WAKEUP
				      : BPF_RB_NO_WAKEUP);
}

/* The sample's own time, where the kernel has made it up already: then the request is known to be
 * its. */
static __always_inline uint64_t sample_time(void *ctx)
{
	struct bpf_perf_event_data_kern *k;

	if (!bpf_cast_to_kern_ctx || !bpf_core_field_exists(struct perf_sample_data, sample_flags))
		return now();
	k = bpf_cast_to_kern_ctx(ctx);
	return k->data->sample_flags & PERF_SAMPLE_TIME ? k->data->time : now();
}

/* Page faults and the like begin an entry that others ask in, too. */
static __always_inline bool is_clock(void *ctx)
{
	struct bpf_perf_event_data_kern *k;

	if (!bpf_cast_to_kern_ctx)
		return false;
	k = bpf_cast_to_kern_ctx(ctx);
	return k->event->attr.type != PERF_TYPE_SOFTWARE ||
	       k->event->attr.config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* An event's copy for a new task has the program, and not the cookie that it was attached with. */
static __always_inline uint64_t event_of_sample(void *ctx)
{
	struct perf_event *e;

	if (!bpf_cast_to_kern_ctx || !bpf_core_field_exists(struct perf_event, parent) ||
	    !bpf_core_field_exists(struct perf_event, bpf_cookie))
		return bpf_get_attach_cookie(ctx);
	e = ((struct bpf_perf_event_data_kern *)bpf_cast_to_kern_ctx(ctx))->event;
	return e->parent ? e->parent->bpf_cookie : e->bpf_cookie;
}

/* Walk at once: with what is in memory, or where a program may sleep, all of it. A uprobe is in
 * user mode's last entry, in which a clock may ask before, and between its stack and its sample. */
static __always_inline uint64_t walk_now(const struct origin *o, struct task_struct *t)
{
	uint64_t cookie = fresh_cookie() | o->own;
	struct walk_ctx c = {};

	c.w = get_scratch((uint32_t)t->pid);
	if (!c.w)
		return no_stack(NO_REFUSED);
	get_regs(&c.w->regs, t);
	c.w->is_sigreturn = false;
	walk_and_send(&c, t, cookie, o->is_sleepable ? WALK_SLEEPING : WALK_NOW);
	put_scratch(c.w);
	count(CB_ENTRIES);
	return cookie;
}

static __always_inline void request(const struct origin *o)
{
	struct task_struct *t = bpf_get_current_task_btf();
	uint64_t cookie;

	if (control(CB_STOPPED))
		return;
	count(CB_REQUESTS);
	cookie = why_not(t);
	if (cookie)
		count(CB_KERNEL_TASKS);
	else
		cookie = o->is_now ? walk_now(o, t) : ask(o, t);
	send_request(o->time ? o->time : now(), cookie, t, o->event);
}

/* Tracepoints run the program for every task, whether an event counts it or not. */
static __always_inline bool is_counted(void)
{
	struct task_struct *t = bpf_get_current_task_btf();

	if (config.is_system_wide || !bpf_core_field_exists(t->perf_event_ctxp))
		return true;
	return t->perf_event_ctxp;
}

SEC("perf_event")
int on_sample_now(struct bpf_perf_event_data *ctx)
{
	request(&(struct origin){.ctx = ctx,
				 .event = event_of_sample(ctx),
				 .time = sample_time(ctx),
				 .is_now = true});
	return 1;
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	if (is_counted())
		request(&(struct origin){
			.ctx = ctx, .event = bpf_get_attach_cookie(ctx), .time = now()});
	return 1;
}

SEC("tracepoint")
int on_tracepoint_now(void *ctx)
{
	if (is_counted())
		request(&(struct origin){.ctx = ctx,
					 .event = bpf_get_attach_cookie(ctx),
					 .time = now(),
					 .is_now = true});
	return 1;
}

SEC("kprobe")
int on_probe(struct clew_regs *ctx)
{
	if (is_counted())
		request(&(struct origin){.ctx = ctx,
					 .event = bpf_get_attach_cookie(ctx),
					 .time = now(),
					 .ip = pc_of(ctx),
					 .is_user = is_user_mode(ctx)});
	return 1;
}

SEC("kprobe")
int on_probe_now(struct clew_regs *ctx)
{
	if (is_counted())
		request(&(struct origin){.ctx = ctx,
					 .event = bpf_get_attach_cookie(ctx),
					 .time = now(),
					 .is_now = true,
					 .own = is_user_mode(ctx) ? COOKIE_OWN : 0});
	return 1;
}

/* A walk put off would come too late: the probed instruction runs before it and may change any
 * register. This program may sleep, so it can walk here. Samples of other events may interrupt it:
 * it uses nothing of the task's slot. The task may move to another CPU after it: the request's time
 * is that of its end. */
SEC("uprobe.s")
int on_uprobe(struct clew_regs *ctx)
{
	if (is_counted())
		request(&(struct origin){.ctx = ctx,
					 .event = bpf_get_attach_cookie(ctx),
					 .is_now = true,
					 .is_sleepable = true,
					 .own = COOKIE_OWN});
	return 1;
}

/* The address space is still there (since Linux 6.16), the callback would come too late. */
SEC("raw_tp/sched_process_exit")
int on_exit(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	uint32_t tid = (uint32_t)t->pid;
	struct task_slot *slot = bpf_map_lookup_elem(&tasks, &tid);
	struct walk_ctx c = {};

	if (!slot)
		return 0;
	if (slot->start_time == t->start_time && slot->cookie.state == COOKIE_PENDING &&
	    (c.w = get_scratch(tid))) {
		if (begin_callback(slot, c.w, t))
			walk_and_send(&c, t, slot->cookie.cookie, WALK_NOW);
		put_scratch(c.w);
	}
	bpf_map_delete_elem(&tasks, &tid);
	return 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	request(&(struct origin){.ctx = ctx,
				 .event = event_of_sample(ctx),
				 .time = sample_time(ctx),
				 .ip = pc_of(&ctx->regs),
				 .is_user = is_user_mode(&ctx->regs),
				 .is_clock = is_clock(ctx)});
	return 1;
}

/* --- for user space --- */

/* Every executable mapping with its file's key. */
SEC("iter/task_vma")
int on_each_vma(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *t = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct vma_sight s = {};
	struct cb_want w = {.kind = CB_WANT};

	if (!t || !vma || !(vma->vm_flags & VM_EXEC))
		return 0;
	see_vma(&s, vma);
	if (!s.has_key)
		return 0;
	w.pid = (uint32_t)t->tgid;
	w.key = s.key;
	w.start = s.start;
	w.end = s.end;
	bpf_seq_write(ctx->meta->seq, &w, sizeof(w));
	return 0;
}

/* Tasks of which the callback has not run, as they are still in the kernel: their user registers
 * and stack stand still. Whether that was so is looked at again after the walk. One byte for each
 * that is left over. */
SEC("iter.s/task")
int on_pending_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct task_slot *slot;
	struct walk_ctx c = {};
	uint64_t cookie, place;
	bool is_done = false;
	uint32_t tid;

	if (!t)
		return 0;
	tid = (uint32_t)t->pid;
	slot = bpf_map_lookup_elem(&tasks, &tid);
	if (!slot || slot->cookie.state != COOKIE_PENDING || slot->start_time != t->start_time)
		return 0;
	cookie = slot->cookie.cookie;
	c.w = get_scratch(tid);
	if (c.w) {
		get_regs(&c.w->regs, t);
		place = place_at(&c.w->regs, pc_of(&c.w->regs));
		c.w->is_sigreturn = false;
		name_stack(c.w, t, cookie);
		begin_walk(c.w, WALK_REMOTE, t);
		c.task = t;
		if (!c.w->stop)
			bpf_loop(CB_MAX_DEPTH, step_remote, &c, 0);
		get_regs(&c.w->regs, t);
		if (slot->cookie.state == COOKIE_PENDING && slot->cookie.cookie == cookie &&
		    (!slot->cookie.place || slot->cookie.place == place) &&
		    place_at(&c.w->regs, pc_of(&c.w->regs)) == place) {
			send_stack(c.w);
			is_done = true;
		}
		put_scratch(c.w);
	}
	if (!is_done)
		bpf_seq_write(ctx->meta->seq, "", 1);
	return 0;
}

/* Bytes of requests that lie unread: the reader may have met one that was just being written. */
SEC("syscall")
int requests_left(void *ctx)
{
	return (int)bpf_ringbuf_query(&requests, BPF_RB_AVAIL_DATA);
}
