/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_insn_a64.h"
#include "unwind/unw_walk_impl.h"

/* Of a frame that called another. */
static bool rbx_of(struct unw_walker *w, uint64_t *ret, enum unw_stop *stop)
{
	*stop = UNW_STOP_REGISTER;
	if (!w->follows_rbx) {
		w->wants_rbx = true;
		return false;
	}
	if (w->rbx == RBX_SAVED) {
		*stop = unw_walk_unreadable(w);
		return unw_walk_load(w, w->rbx_at, ret);
	}
	*ret = w->regs->r[UNW_RBX];
	return w->rbx == RBX_IN_REG && w->regs->known >> UNW_RBX & 1;
}

void unw_step_follow_rbx(struct unw_walker *w, enum unw_slot_kind kind, const struct unw_rule *rule)
{
	uint64_t at;

	if (kind == SLOT_SIGRETURN || (kind == SLOT_AFTER_SIGRETURN && w->next.is_exact)) {
		w->rbx = RBX_IN_REG;
		return;
	}
	if (kind == SLOT_NO_RULE || rule->flags & (UNW_RBX_LOST | UNW_SIGNAL) ||
	    rule->origin == UNW_SFRAME) {
		w->rbx = RBX_LOST;
		return;
	}
	/* Below SP it was popped again: compilers leave the rule as it was. */
	at = w->next.sp + (uint64_t)(int64_t)rule->cfa_off2;
	if (rule->cfa == UNW_CFA_REG && rule->cfa_off2 && at >= w->now.sp) {
		w->rbx = RBX_SAVED;
		w->rbx_at = at;
	}
}

static bool reg_of(struct unw_walker *w, unsigned int reg, uint64_t *ret, enum unw_stop *stop)
{
	const struct unw_machine *m = w->machine;

	if (reg == m->sp && w->now.has_sp) {
		*ret = w->now.sp;
		return true;
	}
	if (reg == m->fp) {
		*ret = w->now.fp;
		*stop = (enum unw_stop)w->now.no_fp;
		return w->now.has_fp;
	}
	if (reg == UNW_RBX && !w->now.is_exact && w->space->arch == UNW_X86_64)
		return rbx_of(w, ret, stop);
	*stop = UNW_STOP_REGISTER;
	if (reg >= UNW_NR_REGS || reg == m->sp || !w->now.is_exact || !(w->regs->known >> reg & 1))
		return false;
	*ret = w->regs->r[reg];
	return true;
}

static enum unw_stop cfa_of(struct unw_walker *w, const struct unw_rule *rule, uint64_t *ret)
{
	enum unw_stop stop = UNW_STOP_BAD_CFA;
	uint64_t v, index;

	if (!reg_of(w, rule->cfa_reg, &v, &stop))
		return stop;
	if (!unw_walk_add(v, rule->cfa_off, &v))
		return UNW_STOP_BAD_CFA;
	if (rule->cfa == UNW_CFA_INDEX) {
		if (!reg_of(w, rule->ra_reg, &index, &stop))
			return stop;
		v += index * 8; /* wrong values are found out below, as any CFA's */
	}
	if (rule->cfa != UNW_CFA_REG &&
	    (!unw_walk_load(w, v, &v) || !unw_walk_add(v, rule->cfa_off2, &v)))
		return unw_walk_unreadable(w);
	*ret = v;
	return UNW_STOP_NONE;
}

/* A leaf's frame may be empty where RA is in a register; SP moves freely through a signal. */
static bool is_good_cfa(const struct unw_walker *w, const struct unw_rule *rule, uint64_t cfa,
			uint64_t *ret_sp)
{
	uint64_t sp;

	if (cfa & 7 || !unw_walk_add(cfa, -(int64_t)w->machine->sp_bias, &sp))
		return false;
	*ret_sp = sp;
	if (rule->flags & UNW_SIGNAL || sp > w->now.sp)
		return true;
	return sp == w->now.sp && w->now.is_exact &&
	       (rule->ra == UNW_IN_REG || (rule->ra == UNW_SAME && w->machine->ra != 0xff));
}

/* Where a rule finds RA or FP. */
struct saved {
	uint8_t loc, reg;
	uint8_t same; /* the register that holds it unless the rule says otherwise */
	int32_t off;
};

static enum unw_stop value_of(struct unw_walker *w, struct saved s, uint64_t cfa, uint64_t *ret)
{
	enum unw_stop stop = UNW_STOP_REGISTER;
	uint64_t v = cfa;

	switch ((enum unw_loc)s.loc) {
	case UNW_SAME:
		return reg_of(w, s.same, ret, &stop) ? UNW_STOP_NONE : stop;
	case UNW_AT_REG:
	case UNW_IN_REG:
		if (!reg_of(w, s.reg, &v, &stop))
			return stop;
		break;
	case UNW_AT_CFA:
		break;
	case UNW_UNDEFINED:
		return UNW_STOP_REGISTER;
	}
	if (!unw_walk_add(v, s.off, &v))
		return UNW_STOP_BAD_CFA;
	if (s.loc != UNW_IN_REG && !unw_walk_load(w, v, &v))
		return unw_walk_unreadable(w);
	*ret = v;
	return UNW_STOP_NONE;
}

/* The topmost function has popped FP and is about to return. */
static bool is_returning(const struct unw_walker *w)
{
	struct unw_map map;

	return w->now.is_exact && w->now.has_fp && w->space->arch == UNW_X86_64 &&
	       w->space->find(w->space->ctx, w->now.pc, &map) &&
	       unw_code_is_return(map.code, w->now.pc + map.bias);
}

void unw_step_lost_fp(struct unw_walker *w, uint64_t address)
{
	w->next.has_fp = false;
	w->next.no_fp = (uint8_t)unw_walk_unreadable(w);
	/* Compilers leave the rule of a register that was popped as it was: a slot below SP, which
	 * a copied stack does not have. Where all that follows is the return, it was popped. */
	if (address >= w->now.sp || !is_returning(w))
		return;
	w->next.fp = w->now.fp;
	w->next.has_fp = true;
}

enum unw_stop unw_step_rule(struct unw_walker *w, const struct unw_rule *rule)
{
	const struct saved ra = {rule->ra, rule->ra_reg, w->machine->ra, rule->ra_off};
	const struct saved saved_fp = {rule->fp, rule->fp_reg, w->machine->fp, rule->fp_off};
	struct unw_frame *next = &w->next;
	uint64_t cfa = 0, fp;
	enum unw_stop stop = cfa_of(w, rule, &cfa);

	if (stop != UNW_STOP_NONE)
		return stop;
	*next = (struct unw_frame){.has_sp = true, .has_fp = true, .origin = rule->origin};
	if (!is_good_cfa(w, rule, cfa, &next->sp))
		return UNW_STOP_BAD_CFA;
	stop = value_of(w, ra, cfa, &next->pc);
	if (stop != UNW_STOP_NONE)
		return stop;
	/* "FP is where FP points" remains in compilers' rules when FP was popped. */
	if (rule->fp == UNW_AT_REG && rule->fp_reg == w->machine->fp && is_returning(w)) {
		fp = w->now.fp;
		stop = UNW_STOP_NONE;
	} else {
		stop = value_of(w, saved_fp, cfa, &fp);
	}
	if (stop == UNW_STOP_NONE)
		next->fp = fp;
	else if (rule->fp == UNW_AT_CFA && unw_walk_add(cfa, rule->fp_off, &fp))
		unw_step_lost_fp(w, fp);
	else
		next->has_fp = false;
	if (!next->has_fp && !next->no_fp)
		next->no_fp = (uint8_t)stop;
	if (rule->flags & UNW_SIGNAL) {
		next->is_exact = true;
		w->interrupted.known = 0; /* such a rule gives SP and FP alone */
		w->regs = &w->interrupted;
	}
	return UNW_STOP_NONE;
}

/* --- signal frames: the kernel wrote all registers onto the stack --- */

/* Spec: Linux 7.3 arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64; it stands 40 bytes
 * into the ucontext, to which SP points. */
static bool sigcontext_x86_64(struct unw_walker *w, struct unw_regs *r)
{
	static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
	uint64_t at = w->now.sp + 40;

	for (size_t i = 0; i < sizeof(order); i++) {
		if (!unw_walk_load(w, at + 8 * i, &r->r[order[i]]))
			return false;
	}
	r->known = 0xffff;
	return unw_walk_load(w, w->now.sp + 168, &r->pc);
}

static bool sigcontext_aarch64(struct unw_walker *w, struct unw_regs *r)
{
	for (unsigned int i = 0; i <= 31; i++) {
		if (!unw_walk_load(w, w->now.sp + A64_SIGRETURN_REGS + 8 * i, &r->r[i]))
			return false;
	}
	r->known = 0xffffffff;
	return unw_walk_load(w, w->now.sp + A64_SIGRETURN_PC, &r->pc);
}

/* Spec: Linux 7.3 arch/s390/kernel/signal.c, struct rt_sigframe and sigframe: 160 bytes of save
 * area, then the system call and siginfo before the ucontext, or the old mask and a pointer. The
 * registers start with the PSW. */
static bool sigcontext_s390x(struct unw_walker *w, struct unw_regs *r, bool is_old)
{
	uint64_t at = w->now.sp + 336;

	if (is_old && !unw_walk_load(w, w->now.sp + 168, &at))
		return false;
	for (unsigned int i = 0; i < 16; i++) {
		if (!unw_walk_load(w, at + 16 + 8 * i, &r->r[i]))
			return false;
	}
	r->known = 0xffff;
	return unw_walk_load(w, at + 8, &r->pc);
}

static bool is_old_sigreturn(const struct unw_walker *w)
{
	struct unw_map map;

	return w->space->find(w->space->ctx, w->now.pc, &map) &&
	       unw_code_is_old_sigreturn(map.code, w->now.pc + map.bias);
}

/* Its segment registers are those of a 64-bit program. */
bool unw_step_has_sigcontext(const struct unw_walker *w)
{
	enum { AT = 184, USER_CS = 0x33, USER_DS = 0x2b };
	uint64_t v;

	return w->now.has_sp && unw_walk_load(w, w->now.sp + AT, &v) && (v & 0xffff) == USER_CS &&
	       (v >> 48 == USER_DS || !(v >> 48));
}

enum unw_stop unw_step_sigreturn(struct unw_walker *w)
{
	struct unw_regs *r = &w->interrupted;
	const struct unw_machine *m = w->machine;
	bool is_read = false;

	if (!w->now.has_sp)
		return UNW_STOP_REGISTER;
	switch (w->space->arch) {
	case UNW_X86_64:
		is_read = sigcontext_x86_64(w, r);
		break;
	case UNW_AARCH64:
		is_read = sigcontext_aarch64(w, r);
		break;
	case UNW_S390X:
		is_read = sigcontext_s390x(w, r, is_old_sigreturn(w));
		break;
	}
	if (!is_read)
		return unw_walk_unreadable(w);
	if (r->r[m->sp] & 7)
		return UNW_STOP_BAD_CFA;
	w->regs = r;
	w->next = (struct unw_frame){.pc = r->pc,
				     .sp = r->r[m->sp],
				     .fp = r->r[m->fp],
				     .has_sp = true,
				     .has_fp = true,
				     .is_exact = true,
				     .origin = UNW_TRAMPOLINE};
	return UNW_STOP_NONE;
}

/* --- frame pointers: by convention, so everything is doubted --- */

static enum unw_stop no_fp_here(const struct unw_walker *w)
{
	uint64_t end = w->space->stack_start + w->space->stack_bytes;

	/* A frame pointer that leads out of the copy, but not far, may be right. */
	if (w->space->is_copy && w->now.fp + 16 > end && w->now.fp + 16 - end < 8 << 20)
		return UNW_STOP_TRUNCATED;
	return UNW_STOP_NO_INFO;
}

/* Does this return address follow a call, as far as the code can be seen? */
static bool is_plausible(struct unw_walker *w, uint64_t pc)
{
	const struct unw_slot *slot;

	if (w->pac_mask)
		pc = pc >> 55 & 1 ? pc : pc & w->pac_mask;
	if (!pc)
		return false;
	slot = unw_walk_look_up(w, pc, false);
	return slot->kind != SLOT_NO_MAPPING && !slot->is_no_call;
}

static bool set_next(struct unw_walker *w, enum unw_origin origin, uint64_t pc, uint64_t sp,
		     uint64_t fp)
{
	w->next = (struct unw_frame){.pc = pc,
				     .sp = sp,
				     .fp = fp,
				     .has_sp = true,
				     .has_fp = true,
				     .origin = (uint8_t)origin};
	return is_plausible(w, pc);
}

/* Where a function without rules may start. */
static uint64_t function_start(const struct unw_map *map, uint64_t rel)
{
	enum { MAX_BYTES = 4096 }; /* nothing separates functions */

	if (map->code && map->code->table.head && rel >= map->code->table.head->start)
		return unw_table_row_start(&map->code->table, rel);
	return rel > MAX_BYTES ? rel - MAX_BYTES : 0;
}

/* Does the call before @p ra lead to the function, between its start and its pc? */
static bool is_called_from(struct unw_walker *w, const struct unw_map *map, uint64_t ra,
			   uint64_t *ret_target)
{
	uint64_t rel = w->now.pc + map->bias;
	struct unw_map caller;
	int64_t off;

	if (!w->space->find(w->space->ctx, ra - 1, &caller) ||
	    !unw_code_call_target(w->space->arch, caller.code, ra + caller.bias, &off))
		return false;
	*ret_target = ra + (uint64_t)off + map->bias;
	return *ret_target <= rel && *ret_target >= function_start(map, rel);
}

/* A function without a frame: nothing of its own lies over the return address. */
static bool step_derived(struct unw_walker *w, const struct unw_map *map)
{
	uint64_t pc, target, sp = w->now.sp;

	return unw_walk_load(w, sp, &pc) && is_called_from(w, map, pc, &target) &&
	       set_next(w, UNW_DERIVED, pc, sp + 8, w->now.fp);
}

/* The link register, as long as the prologue has not run. */
static bool step_link(struct unw_walker *w, const struct unw_map *map)
{
	uint64_t rel = w->now.pc + map->bias, start, lr;
	enum unw_stop unused;

	if (!reg_of(w, A64_LINK, &lr, &unused) || !lr)
		return false;
	lr &= w->pac_mask;
	if (!is_called_from(w, map, lr, &start)) {
		if (!map->code || !map->code->table.head)
			return false;
		start = function_start(map, rel);
	}
	return unw_code_keeps_link(map->code, start, rel) &&
	       set_next(w, UNW_DERIVED, lr, w->now.sp, w->now.fp);
}

static bool step_bare(struct unw_walker *w, enum unw_origin origin)
{
	uint64_t sp = w->now.sp, pc;
	enum unw_stop unused;

	if (w->space->arch == UNW_AARCH64)
		return reg_of(w, A64_LINK, &pc, &unused) && set_next(w, origin, pc, sp, w->now.fp);
	return unw_walk_load(w, sp, &pc) && set_next(w, origin, pc, sp + 8, w->now.fp);
}

/* The topmost function has not set its frame up yet, has taken it down, or has none. */
static bool step_top(struct unw_walker *w)
{
	enum unw_arch arch = w->space->arch;
	uint64_t sp = w->now.sp, pc, fp;
	uint32_t frame_bytes = 0;
	struct unw_map map;

	if (!w->space->find(w->space->ctx, w->now.pc, &map))
		return false;
	switch (unw_code_place(arch, map.code, w->now.pc + map.bias, &frame_bytes)) {
	case UNW_CODE_BODY:
		break;
	case UNW_CODE_RETURN:
		return step_bare(w, UNW_DERIVED);
	case UNW_CODE_ENTRY:
		return step_bare(w, UNW_FP_PROLOGUE);
	case UNW_CODE_MAYBE:
		return (arch == UNW_X86_64 && step_derived(w, &map)) || step_bare(w, UNW_FP);
	case UNW_CODE_PUSHED:
		return unw_walk_load(w, sp, &fp) && unw_walk_load(w, sp + 8, &pc) &&
		       set_next(w, UNW_FP_PROLOGUE, pc, sp + frame_bytes, fp);
	}
	return arch == UNW_AARCH64 ? step_link(w, &map) : step_derived(w, &map);
}

/* s390x code has a back chain only if it was compiled with one: SP points to the caller's SP, and
 * the save area there holds r11, r14 and r15; r15 has to be that SP again. */
static enum unw_stop step_back_chain(struct unw_walker *w)
{
	uint64_t back, again, fp, pc;

	if (!w->now.has_sp || !unw_walk_load(w, w->now.sp, &back) || back & 7 ||
	    back <= w->now.sp || !unw_walk_load(w, back + 120, &again) || again != back ||
	    !unw_walk_load(w, back + 112, &pc) || !unw_walk_load(w, back + 88, &fp) ||
	    !set_next(w, UNW_FP, pc, back, fp))
		return UNW_STOP_NO_INFO;
	return UNW_STOP_NONE;
}

enum unw_stop unw_step_fp(struct unw_walker *w)
{
	uint64_t fp = w->now.fp, pc, next_fp;

	if (w->space->arch == UNW_S390X)
		return step_back_chain(w);
	if (w->now.is_exact && w->now.has_sp && step_top(w))
		return UNW_STOP_NONE;
	if (!w->now.has_fp)
		return UNW_STOP_NO_INFO;
	if (!fp && w->now.origin == UNW_FP)
		return UNW_STOP_FP_END; /* how the psABI marks the deepest frame */
	if (fp & 7 || fp < w->now.sp || fp > UINT64_MAX - 16)
		return UNW_STOP_NO_INFO;
	if (!unw_walk_load(w, fp, &next_fp) || !unw_walk_load(w, fp + 8, &pc))
		return no_fp_here(w);
	if (!pc && w->now.origin == UNW_FP)
		return UNW_STOP_FP_END;
	if (!set_next(w, UNW_FP, pc, fp + 16, next_fp))
		return UNW_STOP_NO_INFO;
	/* The frame record stands at the bottom of the frame: SP is somewhere above. */
	w->next.has_sp = w->space->arch != UNW_AARCH64;
	return UNW_STOP_NONE;
}

/* x29 points to the record in every function that saves it with x30, by convention; the rule says
 * how far that is from the CFA. */
enum unw_stop unw_step_record(struct unw_walker *w, const struct unw_slot *s)
{
	bool is_record = s->fp == UNW_AT_CFA && s->ra_off == s->fp_off + 8;
	uint64_t fp = w->now.fp, cfa, pc, next_fp;

	if (w->space->arch != UNW_AARCH64 || !w->now.has_fp || !is_record || fp & 7 ||
	    fp < w->now.sp || !unw_walk_add(fp, -(int64_t)s->fp_off, &cfa) || cfa <= fp ||
	    !unw_walk_load(w, fp, &next_fp) || !unw_walk_load(w, fp + 8, &pc))
		return UNW_STOP_REGISTER;
	if (!pc)
		return UNW_STOP_FP_END;
	return set_next(w, UNW_FP, pc, cfa, next_fp) ? UNW_STOP_NONE : UNW_STOP_REGISTER;
}
