/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_WALK_H
#define RECORD_BPF_BPF_WALK_H

#include "record/bpf/bpf_find.h"

/*
 * From a task's user registers to its frames: unwind/unw_walk.h once more, under the verifier's
 * rules.
 */

/* --- one frame --- */

struct step {
	uint64_t cfa, ra, fp;
	uint64_t rbx_at; /* as of struct walk; 0: as it was */
	uint8_t method;
	bool keeps_fp, is_signal;
	bool is_no_call; /* by convention, and no call stands before ra: only code of no file may
			    return there */
	bool has_all;    /* all registers are known again: walk.r holds them */
};

static __always_inline bool get_reg(const struct walk *w, uint8_t reg, uint64_t *ret)
{
	reg &= 31;
	if (!(w->known >> reg & 1))
		return false;
	*ret = w->r[reg & (CB_NR_REGS - 1)];
	return true;
}

/* Do the eight bytes before a return address, the last in the top byte, end in a call? E8 rel32, or
 * FF /2 with its address. */
__weak __noinline int is_call(uint64_t code)
{
	uint32_t len;

	if ((code >> 24 & 0xff) == 0xe8)
		return true;
#pragma unroll
	for (len = 2; len <= 7; len++) {
		uint32_t op = code >> (64 - 8 * len) & 0xff, modrm = code >> (72 - 8 * len) & 0xff;
		uint32_t mod = modrm >> 6, rm = modrm & 7, size = 2;

		if (op != 0xff || (modrm >> 3 & 7) != 2)
			continue;
		if (mod != 3 && rm == 4) {
			uint32_t sib = len > 2 ? code >> (80 - 8 * len) & 0xff : 0;

			size += 1 + (!mod && (sib & 7) == 5 ? 4 : 0);
		} else if (!mod && rm == 5) {
			size += 4;
		}
		size += mod == 1 ? 1 : mod == 2 ? 4 : 0;
		if (len == size)
			return true;
	}
	return false;
}

enum { UNTOLD_BYTES = 4096 }; /* of code where nothing separates functions */

/* Where frame pointers are kept, the caller's lies under the return address. */
static __always_inline bool step_fp(struct walk *w, struct step *s, const enum walk_way way,
				    struct task_struct *task)
{
	uint64_t fp = w->r[RBP], code = 0;

	if (!(w->known >> RBP & 1) || fp & 7 || fp < w->r[RSP] || fp - w->r[RSP] > 8 << 20 ||
	    !get_word(w, fp, &s->fp, way, task) || !get_word(w, fp + 8, &s->ra, way, task))
		return false;
	if (s->ra && read_user(w, way, &code, sizeof(code), s->ra - 8, task))
		return false;
	s->is_no_call = s->ra && !is_call(code);
	s->cfa = fp + 16;
	s->rbx_at = RBX_LOST;
	s->keeps_fp = true;
	s->is_signal = false;
	s->method = UNW_FP;
	return true;
}

/* Code that no source covers, at an instruction where nothing of its own lies on the stack: an
 * entry (endbr64, push rbp, sub rsp), a return, or after a system call, as in _init and clone3.
 * Two words of code, the second at pc, decide. @return how sure that is (enum unw_origin); 0: it is
 * not. */
static __always_inline uint8_t is_bare(const uint64_t *code)
{
	uint64_t at = code[1];

	if ((at & 0xff) == 0xc3)
		return UNW_DERIVED;
	if ((at & 0xffffffff) == 0xe5894855 || (at & 0xffffffff) == 0xec8b4855)
		return UNW_FP_PROLOGUE;
	return code[0] >> 48 == 0x050f || (at & 0xff) == 0x55 || (at & 0xffffffff) == 0xfa1e0ff3 ||
			       (at & 0xffffff) == 0xec8348
		     ? UNW_FP
		     : 0;
}

/* Does the direct call before @p ra, if the word before that is @p code, lead into the function
 * that holds pc, and not after pc? */
static __always_inline bool is_called_from(struct walk *w, struct walk_vma *v, uint64_t ra,
					   uint64_t code)
{
	uint64_t target = ra + (uint64_t)(int64_t)(int32_t)(code >> 32), start = v->start;

	if ((code >> 24 & 0xff) != 0xe8 || target > w->pc)
		return false;
	if (v->code == WALK_TABLE)
		start = row_start(v, w->pc + v->bias) - v->bias;
	else if (w->pc - start > UNTOLD_BYTES)
		start = w->pc - UNTOLD_BYTES;
	return target >= start;
}

/* The return address on top of the stack, of a function without a frame. */
static __always_inline bool step_top(struct walk *w, struct walk_vma *v, struct step *s,
				     const enum walk_way way, struct task_struct *task)
{
	uint64_t *code = w->interrupted;

	if (!w->is_exact || read_user(w, way, code, 16, w->pc - 8, task))
		return false;
	s->method = is_bare(code);
	if (!get_word(w, w->r[RSP], &s->ra, way, task) ||
	    read_user(w, way, code, 8, s->ra - 8, task))
		return false;
	if (is_called_from(w, v, s->ra, code[0]))
		s->method = UNW_DERIVED;
	else if (!s->method || !is_call(code[0]))
		return false;
	s->cfa = w->r[RSP] + 8;
	s->rbx_at = RBX_LOST;
	s->fp = w->r[RBP];
	s->keeps_fp = w->known >> RBP & 1;
	s->is_signal = false;
	return true;
}

static __always_inline uint8_t get_cfa(struct walk *w, const struct unw_rule *r, uint64_t *ret,
				       const enum walk_way way, struct task_struct *task)
{
	uint64_t base, index;

	if (r->cfa == UNW_CFA_PLT) {
		*ret = w->r[RSP] + 8 + ((int64_t)(w->pc & 15) >= r->cfa_off ? 8 : 0);
		return UNW_STOP_NONE;
	}
	if (!get_reg(w, r->cfa_reg, &base))
		return UNW_STOP_REGISTER;
	base += (uint64_t)(int64_t)r->cfa_off;
	if (r->cfa == UNW_CFA_INDEX) {
		if (!get_reg(w, r->ra_reg, &index))
			return UNW_STOP_REGISTER;
		base += index * 8;
	}
	if (r->cfa == UNW_CFA_DEREF || r->cfa == UNW_CFA_INDEX) {
		if (!get_word(w, base, &base, way, task))
			return UNW_STOP_UNREADABLE;
		base += (uint64_t)(int64_t)r->cfa_off2;
	}
	*ret = base;
	return UNW_STOP_NONE;
}

/* Where a rule finds a register of the caller. */
struct saved {
	uint8_t loc, reg; /* enum unw_loc */
	int32_t off;
};

static __always_inline uint8_t get_saved(struct walk *w, const struct saved *s, uint64_t cfa,
					 uint64_t *ret, const enum walk_way way,
					 struct task_struct *task)
{
	uint64_t base = cfa;

	if (s->loc != UNW_AT_CFA && !get_reg(w, s->reg, &base))
		return UNW_STOP_REGISTER;
	base += (uint64_t)(int64_t)s->off;
	if (s->loc == UNW_IN_REG) {
		*ret = base;
		return UNW_STOP_NONE;
	}
	return get_word(w, base, ret, way, task) ? UNW_STOP_NONE : UNW_STOP_UNREADABLE;
}

/* Spec: arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64, 40 bytes into the ucontext to
 * which SP points: all registers of the interrupted code. */
static __always_inline uint8_t step_sigreturn(struct walk *w, struct step *s,
					      const enum walk_way way, struct task_struct *task)
{
	if (read_user(w, way, w->interrupted, sizeof(w->interrupted), w->r[RSP] + 40, task))
		return UNW_STOP_UNREADABLE;
	s->cfa = w->interrupted[15];
	s->fp = w->interrupted[10];
	s->ra = w->interrupted[16];
	if (s->cfa & 7)
		return UNW_STOP_BAD_CFA;
	s->keeps_fp = s->is_signal = s->has_all = true;
	s->method = UNW_TRAMPOLINE;
	return UNW_STOP_NONE;
}

static __always_inline void take_interrupted(struct walk *w)
{
	w->r[8] = w->interrupted[0];
	w->r[9] = w->interrupted[1];
	w->r[10] = w->interrupted[2];
	w->r[11] = w->interrupted[3];
	w->r[12] = w->interrupted[4];
	w->r[13] = w->interrupted[5];
	w->r[14] = w->interrupted[6];
	w->r[15] = w->interrupted[7];
	w->r[5] = w->interrupted[8];
	w->r[4] = w->interrupted[9];
	w->r[3] = w->interrupted[11];
	w->r[1] = w->interrupted[12];
	w->r[0] = w->interrupted[13];
	w->r[2] = w->interrupted[14];
	w->rbx_at = 0;
	w->known = 0xffff;
}

/* Make r[RBX] known in a frame that called another, if it is. */
static __always_inline void recall_rbx(struct walk *w, const enum walk_way way,
				       struct task_struct *task)
{
	if (w->known >> RBX & 1 || w->rbx_at == RBX_LOST ||
	    (w->rbx_at && !get_word(w, w->rbx_at, &w->r[RBX], way, task)))
		return;
	w->rbx_at = 0;
	w->known |= 1 << RBX;
}

/* Where has @p r, with a known CFA, the caller's rbx? Below SP it was popped again: compilers
 * leave the rule as it was. */
static __always_inline void follow_rbx(const struct walk *w, const struct unw_rule *r,
				       struct step *s)
{
	uint64_t at = s->cfa + (uint64_t)(int64_t)r->cfa_off2;

	if (r->flags & (UNW_RBX_LOST | UNW_SIGNAL) || r->origin == UNW_SFRAME)
		s->rbx_at = RBX_LOST;
	else if (r->cfa == UNW_CFA_REG && r->cfa_off2 && at >= w->r[RSP])
		s->rbx_at = at;
}

static __always_inline uint8_t step_rule(struct walk *w, const struct unw_rule *r, struct step *s,
					 const enum walk_way way, struct task_struct *task)
{
	const struct saved fp = {r->fp, r->fp_reg, r->fp_off}, ra = {r->ra, r->ra_reg, r->ra_off};
	uint8_t stop;

	if (r->ra == UNW_UNDEFINED)
		return UNW_STOP_OUTERMOST;
	if (r->flags & UNW_SIGNAL && r->ra == UNW_AT_REG && r->ra_reg == RSP && r->ra_off == 168)
		return step_sigreturn(w, s, way, task);
	if (r->cfa_reg == RBX || r->ra_reg == RBX || r->fp_reg == RBX)
		recall_rbx(w, way, task);
	stop = get_cfa(w, r, &s->cfa, way, task);
	if (stop)
		return stop;
	s->is_signal = r->flags & UNW_SIGNAL;
	follow_rbx(w, r, s);
	/* vfork() keeps its return address in a register: its frame is empty. */
	if (s->cfa & 7 ||
	    (s->cfa < w->r[RSP] + !(w->is_exact && r->ra == UNW_IN_REG) && !s->is_signal))
		return UNW_STOP_BAD_CFA;
	s->keeps_fp = r->fp != UNW_UNDEFINED && (w->known >> RBP & 1 || r->fp != UNW_SAME);
	s->fp = w->r[RBP];
	if (r->fp != UNW_UNDEFINED && r->fp != UNW_SAME) {
		/* The lower of the two first: both are in one window then. Without it the walk
		 * continues as long as it can. */
		if (get_saved(w, &fp, s->cfa, &s->fp, way, task))
			s->keeps_fp = false;
	}
	/* amd64 has no register for it. */
	if (r->ra == UNW_SAME)
		return UNW_STOP_REGISTER;
	s->method = r->origin;
	return get_saved(w, &ra, s->cfa, &s->ra, way, task);
}

/* The first return of clone() or clone3() in the child: it has no caller. */
static __always_inline bool is_new_thread(const struct walk *w)
{
	return w->out.nr == 1 && !w->regs.ax &&
	       (w->regs.orig_ax == CLONE || w->regs.orig_ax == CLONE3);
}

/* Code without rules. */
static __always_inline uint8_t step_bare(struct walk *w, struct walk_vma *v, struct step *s,
					 const enum walk_way way, struct task_struct *task)
{
	if (step_top(w, v, s, way, task) || step_fp(w, s, way, task))
		return UNW_STOP_NONE;
	return is_new_thread(w) ? UNW_STOP_OUTERMOST : UNW_STOP_NO_INFO;
}

static __always_inline bool is_after_call(struct walk *w, const enum walk_way way,
					  struct task_struct *task)
{
	uint64_t code = 0;

	return !read_user(w, way, &code, sizeof(code), w->pc - 8, task) && is_call(code);
}

/* Of the frame that was put last: it is looked up at its address itself. Made again it changes
 * nothing. */
static __always_inline void mark_exact(struct walk *w)
{
	uint32_t n = w->out.nr - 1u;

	w->uniform = CB_MIXED;
	if ((n & 15) == 15)
		w->methods[(n >> 4) & (CB_MAX_DEPTH / 16 - 1)] |= (uint64_t)CB_EXACT << 60;
	else
		w->method_word |= (uint64_t)CB_EXACT << ((n & 15) * 4);
}

static __always_inline uint8_t step_of(struct walk *w, struct step *s, const enum walk_way way,
				       struct task_struct *task)
{
	struct walk_vma *v = &w->vmas[w->vma & (NR_VMAS - 1)];
	struct unw_rule r;

	if (w->is_sigreturn)
		return step_sigreturn(w, s, way, task);
	if (w->is_busy_vma)
		return UNW_STOP_MAPS_BUSY;
	if (v->code == WALK_NO_TABLE_YET)
		return UNW_STOP_NO_TABLE_YET;
	if (v->code != WALK_TABLE)
		return step_bare(w, v, s, way, task);
	if (!rule_at(v, w->is_exact ? w->pc : w->pc - 1, &r))
		return UNW_STOP_NO_TABLE_YET;
	if (r.cfa == UNW_CFA_NONE && !w->is_exact) {
		/* No call returns there: it may be the start of the sigreturn code, or what
		 * makecontext() leads to. */
		struct unw_rule exact;

		if (!rule_at(v, w->pc, &exact))
			return UNW_STOP_NO_TABLE_YET;
		if (exact.flags & UNW_SIGNAL ||
		    (exact.cfa != UNW_CFA_NONE && !is_after_call(w, way, task))) {
			r = exact;
			mark_exact(w);
		}
	} else if (r.flags & UNW_SIGNAL && !w->is_exact) {
		mark_exact(w);
	}
	if (r.cfa != UNW_CFA_NONE)
		return step_rule(w, &r, s, way, task);
	w->why = r.why;
	if (r.why != UNW_WHY_GAP)
		return UNW_STOP_UNREPRESENTABLE;
	return step_bare(w, v, s, way, task);
}

/* --- frames --- */

static __always_inline void put_frame(struct walk *w, uint64_t pc, uint8_t method)
{
	uint32_t n = w->out.nr;

	w->ips[n & (CB_MAX_DEPTH - 1)] = pc;
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
	if (!s.ra) {
		/* At the interrupted instruction the rule may be wrong, and a signal may have
		 * interrupted a call through a null pointer. */
		w->stop = s.method == UNW_FP         ? UNW_STOP_FP_END
			: s.is_signal || w->is_exact ? UNW_STOP_BAD_RA
						     : UNW_STOP_OUTERMOST;
		return STEP_END;
	}
	if (s.ra == w->trampoline) {
		if (!find_original(w, s.cfa - 8)) {
			w->stop = UNW_STOP_URETPROBE;
			return STEP_END;
		}
		s.ra = w->original;
	}
	if (s.ra == w->pc && s.cfa == w->r[RSP]) {
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
	w->r[RSP] = s.cfa;
	w->r[RBP] = s.fp;
	w->known = 1 << RSP | (s.keeps_fp ? 1 << RBP : 0);
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
	const struct clew_x86_regs *regs = &w->regs;

	w->r[0] = regs->ax;
	w->r[1] = regs->dx;
	w->r[2] = regs->cx;
	w->r[3] = regs->bx;
	w->r[4] = regs->si;
	w->r[5] = regs->di;
	w->r[RBP] = regs->bp;
	w->r[RSP] = regs->sp;
	w->r[8] = regs->r8;
	w->r[9] = regs->r9;
	w->r[10] = regs->r10;
	w->r[11] = regs->r11;
	w->r[12] = regs->r12;
	w->r[13] = regs->r13;
	w->r[14] = regs->r14;
	w->r[15] = regs->r15;
	w->known = 0xffff;
	w->rbx_at = 0;
	w->pc = regs->ip;
	w->max = config.max_stack;
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
	put_frame(w, regs->ip, UNW_NO_ORIGIN);
	if ((regs->cs & 0xffff) != USER_CS)
		w->stop = UNW_STOP_UNSUPPORTED; /* a 32-bit task */
	else if (!task->mm)
		w->stop = UNW_STOP_EXITING;
	else
		begin_vma(w, find_vma(w, regs->ip, way, task));
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

	if (p->start - w->r[RSP] >= w->copy_limit || !fill_window(w, p->start, way, task))
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
	if (!w->copy_limit || w->r[RSP] & 7 || !send_regs(w)) {
		return_budget(w->copy_limit);
		count(CB_NO_COPY);
		return;
	}
	w->piece.kind = CB_PIECE;
	w->piece.tid = w->out.tid;
	w->piece.cookie = w->out.cookie;
	w->piece.start = w->r[RSP];
	w->out.has_copy = true;
	if (way == WALK_NOW)
		bpf_loop(CB_MAX_COPY / 512, piece_now, c, 0);
	else
		bpf_loop(CB_MAX_COPY / 512, piece_sleeping, c, 0);
	used = w->piece.start - w->r[RSP] + sizeof(struct cb_regs);
	return_budget(used < w->copy_limit ? w->copy_limit - used : 0);
}

#endif
