/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/mem.h"
#include "unwind/unw_insn.h"
#include "unwind/unw_walk_impl.h"

const char unw_probes_name[] = "[uprobes]";

static const struct unw_machine machines[] = {
	[UNW_X86_64] = {.sp = 7,      .fp = 6,  .ra = 0xff, .sigreturn_pc = X86_SIGRETURN_PC},
	[UNW_AARCH64] = {.sp = A64_SP,
                        .fp = A64_FP,
                        .ra = A64_LINK,
                        .sigreturn_pc = A64_SIGRETURN_PC                                    },
	[UNW_S390X] = {.sp = 15,     .fp = 11, .ra = 14,   .sp_bias = 160                  },
};

struct unw_memo *unw_memo_new(void)
{
	return mem_zalloc(sizeof(struct unw_memo));
}

void unw_memo_free(struct unw_memo *m)
{
	mem_free(m);
}

bool unw_walk_load_far(const struct unw_walker *w, uint64_t address, uint64_t *ret)
{
	const struct unw_space *s = w->space;

	return !s->is_copy && s->read && address <= UINT64_MAX - 7 && s->read(s->ctx, address, ret);
}

/* --- what a pc leads to --- */

static const struct unw_rule *rule_at(const struct unw_code *code, uint64_t rel)
{
	return code->table.head ? unw_table_find(&code->table, rel) : NULL;
}

static bool is_rule(const struct unw_rule *r)
{
	return r && r->cfa != UNW_CFA_NONE;
}

/* The rule for the call before a return address; or the one of code that starts right there and is
 * entered by return: a signal's trampoline, what makecontext() leads to. */
static const struct unw_rule *rule_of_return(const struct unw_code *code, uint64_t rel,
					     struct unw_slot *s)
{
	const struct unw_rule *before = rule_at(code, rel - 1), *at = rule_at(code, rel);

	s->is_start =
		is_rule(at) && (at->flags & UNW_SIGNAL || (s->is_no_call && !is_rule(before)));
	return s->is_start ? at : before;
}

static bool is_short_form(const struct unw_rule *r, const struct unw_machine *m)
{
	return r->cfa == UNW_CFA_REG && (r->cfa_reg == m->sp || r->cfa_reg == m->fp) &&
	       r->ra == UNW_AT_CFA && !(r->flags & UNW_SIGNAL) &&
	       (r->fp == UNW_SAME || r->fp == UNW_AT_CFA || r->fp == UNW_UNDEFINED);
}

/* The registers that a signal saved, by where the rule looks for RA: all stand there. */
static bool is_sigcontext(const struct unw_rule *r, const struct unw_machine *m)
{
	return m->sigreturn_pc && r->flags & UNW_SIGNAL && r->ra == UNW_AT_REG &&
	       r->ra_reg == m->sp && r->ra_off == m->sigreturn_pc;
}

static void slot_of_rule(struct unw_walker *w, struct unw_slot *s, const struct unw_rule *r)
{
	w->rule = r;
	s->origin = r->origin;
	s->kind = SLOT_RULE;
	s->fp = r->fp;
	s->fp_off = r->fp_off;
	if (r->ra == UNW_UNDEFINED) {
		s->kind = SLOT_OUTERMOST;
	} else if (is_sigcontext(r, w->machine)) {
		s->kind = SLOT_SIGRETURN;
	} else if (is_short_form(r, w->machine)) {
		s->kind = r->cfa_reg == w->machine->sp ? SLOT_CFA_SP : SLOT_CFA_FP;
		s->cfa_off = r->cfa_off;
		s->ra_off = r->ra_off;
	} else if (r->cfa == UNW_CFA_PLT) {
		s->kind = SLOT_CFA_SP;
		s->cfa_off = 8 + 8 * ((int32_t)((s->pc - !(s->key & 1)) & 15) >= r->cfa_off);
		s->ra_off = -8;
		s->fp = UNW_SAME;
	} else {
		s->rule = r;
	}
}

static void slot_of_code(struct unw_walker *w, struct unw_slot *s, const struct unw_code *code,
			 uint64_t rel, bool is_exact)
{
	enum unw_arch arch = w->space->arch;
	const struct unw_rule *rule;

	if (unw_code_is_sigreturn(arch, code, rel)) {
		s->kind = SLOT_SIGRETURN;
		s->is_start = !is_exact;
		return;
	}
	s->is_no_call = !is_exact && unw_code_is_no_call(arch, code, rel);
	if (is_exact && !w->is_past_sigreturn && unw_code_is_after_sigreturn(arch, code, rel)) {
		s->kind = SLOT_AFTER_SIGRETURN;
		return;
	}
	rule = is_exact ? rule_at(code, rel) : rule_of_return(code, rel, s);
	if (is_rule(rule)) {
		slot_of_rule(w, s, rule);
		return;
	}
	s->kind = SLOT_NO_RULE;
	if (is_exact && unw_code_is_in_sigreturn(arch, code, rel))
		s->kind = SLOT_SIGRETURN;
	else if (rule && rule->why != UNW_WHY_GAP)
		s->kind = SLOT_UNREPRESENTABLE;
	s->why = rule ? rule->why & 0xf : UNW_WHY_GAP;
}

/* A return address belongs to the mapping of its call, unless a trampoline starts a mapping. */
static bool find_map(const struct unw_space *space, uint64_t pc, bool is_exact, struct unw_map *map)
{
	const struct unw_rule *rule;

	if (space->find(space->ctx, is_exact ? pc : pc - 1, map))
		return true;
	if (is_exact || !space->find(space->ctx, pc, map) || (!map->code && !map->is_probes))
		return false;
	if (map->is_probes)
		return true;
	rule = rule_at(map->code, pc + map->bias);
	return unw_code_is_sigreturn(space->arch, map->code, pc + map->bias) ||
	       (is_rule(rule) && rule->flags & UNW_SIGNAL);
}

static void slot_fill(struct unw_walker *w, struct unw_slot *s, uint64_t pc, bool is_exact)
{
	struct unw_map map = {0};

	*s = (struct unw_slot){.pc = pc, .key = w->space->id * 2 + is_exact};
	if (!find_map(w->space, pc, is_exact, &map))
		s->kind = SLOT_NO_MAPPING;
	else if (map.is_probes && !is_exact)
		s->kind = SLOT_URETPROBE;
	else if (map.is_pending)
		s->kind = SLOT_PENDING;
	else if (!map.code)
		s->kind = SLOT_NO_RULE;
	else
		slot_of_code(w, s, map.code, pc + map.bias, is_exact);
}

static inline struct unw_slot *slot_of(struct unw_memo *m, uint64_t pc, uint64_t key)
{
	return &m->slots[(pc ^ key << 20) * 0x9e3779b97f4a7c15u >> (64 - MEMO_BITS)];
}

const struct unw_slot *unw_walk_look_up(struct unw_walker *w, uint64_t pc, bool is_exact)
{
	uint64_t key = w->space->id * 2 + is_exact;
	struct unw_slot *s;

	if (__builtin_expect(!w->memo || !w->space->id, 0)) {
		slot_fill(w, &w->own, pc, is_exact);
		return &w->own;
	}
	s = slot_of(w->memo, pc, key);
	if (__builtin_expect(s->pc != pc || s->key != key || s->kind <= SLOT_PENDING, 0))
		slot_fill(w, s, pc, is_exact);
	return s;
}

/* --- stepping --- */

/* SLOT_CFA_SP and SLOT_CFA_FP, with everything that may be amiss. */
static enum unw_stop step_short(struct unw_walker *w, const struct unw_slot *s)
{
	const struct unw_frame *now = &w->now;
	struct unw_frame *next = &w->next;
	bool is_sp = s->kind == SLOT_CFA_SP;
	uint64_t cfa, fp_at;

	if (__builtin_expect(is_sp ? !now->has_sp : !now->has_fp, 0))
		return is_sp ? unw_step_record(w, s) : (enum unw_stop)now->no_fp;
	if (__builtin_expect(!unw_walk_add(is_sp ? now->sp : now->fp, s->cfa_off, &cfa) || cfa & 7,
			     0))
		return UNW_STOP_BAD_CFA;
	next->sp = cfa - w->machine->sp_bias;
	if (__builtin_expect(next->sp <= now->sp || next->sp > cfa, 0))
		return UNW_STOP_BAD_CFA;
	if (__builtin_expect(!unw_walk_load(w, cfa + (uint64_t)(int64_t)s->ra_off, &next->pc), 0))
		return unw_walk_unreadable(w);
	next->fp = now->fp;
	next->has_fp = now->has_fp;
	next->no_fp = now->no_fp;
	next->has_sp = true;
	next->is_exact = false;
	next->origin = s->origin;
	if (s->fp == UNW_AT_CFA) {
		fp_at = cfa + (uint64_t)(int64_t)s->fp_off;
		next->has_fp = true;
		if (__builtin_expect(!unw_walk_load(w, fp_at, &next->fp), 0))
			unw_step_lost_fp(w, fp_at);
	} else if (s->fp == UNW_UNDEFINED) {
		next->has_fp = false;
		next->no_fp = UNW_STOP_REGISTER;
	}
	return UNW_STOP_NONE;
}

static enum unw_stop step(struct unw_walker *w, const struct unw_slot *s);

/* A sample in its system call stands after it; one in code that begins there does, too. */
static enum unw_stop step_after_sigreturn(struct unw_walker *w)
{
	if (unw_step_has_sigcontext(w))
		return unw_step_sigreturn(w);
	w->is_past_sigreturn = true;
	slot_fill(w, &w->own, w->now.pc, true);
	w->is_past_sigreturn = false;
	return step(w, &w->own);
}

static enum unw_stop step(struct unw_walker *w, const struct unw_slot *s)
{
	switch ((enum unw_slot_kind)s->kind) {
	case SLOT_CFA_SP:
	case SLOT_CFA_FP:
		return step_short(w, s);
	case SLOT_RULE:
		return unw_step_rule(w, s->rule);
	case SLOT_SIGRETURN:
		return unw_step_sigreturn(w);
	case SLOT_AFTER_SIGRETURN:
		return step_after_sigreturn(w);
	case SLOT_OUTERMOST:
		return UNW_STOP_OUTERMOST;
	case SLOT_NO_RULE:
		return unw_step_fp(w);
	case SLOT_UNREPRESENTABLE:
		return UNW_STOP_UNREPRESENTABLE;
	case SLOT_PENDING:
		return UNW_STOP_NO_TABLE_YET;
	case SLOT_EMPTY:
	case SLOT_NO_MAPPING:
	case SLOT_URETPROBE:
		break;
	}
	return UNW_STOP_NO_MAPPING;
}

/* Is a return address of 0 the deepest frame's mark? Not where a signal interrupted a call through
 * a null pointer, and not at the interrupted instruction of amd64: inside of prologues of
 * hand-written code the rules may name another word of the stack. */
static bool proves_end(const struct unw_walker *w)
{
	return !w->next.is_exact && !(w->now.is_exact && w->space->arch == UNW_X86_64);
}

/* What the stack holds as a return address, to an address; it may be none. */
static enum unw_stop check_pc(const struct unw_walker *w, uint64_t *pc)
{
	if (w->pac_mask && !w->next.is_exact) {
		if (*pc >> 55 & 1)
			return UNW_STOP_BAD_RA;
		*pc &= w->pac_mask;
	}
	if (!*pc)
		return proves_end(w) ? UNW_STOP_OUTERMOST : UNW_STOP_BAD_RA;
	if (*pc == w->now.pc && w->next.sp == w->now.sp)
		return UNW_STOP_LOOP;
	return UNW_STOP_NONE;
}

static void put_frame(const struct unw_walker *w, const struct unw_slot *s, struct unw_frames *f)
{
	uint32_t i = f->nr++;

	f->pc[i] = w->now.pc;
	if (f->method)
		f->method[i] = w->now.origin;
	if (f->sp)
		f->sp[i] = w->now.sp;
	if (f->exact)
		f->exact[i] = w->now.is_exact || s->is_start;
}

static void walker_init(struct unw_walker *w, const struct unw_space *space, struct unw_memo *memo,
			const struct unw_regs *regs)
{
	const struct unw_machine *m = &machines[space->arch];
	uint8_t bits = space->va_bits;

	w->space = space;
	w->memo = memo;
	w->machine = m;
	w->regs = regs;
	w->now = (struct unw_frame){.pc = regs->pc,
				    .has_sp = regs->known >> m->sp & 1,
				    .has_fp = regs->known >> m->fp & 1,
				    .no_fp = UNW_STOP_REGISTER,
				    .is_exact = true};
	w->now.sp = w->now.has_sp ? regs->r[m->sp] : 0;
	w->now.fp = w->now.has_fp ? regs->r[m->fp] : 0;
	w->load_limit = space->stack_bytes >= 8 ? space->stack_bytes - 7 : 0;
	w->wants_rbx = w->follows_rbx = w->is_past_sigreturn = false;
	w->rbx = RBX_IN_REG;
	w->rule = NULL;
	w->pac_mask = 0;
	if (space->arch == UNW_AARCH64)
		w->pac_mask = ((uint64_t)1 << (bits >= 32 && bits <= 55 ? bits : 48)) - 1;
}

/*
 * Nearly all frames: short form, return address, known pc, all in registers. Ends before the first
 * frame that is anything else, which step() then does; what it did is as if step() had.
 * @return the slot of w->now.
 */
static const struct unw_slot *run_short(struct unw_walker *w, const struct unw_slot *s,
					struct unw_frames *f)
{
	const uint8_t *stack = w->space->stack;
	uint64_t stack_start = w->space->stack_start, limit = w->load_limit;
	uint64_t sp = w->now.sp, fp = w->now.fp, bias = w->machine->sp_bias, key = w->space->id * 2;
	uint64_t kernel_bit = w->pac_mask ? (uint64_t)1 << 55 : 0;
	uint64_t mask = w->pac_mask ? w->pac_mask : UINT64_MAX;
	uint32_t nr = f->nr;
	uint8_t origin = 0;

	for (; nr < f->max && (s->kind == SLOT_CFA_SP || s->kind == SLOT_CFA_FP); nr++) {
		uint64_t base = s->kind == SLOT_CFA_SP ? sp : fp, next_fp = fp;
		uint64_t cfa = base + (uint64_t)(int64_t)s->cfa_off, next_sp = cfa - bias, pc;
		uint64_t ra_at = cfa + (uint64_t)(int64_t)s->ra_off - stack_start;
		uint64_t fp_at = cfa + (uint64_t)(int64_t)s->fp_off - stack_start;
		const struct unw_slot *next;

		if ((s->cfa_off < 0) != (cfa < base) || cfa & 7 || next_sp <= sp || next_sp > cfa ||
		    ra_at >= limit)
			break;
		memcpy(&pc, stack + ra_at, 8);
		if (s->fp != UNW_SAME) {
			if (s->fp != UNW_AT_CFA || fp_at >= limit)
				break;
			memcpy(&next_fp, stack + fp_at, 8);
		}
		if (pc & kernel_bit || !(pc & mask))
			break;
		pc &= mask;
		next = slot_of(w->memo, pc, key);
		if (next->pc != pc || next->key != key || next->kind <= SLOT_NOT_CODE)
			break;
		origin = s->origin;
		sp = next_sp;
		fp = next_fp;
		s = next;
		f->pc[nr] = pc;
		if (f->method)
			f->method[nr] = origin;
		if (f->sp)
			f->sp[nr] = sp;
		if (f->exact)
			f->exact[nr] = next->is_start;
	}
	if (nr == f->nr)
		return s;
	w->now = (struct unw_frame){.pc = f->pc[nr - 1],
				    .sp = sp,
				    .fp = fp,
				    .has_sp = true,
				    .has_fp = true,
				    .origin = origin};
	f->nr = nr;
	return s;
}

static bool can_run(const struct unw_walker *w)
{
	return w->memo && w->space->id && !w->space->is_swapped && w->now.has_sp && w->now.has_fp;
}

static enum unw_stop walk(struct unw_walker *w, struct unw_frames *f)
{
	const struct unw_slot *slot = unw_walk_look_up(w, w->now.pc, true);
	const struct unw_rule *rule;
	enum unw_slot_kind kind;
	enum unw_stop stop;

	f->nr = 0;
	f->why = UNW_WHY_GAP;
	f->has_fp = false;
	f->nr_signals = 0;
	for (;;) {
		put_frame(w, slot, f);
		if (can_run(w))
			slot = run_short(w, slot, f);
		/* A look-up inside of the step overwrites these, where there is no memo. */
		kind = (enum unw_slot_kind)slot->kind;
		rule = w->rule;
		stop = step(w, slot);
		if (__builtin_expect(w->follows_rbx, 0) && stop == UNW_STOP_NONE)
			unw_step_follow_rbx(w, kind, rule);
		if (stop == UNW_STOP_NONE)
			stop = check_pc(w, &w->next.pc);
		if (stop != UNW_STOP_NONE || w->wants_rbx)
			break;
		f->nr_signals += w->next.is_exact;
		f->has_fp |= w->next.origin == UNW_FP;
		slot = unw_walk_look_up(w, w->next.pc, w->next.is_exact);
		if (slot->kind == SLOT_NO_MAPPING)
			return UNW_STOP_BAD_RA;
		if (slot->kind == SLOT_URETPROBE)
			return UNW_STOP_URETPROBE;
		if (f->nr == f->max)
			return UNW_STOP_MAX_DEPTH;
		w->now = w->next;
	}
	if (stop == UNW_STOP_UNREPRESENTABLE)
		f->why = (enum unw_why)slot->why;
	return stop;
}

void unw_walk(const struct unw_space *space, struct unw_memo *memo, const struct unw_regs *regs,
	      struct unw_frames *frames)
{
	struct unw_walker w;

	walker_init(&w, space, memo, regs);
	frames->stop = walk(&w, frames);
	if (!w.wants_rbx)
		return;
	walker_init(&w, space, NULL, regs);
	w.follows_rbx = true;
	frames->stop = walk(&w, frames);
}
