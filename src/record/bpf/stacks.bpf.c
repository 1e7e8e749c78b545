/* SPDX-License-Identifier: GPL-2.0-only */
#include "vmlinux.h"

#include "record/bpf/bpf_walk.h"
#include "record/bpf/entry_guess.h"

char LICENSE[] SEC("license") = "GPL";

enum { PF_EXITING = 0x4, PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000, PF_KTHREAD = 0x200000 };
enum { ESRCH = 3 };

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

struct task_slot {
	struct cookie_slot cookie;
	uint64_t ip, sp; /* of user mode at the request */
	uint64_t is_sigreturn;
	uint64_t mm_id; /* another one at the callback: exec */
	uint64_t is_exec;
	uint64_t start_time; /* of the slot's task: a tid comes again */
	struct entry_guess guess;
	struct bpf_task_work work;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct task_slot);
} tasks SEC(".maps");

/* --- what is seen of a task --- */

static __always_inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ul;
	return h ^ h >> 32;
}

static __always_inline uint64_t place_of(const struct clew_x86_regs *r)
{
	uint64_t h = mix(r->ip, r->sp);

	h = mix(h, r->orig_ax);
	h = mix(h, r->bp);
	h = mix(h, r->bx);
	h = mix(h, r->r12);
	h = mix(h, r->r13);
	h = mix(h, r->r14);
	h = mix(h, r->r15);
	h = mix(h, r->di);
	h = mix(h, r->si);
	h = mix(h, r->dx);
	h = mix(h, r->r8);
	h = mix(h, r->r9);
	h = mix(h, r->r10);
	return h | 1;
}

/* The words on top of the stack are read again: the return address among them distinguishes
 * calls of one function from two places. */
static __always_inline uint64_t rest_of(const struct clew_x86_regs *r, struct task_struct *t)
{
	uint64_t top[8] = {};
	uint64_t h = mix(r->ax, t->nvcsw + t->nivcsw);

	bpf_probe_read_user(top, sizeof(top), (const void *)r->sp);
	h = mix(h, top[0]);
	h = mix(h, top[1]);
	h = mix(h, top[2]);
	h = mix(h, top[3]);
	h = mix(h, top[4]);
	h = mix(h, top[5]);
	h = mix(h, top[6]);
	return mix(h, top[7]);
}

static __always_inline uint64_t mm_id_of(struct task_struct *t)
{
	struct mm_struct *mm = t->mm;

	return mm ? mm->context.ctx_id : 0;
}

static __always_inline void get_regs(struct clew_x86_regs *ret, struct task_struct *t)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(t);

	bpf_probe_read_kernel(ret, sizeof(*ret), regs);
}

/* --- the callback --- */

static __always_inline struct walk *get_scratch(uint32_t hint)
{
	uint32_t i;

	for (i = 0; i < 16; i++) {
		uint32_t key = (hint + i * 7) & (config.nr_scratch - 1);
		struct walk *w = bpf_map_lookup_elem(&scratch, &key);

		if (w && !__sync_val_compare_and_swap(&w->is_busy, 0, 1))
			return w;
	}
	count(CB_NO_SCRATCH);
	return NULL;
}

static __always_inline void put_scratch(struct walk *w)
{
	__sync_val_compare_and_swap(&w->is_busy, 1, 0);
}

/* After the frames, if these were not all found the same way: how each was. */
static __always_inline uint32_t put_methods(struct walk *w, uint32_t n)
{
	uint32_t i, nr = (n + 15) >> 4;

	w->methods[(n >> 4) & (CB_MAX_DEPTH / 16 - 1)] = w->method_word;
	for (i = 0; i < CB_MAX_DEPTH / 16 && i < nr; i++) {
		uint64_t to = n + i;

		/* Else the index that is used is not the one that is checked. */
		__asm__ volatile("" : "+r"(to));
		if (to >= CB_MAX_DEPTH + CB_MAX_DEPTH / 16)
			break;
		w->ips[to] = w->methods[i];
	}
	return nr;
}

__weak __noinline int send_stack(struct walk *w)
{
	uint32_t n, words, size;

	if (!w)
		return 0;
	n = words = w->out.nr;
	w->out.kind = CB_STACK;
	w->out.stop = w->stop;
	w->out.why = w->why;
	w->out.method = w->uniform;
	if (w->uniform == CB_MIXED)
		words += put_methods(w, n);
	size = (uint32_t)sizeof(w->out) + words * 8;
	if (size > sizeof(w->out) + sizeof(w->ips))
		return 0;
	if (bpf_ringbuf_output(&stacks, &w->out, size, stack_flags()))
		count(CB_RING_FULL);
	else
		count(CB_STACKS);
	return 0;
}

static __always_inline void name_stack(struct walk *w, struct task_struct *t, uint64_t cookie)
{
	w->out.time = now();
	w->out.cookie = cookie;
	w->out.pid = (uint32_t)t->tgid;
	w->out.tid = (uint32_t)t->pid;
	w->out.cpu = bpf_get_smp_processor_id();
}

/* What @p cookie asked for is gone: @p stop says why. */
static __always_inline void send_none(struct task_struct *t, uint64_t cookie, uint8_t stop)
{
	struct cb_stack s = {.kind = CB_STACK,
			     .pid = (uint32_t)t->tgid,
			     .tid = (uint32_t)t->pid,
			     .cpu = bpf_get_smp_processor_id(),
			     .time = now(),
			     .cookie = cookie,
			     .stop = stop};

	if (stop == UNW_STOP_LATE)
		count(CB_LATE);
	if (bpf_ringbuf_output(&stacks, &s, sizeof(s), stack_flags()))
		count(CB_RING_FULL);
}

/* A signal may be delivered between the request and the callback, if the interrupt that queues this
 * comes late: then what the request saw stands in the signal's frame, under the handler's return
 * address. (A restarted system call lies two bytes back.) */
static __always_inline bool is_before_signal(const struct task_slot *slot, struct walk *w)
{
	uint64_t ucontext = w->regs.sp + 8;

	if (bpf_probe_read_user(w->interrupted, sizeof(w->interrupted),
				(const void *)(ucontext + 40)) ||
	    w->interrupted[15] != slot->sp ||
	    (w->interrupted[16] != slot->ip && w->interrupted[16] != slot->ip - 2))
		return false;
	w->regs.r8 = w->interrupted[0];
	w->regs.r9 = w->interrupted[1];
	w->regs.r10 = w->interrupted[2];
	w->regs.r11 = w->interrupted[3];
	w->regs.r12 = w->interrupted[4];
	w->regs.r13 = w->interrupted[5];
	w->regs.r14 = w->interrupted[6];
	w->regs.r15 = w->interrupted[7];
	w->regs.di = w->interrupted[8];
	w->regs.si = w->interrupted[9];
	w->regs.bp = w->interrupted[10];
	w->regs.bx = w->interrupted[11];
	w->regs.dx = w->interrupted[12];
	w->regs.ax = w->interrupted[13];
	w->regs.cx = w->interrupted[14];
	return true;
}

/* Has sigreturn put back, and nothing run since, what the signal interrupted? */
static __always_inline bool is_after_sigreturn(const struct task_slot *slot,
					       const struct clew_x86_regs *regs)
{
	uint64_t saved[2] = {}; /* sp, ip */

	return !bpf_probe_read_user(saved, sizeof(saved), (const void *)(slot->sp + 160)) &&
	       saved[0] == regs->sp && saved[1] == regs->ip;
}

/* A program that has not run yet: exec sets all registers to 0 but these two. */
static __always_inline bool is_fresh(const struct clew_x86_regs *r)
{
	return r->ip && r->sp && !(r->bp | r->bx | r->r12 | r->r13 | r->r14 | r->r15 | r->di);
}

/* Where the entry's stack is read from: what replaced its registers itself is seen through.
 * sigreturn's own frames stay in memory. */
static __always_inline uint64_t begin_place(const struct task_slot *slot, struct walk *w,
					    uint64_t mm_id)
{
	uint64_t place = place_of(&w->regs);

	w->is_sigreturn = false;
	if (slot->cookie.state != COOKIE_PENDING || !slot->cookie.place || !slot->sp ||
	    place == slot->cookie.place)
		return place;
	/* The record of an exec says where the new program starts. */
	if (mm_id != slot->mm_id || (slot->is_exec && is_fresh(&w->regs)))
		return slot->cookie.place;
	if (slot->is_sigreturn) {
		w->is_sigreturn = is_after_sigreturn(slot, &w->regs);
		/* Else the request came when ip and sp were put back, and not all the rest. */
		if (w->is_sigreturn || (slot->ip == w->regs.ip && slot->sp == w->regs.sp))
			goto same;
	} else if (is_before_signal(slot, w)) {
		goto same;
	}
	return place;
same:
	w->regs.ip = slot->ip;
	w->regs.sp = slot->sp;
	return slot->cookie.place;
}

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

struct kernel_stack {
	uint64_t ip[32];
};

/* Requests run one at a time on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

/* Does the kernel stack show the way back to user mode? */
static __noinline bool is_returning(void *ctx)
{
	uint32_t zero = 0, i, j;
	struct kernel_stack *k = bpf_map_lookup_elem(&kernel_stacks, &zero);
	long size;

	if (!k || !text.returning[0].end)
		return false;
	size = bpf_get_stack(ctx, k, sizeof(*k), 0);
	for (i = 0; i < 32 && (long)(i * 8) < size; i++) {
		for (j = 0; j < CB_NR_RANGES; j++) {
			if (is_in(&text.returning[j], k->ip[i]))
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
					     const struct clew_x86_regs *regs,
					     const struct cookie_sight *sight)
{
	if (o->is_user)
		entry_guess_user(&slot->guess);
	if (!o->is_clock || o->is_user)
		return o->is_clock;
	if (!sight->place || !text.returning[0].end || (regs->cs & 0xffff) != USER_CS ||
	    regs->orig_ax == SIGRETURN || regs->orig_ax == EXECVE || regs->orig_ax == EXECVEAT)
		return false;
	return entry_guess_is_short(&slot->guess, sight->place) && !is_returning(o->ctx);
}

/* Nearly always all of the stack is in memory. It stands for a callback that ran at once. */
static __always_inline bool walk_at_once(struct task_struct *t, struct task_slot *slot,
					 const struct clew_x86_regs *regs,
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
	struct clew_x86_regs regs = {};
	enum cookie_taken taken = COOKIE_TAKEN;
	uint64_t cookie;
	int err;

	if (!slot) {
		count(CB_MAP_FULL);
		return no_stack(NO_MAP_FULL);
	}
	if (is_user || !is_in(&text.entry, o->ip)) {
		get_regs(&regs, t);
		sight.place = place_of(&regs);
		if (slot->cookie.state == COOKIE_PENDING && !is_user &&
		    sight.place != slot->cookie.place && slot->sp &&
		    (slot->mm_id != mm_id_of(t) || (slot->is_exec && is_fresh(&regs)) ||
		     (slot->is_sigreturn && is_after_sigreturn(slot, &regs))))
			return slot->cookie.cookie;
		if (slot->cookie.state == COOKIE_DONE && !is_user &&
		    slot->cookie.place == sight.place) {
			sight.rest = rest_of(&regs, t);
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
	if (may_walk_at_once(o, slot, &regs, &sight) &&
	    walk_at_once(t, slot, &regs, &sight, cookie)) {
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
		slot->ip = regs.ip;
		slot->sp = sight.place ? regs.sp : 0;
		slot->is_sigreturn = !is_user && regs.orig_ax == SIGRETURN;
		slot->mm_id = mm_id_of(t);
		slot->is_exec = !is_user && (regs.orig_ax == EXECVE || regs.orig_ax == EXECVEAT);
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
int on_probe(struct clew_x86_regs *ctx)
{
	if (is_counted())
		request(&(struct origin){.ctx = ctx,
					 .event = bpf_get_attach_cookie(ctx),
					 .time = now(),
					 .ip = ctx->ip,
					 .is_user = ctx->cs & 3});
	return 1;
}

SEC("kprobe")
int on_probe_now(struct clew_x86_regs *ctx)
{
	if (is_counted())
		request(&(struct origin){.ctx = ctx,
					 .event = bpf_get_attach_cookie(ctx),
					 .time = now(),
					 .is_now = true,
					 .own = ctx->cs & 3 ? COOKIE_OWN : 0});
	return 1;
}

/* A walk put off would come too late: the probed instruction runs before it and may change any
 * register. This program may sleep, so it can walk here. Samples of other events may interrupt it:
 * it uses nothing of the task's slot. The task may move to another CPU after it: the request's time
 * is that of its end. */
SEC("uprobe.s")
int on_uprobe(struct clew_x86_regs *ctx)
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
				 .ip = ctx->regs.ip,
				 .is_user = ctx->regs.cs & 3,
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
		place = place_of(&c.w->regs);
		c.w->is_sigreturn = false;
		name_stack(c.w, t, cookie);
		begin_walk(c.w, WALK_REMOTE, t);
		c.task = t;
		if (!c.w->stop)
			bpf_loop(CB_MAX_DEPTH, step_remote, &c, 0);
		get_regs(&c.w->regs, t);
		if (slot->cookie.state == COOKIE_PENDING && slot->cookie.cookie == cookie &&
		    (!slot->cookie.place || slot->cookie.place == place) &&
		    place_of(&c.w->regs) == place) {
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
