/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_ENTRY_H
#define RECORD_BPF_BPF_ENTRY_H

#include "record/bpf/bpf_walk.h"
#include "record/bpf/entry_guess.h"

/* A task's entry into the kernel: what is kept of it at the request, and from which registers its
 * stack is read later. */

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

#endif
