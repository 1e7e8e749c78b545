/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_WALK_H
#define RECORD_BPF_BPF_WALK_H

#include "record/bpf/bpf_step.h"

/*
 * From a task's user registers to its frames: unwind/unw_walk.h once more, under the verifier's
 * rules.
 */

/* --- frames --- */

static __always_inline void put_frame(struct walk *w, uint64_t pc, uint8_t method)
{
	uint32_t n = w->out.nr;

	w->ips[n & (CB_MAX_DEPTH - 1)] = pc;
	w->origin = method;
	if (n == 1)
		w->uniform = method;
	else if (n > 1 && w->uniform != method)
		w->uniform = CB_MIXED;
	w->method_word |= (uint64_t)(method & 15) << ((n & 15) * 4);
	if ((n & 15) == 15) {
		w->methods[(n >> 4) & (CB_MAX_DEPTH / 16 - 1)] = w->method_word;
		w->method_word = 0;
	}
	w->out.nr = (uint16_t)(n + 1);
}

/* --- calls with a probed return --- */

enum { MAX_PENDING = 64 }; /* the kernel's MAX_URETPROBE_DEPTH */

/* A uretprobe has put its trampoline in the place of a return address, and the kernel keeps what
 * was there. */
static __always_inline void begin_pending(struct walk *w, struct task_struct *task)
{
	struct uprobe_task *u;

	w->trampoline = w->pending = 0;
	if (!bpf_core_field_exists(task->utask))
		return;
	u = task->utask;
	if (!u)
		return;
	w->pending = (uint64_t)BPF_CORE_READ(u, return_instances);
	if (w->pending)
		w->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* Make w->original what lay at @p at before. @return whether the kernel knows. */
__weak __noinline int find_original(struct walk *w, uint64_t at)
{
	struct return_instance *r;
	uint32_t i;

	if (!w)
		return false;
	r = (struct return_instance *)w->pending;
	for (i = 0; i < MAX_PENDING && r; i++) {
		if (BPF_CORE_READ(r, stack) == at) {
			w->original = BPF_CORE_READ(r, orig_ret_vaddr);
			return w->original != 0;
		}
		r = BPF_CORE_READ(r, next);
	}
	return false;
}

/* What a step came to. */
enum { STEP_DONE, STEP_END, STEP_RETRY };

/* How the psABI marks the deepest frame, if frame pointers led to this one. */
static __always_inline uint8_t end_of_fp(const struct walk *w)
{
	return w->origin == UNW_FP ? UNW_STOP_FP_END : UNW_STOP_NO_INFO;
}

static __always_inline int walk_step(struct walk *w, const enum walk_way way,
				     struct task_struct *task)
{
	struct step s = {};

	if (w->out.nr >= w->max || w->out.nr >= CB_MAX_DEPTH) {
		w->stop = UNW_STOP_MAX_DEPTH;
		return STEP_END;
	}
	w->lacking = 0;
	w->stop = step_of(w, &s, way, task);
	if (w->may_retry && w->lacking)
		return STEP_RETRY;
	if (w->stop)
		return STEP_END;
	if (!s.is_signal)
		s.ra &= w->code_bits;
	if (!s.ra) {
		/* At the interrupted instruction a rule of x86 may be wrong, and a signal may have
		 * interrupted a call through a null pointer. */
		w->stop = s.method == UNW_FP                        ? end_of_fp(w)
			: s.is_signal || (w->is_exact && !HAS_LINK) ? UNW_STOP_BAD_RA
								    : UNW_STOP_OUTERMOST;
		return STEP_END;
	}
	if (s.ra == w->trampoline) {
		if (!find_original(w, s.cfa - CALL_BYTES)) {
			w->stop = UNW_STOP_URETPROBE;
			return STEP_END;
		}
		s.ra = w->original;
	}
	if (s.ra == w->pc && s.cfa == w->r[REG_SP]) {
		w->stop = UNW_STOP_LOOP;
		return STEP_END;
	}
	switch (find_vma(w, s.ra - !s.is_signal, way, task)) {
	case VMA_NONE:
		/* A frame pointer that leads nowhere is none. */
		w->stop = s.method == UNW_FP ? UNW_STOP_NO_INFO : UNW_STOP_BAD_RA;
		return STEP_END;
	case VMA_BUSY:
		if (w->may_retry)
			return STEP_RETRY;
		w->is_busy_vma = true;
		break;
	}
	if (s.is_no_call && w->vmas[w->vma & (NR_VMAS - 1)].code != WALK_NO_FILE) {
		w->stop = UNW_STOP_NO_INFO;
		return STEP_END;
	}
	w->pc = s.ra;
	w->r[REG_SP] = s.cfa;
	w->r[REG_FP] = s.fp;
	w->known = (s.has_no_sp ? 0 : 1ull << REG_SP) | (s.keeps_fp ? 1ull << REG_FP : 0);
	if (s.rbx_at)
		w->rbx_at = s.rbx_at;
	if (s.has_all)
		take_interrupted(w);
	w->is_exact = s.is_signal;
	w->is_sigreturn = false;
	put_frame(w, s.ra, s.method);
	return STEP_DONE;
}

__weak __noinline int walk_step_now(struct walk *w)
{
	return w ? walk_step(w, WALK_NOW, bpf_get_current_task_btf()) : STEP_END;
}

static long step_now(uint32_t i, struct walk_ctx *c)
{
	return walk_step_now(c->w) != STEP_DONE;
}

/* Sleep until what the step lacked is there. */
static __always_inline void fetch(struct walk *w, struct task_struct *task)
{
	uint8_t byte;

	if (!w->lacking)
		wait_for_mappings(w, task);
	else if (bpf_copy_from_user(&byte, 1, (const void *)w->lacking) ||
		 bpf_copy_from_user(&byte, 1, (const void *)(w->lacking + w->lacking_size - 1)))
		w->unreadable = w->lacking;
}

/* A global function cannot sleep, and inline there would be more states than a verifier (of Linux
 * 7.3) looks at. So the step is that which does not sleep, made again when it lacked something:
 * until then it has changed nothing. */
static long step_sleeping(uint32_t i, struct walk_ctx *c)
{
	uint32_t tries;
	int came_to = STEP_RETRY;

	for (tries = 0; tries < MAX_TRIES && came_to == STEP_RETRY; tries++) {
		if (tries)
			fetch(c->w, bpf_get_current_task_btf());
		c->w->may_retry = tries < MAX_TRIES - 1;
		came_to = walk_step_now(c->w);
	}
	c->w->may_retry = false;
	return came_to != STEP_DONE;
}

/* For a program that sleeps from its start: there a global function may, too. */
__weak __noinline int walk_step_remote(struct walk *w, struct task_struct *task TRUSTED)
{
	return w ? walk_step(w, WALK_REMOTE, task) : STEP_END;
}

static long step_remote(uint32_t i, struct walk_ctx *c)
{
	return walk_step_remote(c->w, c->task) != STEP_DONE;
}

#define MOST_CODE_BITS ((1ull << 52) - 1) /* a program has asked for such addresses */

static __always_inline void begin_vma(struct walk *w, int found)
{
	w->is_busy_vma = found == VMA_BUSY;
	if (found == VMA_NONE)
		w->stop = UNW_STOP_NO_MAPPING;
}

/* Registers of a task on its way through the kernel. */
static __always_inline void begin_walk(struct walk *w, const enum walk_way way,
				       struct task_struct *task)
{
	const struct clew_regs *regs = &w->regs;

	number_regs(w->r, regs);
	w->known = KNOWN_AT_FIRST;
	w->rbx_at = 0;
	w->pc = pc_of(regs);
	w->max = config.max_stack;
	w->code_bits = config.code_bits | (w->pc >> 48 ? MOST_CODE_BITS : 0);
	w->is_exact = true;
	w->may_retry = false;
	w->unreadable = 0;
	w->stop = w->why = 0;
	w->uniform = UNW_NO_ORIGIN;
	w->method_word = 0;
	w->win_words = 0;
	w->win_start = 0;
	w->out.nr = 0;
	w->out.has_copy = 0;
	begin_pending(w, task);
	begin_vmas(w, task);
	put_frame(w, w->pc, UNW_NO_ORIGIN);
	if (!is_native(regs))
		w->stop = UNW_STOP_UNSUPPORTED; /* a 32-bit task */
	else if (!task->mm)
		w->stop = UNW_STOP_EXITING;
	else
		begin_vma(w, find_vma(w, w->pc, way, task));
}

/* --- what a walk left over --- */

/* User space can continue the walk from here: it lacks only the table, or the mappings. */
static __always_inline bool may_go_on(const struct walk *w)
{
	return w->stop == UNW_STOP_NO_TABLE_YET || w->stop == UNW_STOP_MAPS_BUSY;
}

/* Send a part of the stack. */
static __always_inline bool copy_piece(struct walk *w, const enum walk_way way,
				       struct task_struct *task)
{
	struct cb_piece *p = &w->piece;
	uint64_t size;

	if (p->start - w->r[REG_SP] >= w->copy_limit || !fill_window(w, p->start, way, task))
		return false;
	p->nr_words = (uint32_t)w->win_words;
	if (bpf_ringbuf_output(&stacks, p, sizeof(*p), BPF_RB_NO_WAKEUP)) {
		count(CB_RING_FULL);
		count(CB_NO_COPY);
		return false;
	}
	size = w->win_words * 8;
	p->start += size;
	return true;
}

static long piece_sleeping(uint32_t i, struct walk_ctx *c)
{
	return !copy_piece(c->w, WALK_SLEEPING, bpf_get_current_task_btf());
}

static long piece_now(uint32_t i, struct walk_ctx *c)
{
	return !copy_piece(c->w, WALK_NOW, bpf_get_current_task_btf());
}

/* Bytes that may be copied now. */
static __always_inline uint64_t take_budget(uint64_t most)
{
	uint32_t key = CB_COPY_BYTES;
	int64_t *left = bpf_map_lookup_elem(&controls, &key);

	if (!left || *(volatile int64_t *)left < (int64_t)most)
		return 0;
	__sync_fetch_and_add(left, -(int64_t)most);
	return most;
}

/* Most stacks are far shorter than what may be copied of one. */
static __always_inline void return_budget(uint64_t unused)
{
	uint32_t key = CB_COPY_BYTES;
	int64_t *left = bpf_map_lookup_elem(&controls, &key);

	if (left)
		__sync_fetch_and_add(left, (int64_t)unused);
}

static __always_inline bool send_regs(struct walk *w)
{
	struct cb_regs *r = bpf_ringbuf_reserve(&stacks, sizeof(*r), 0);
	uint32_t i;

	if (!r) {
		count(CB_RING_FULL);
		return false;
	}
	r->kind = CB_REGS;
	r->tid = w->out.tid;
	r->cookie = w->out.cookie;
	r->pc = w->pc;
	r->known = w->known;
	for (i = 0; i < CB_NR_REGS; i++)
		r->r[i] = w->r[i];
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline void copy_stack(struct walk_ctx *c, const enum walk_way way)
{
	struct walk *w = c->w;
	uint64_t used;

	if (!may_go_on(w))
		return;
	w->copy_limit = take_budget(way == WALK_NOW ? CB_MAX_COPY / 4 : CB_MAX_COPY);
	recall_rbx(w, way, bpf_get_current_task_btf());
	if (!w->copy_limit || w->r[REG_SP] & 7 || !send_regs(w)) {
		return_budget(w->copy_limit);
		count(CB_NO_COPY);
		return;
	}
	w->piece.kind = CB_PIECE;
	w->piece.tid = w->out.tid;
	w->piece.cookie = w->out.cookie;
	w->piece.start = w->r[REG_SP];
	w->out.has_copy = true;
	if (way == WALK_NOW)
		bpf_loop(CB_MAX_COPY / 512, piece_now, c, 0);
	else
		bpf_loop(CB_MAX_COPY / 512, piece_sleeping, c, 0);
	used = w->piece.start - w->r[REG_SP] + sizeof(struct cb_regs);
	return_budget(used < w->copy_limit ? w->copy_limit - used : 0);
}

#endif
