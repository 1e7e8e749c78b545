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

/* The words on top of the stack are read again: the return address among them distinguishes
 * calls of one function from two places. */
static __always_inline uint64_t rest_of(const struct clew_regs *r, struct task_struct *t)
{
	uint64_t top[8] = {};
	uint64_t h = mix(result_of(r), t->nvcsw + t->nivcsw);

	bpf_probe_read_user(top, sizeof(top), (const void *)sp_of(r));
	h = mix(h, top[0]);
	h = mix(h, top[1]);
	h = mix(h, top[2]);
	h = mix(h, top[3]);
	h = mix(h, top[4]);
	h = mix(h, top[5]);
	h = mix(h, top[6]);
	return mix(h, top[7]);
}

static __always_inline void get_regs(struct clew_regs *ret, struct task_struct *t)
{
	bpf_probe_read_kernel(ret, sizeof(*ret), (const void *)bpf_task_pt_regs(t));
}

/* A signal may be delivered between the request and the callback, if the interrupt that queues this
 * comes late: then what the request saw stands in the signal's frame. (A restarted system call lies
 * an instruction back.) */
static __always_inline bool is_before_signal(const struct task_slot *slot, struct walk *w)
{
	if (bpf_probe_read_user(w->interrupted, sizeof(w->interrupted),
				(const void *)(sp_of(&w->regs) + HANDLER_REGS)) ||
	    w->interrupted[SIGNAL_SP] != slot->sp ||
	    (w->interrupted[SIGNAL_PC] != slot->ip &&
	     w->interrupted[SIGNAL_PC] != slot->ip - SYSCALL_BYTES))
		return false;
	regs_of_signal(&w->regs, w->interrupted);
	return true;
}

/* Has the kernel prepared to make the system call again, for want of a signal? */
static __always_inline bool is_restarted(const struct task_slot *slot, const struct walk *w)
{
	if (!RESTARTS_EARLY || pc_of(&w->regs) != slot->ip - SYSCALL_BYTES ||
	    sp_of(&w->regs) != slot->sp)
		return false;
	return place_at(&w->regs, slot->ip) == slot->cookie.place;
}

/* Has sigreturn put back, and nothing run since, what the signal interrupted? */
static __always_inline bool is_after_sigreturn(const struct task_slot *slot,
					       const struct clew_regs *regs)
{
	uint64_t saved[2] = {}; /* sp, pc */

	return !bpf_probe_read_user(saved, sizeof(saved),
				    (const void *)(slot->sp + SIGRETURN_REGS + 8 * SIGNAL_SP)) &&
	       saved[0] == sp_of(regs) && saved[1] == pc_of(regs);
}

/* Where the entry's stack is read from: what replaced its registers itself is seen through.
 * sigreturn's own frames stay in memory. */
static __always_inline uint64_t begin_place(const struct task_slot *slot, struct walk *w,
					    uint64_t mm_id)
{
	uint64_t place = place_at(&w->regs, pc_of(&w->regs));

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
		if (w->is_sigreturn || (slot->ip == pc_of(&w->regs) && slot->sp == sp_of(&w->regs)))
			goto same;
	} else if (is_restarted(slot, w) || is_before_signal(slot, w)) {
		goto same;
	}
	return place;
same:
	set_pc_and_sp(&w->regs, slot->ip, slot->sp);
	return slot->cookie.place;
}

#endif
