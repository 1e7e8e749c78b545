/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walker against stacks made forwards: random functions, each with a random rule, call each
 * other, are interrupted by signals and move to other stacks; walking back has to give exactly the
 * calls made. And against stacks made of rubbish: bounded, always with a reason.
 */
#include "make/stack_build.h"
#include "unit/tap.h"

enum { MAX_LEVELS = 60, SIGFRAME_BYTES = 1024, GUARD_WORDS = 4 };

static uint64_t rng = 88172645463325252u;

static uint64_t rnd(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

struct machine {
	enum unw_arch arch;
	const char *name;
	uint8_t sp, fp, ra, nr_regs;
	uint64_t bias;
};

static const struct machine machines[] = {
	{UNW_X86_64,  "amd64",   7,  6,  0xff, 16, 0  },
	{UNW_AARCH64, "aarch64", 31, 29, 30,   32, 0  },
	{UNW_S390X,   "s390x",   15, 11, 14,   16, 160},
};

struct expect {
	uint64_t pc, sp;
	uint8_t exact, origin;
};

struct program {
	const struct machine *m;
	struct stack_build *b;
	struct unw_regs now; /* of the innermost function so far, at its call or interruption */
	bool needs_fp;       /* some function out there finds its frame by FP */
	struct expect chain[2 * MAX_LEVELS + 2]; /* outermost first */
	size_t nr;
	uint64_t other_stack; /* 0: used up */
};

/* A frame while its rule is chosen. */
struct frame {
	struct unw_rule rule;
	struct unw_regs in;
	uint64_t cfa, sp;
	unsigned int slot; /* words below CFA that are taken */
	uint64_t taken;    /* registers with a meaning */
	bool is_exact, is_leaf, has_base, needs_fp;
};

static uint64_t random_word(void)
{
	return rnd(2) ? rng * 3 : STACK_AT + 8 * rnd(STACK_WORDS);
}

/* A register that is none of the special ones, and not taken. */
static uint8_t other_reg(const struct machine *m, struct frame *f)
{
	uint8_t r;

	do {
		r = (uint8_t)rnd(m->nr_regs);
	} while (r == m->sp || r == m->fp || r == m->ra || f->taken >> r & 1);
	f->taken |= (uint64_t)1 << r;
	return r;
}

static uint64_t take_slot(struct program *p, struct frame *f, uint64_t value)
{
	uint64_t at = f->cfa - 8 * (uint64_t)++f->slot;

	stack_put(p->b, at, value);
	return at;
}

/* "reg + off" that gives @p value, by SP, FP where it holds the frame, or another register. */
static uint8_t address_of(struct program *p, struct frame *f, uint64_t value, int32_t *off)
{
	uint64_t kind = rnd(f->is_exact ? 3 : 2);
	uint8_t reg = p->m->sp;

	if (kind == 1 && f->has_base) {
		reg = p->m->fp;
		f->needs_fp = true;
	} else if (kind == 2) {
		*off = (int32_t)rnd(200) - 100;
		reg = other_reg(p->m, f);
		f->in.r[reg] = value - (uint64_t)(int64_t)*off;
		return reg;
	}
	*off = (int32_t)(value - f->in.r[reg]);
	return reg;
}

static void choose_fp(struct program *p, struct frame *f)
{
	struct unw_rule *r = &f->rule;
	uint64_t old = p->now.r[p->m->fp], at;
	uint64_t kind = rnd(8);

	r->fp = UNW_SAME;
	f->in.r[p->m->fp] = old;
	f->needs_fp = p->needs_fp;
	if (kind < 3 || (kind == 7 && p->needs_fp))
		return;
	f->needs_fp = false;
	if (kind == 7) {
		r->fp = UNW_UNDEFINED;
	} else if (kind == 6 && f->is_exact) {
		r->fp = UNW_IN_REG;
		r->fp_reg = other_reg(p->m, f);
		r->fp_off = (int32_t)rnd(64);
		f->in.r[r->fp_reg] = old - (uint64_t)r->fp_off;
	} else {
		at = take_slot(p, f, old);
		r->fp = UNW_AT_CFA;
		r->fp_off = (int32_t)(at - f->cfa);
	}
	f->in.r[p->m->fp] = random_word();
	f->has_base = rnd(2);
	if (f->has_base)
		f->in.r[p->m->fp] = f->cfa - 8 * rnd(6);
}

static void choose_ra(struct program *p, struct frame *f, uint64_t ra)
{
	struct unw_rule *r = &f->rule;
	uint64_t at, kind = rnd(8);

	r->ra = UNW_AT_CFA;
	if (p->m->ra != 0xff && f->is_leaf) {
		r->ra = UNW_SAME;
		f->in.r[p->m->ra] = ra;
		return;
	}
	if (kind == 0 && f->is_exact && p->m->ra != 0xff) {
		r->ra = UNW_IN_REG;
		r->ra_reg = p->m->ra;
		f->in.r[p->m->ra] = ra;
		return;
	}
	at = take_slot(p, f, ra); /* amd64: the first slot, where a call puts it */
	r->ra_off = (int32_t)(at - f->cfa);
}

static void choose_cfa(struct program *p, struct frame *f, uint64_t pc)
{
	struct unw_rule *r = &f->rule;
	uint64_t at;

	r->cfa = UNW_CFA_REG;
	if (!f->is_leaf && rnd(6) == 0) {
		r->cfa = UNW_CFA_DEREF;
		r->cfa_off2 = (int32_t)rnd(128) - 64;
		at = take_slot(p, f, f->cfa - (uint64_t)(int64_t)r->cfa_off2);
		f->in.r[p->m->sp] = f->sp = at - 8 * rnd(3);
		r->cfa_reg = address_of(p, f, at, &r->cfa_off);
		return;
	}
	if (p->m->arch == UNW_X86_64 && f->slot == 1 && r->fp == UNW_SAME && rnd(4) == 0) {
		bool is_deep = rnd(2);

		r->cfa = UNW_CFA_PLT;
		r->cfa_off = (int32_t)(pc & 15) + !is_deep;
		f->in.r[p->m->sp] = f->sp = f->cfa - 8 - 8 * is_deep;
		return;
	}
	r->cfa_reg = address_of(p, f, f->cfa, &r->cfa_off);
}

/* RA by an address instead of by CFA, now that the registers are known. */
static void move_ra(struct program *p, struct frame *f)
{
	struct unw_rule *r = &f->rule;

	if (r->ra != UNW_AT_CFA || r->cfa == UNW_CFA_PLT || rnd(6))
		return;
	r->ra = UNW_AT_REG;
	r->ra_reg = p->m->sp;
	r->ra_off = (int32_t)(f->cfa + (uint64_t)(int64_t)r->ra_off - f->sp);
}

static void expect(struct program *p, uint64_t pc, bool is_exact)
{
	p->chain[p->nr++] = (struct expect){pc, p->now.r[p->m->sp], is_exact, 0};
}

/* The function that runs now calls another, or its trampoline does. */
static void call(struct program *p, uint64_t ra, bool is_exact, bool may_be_leaf)
{
	struct frame f = {.in = p->now, .is_exact = is_exact};
	uint64_t pc;

	f.is_leaf = may_be_leaf && is_exact && p->m->ra != 0xff && rnd(4) == 0;
	f.rule.origin = UNW_EH_FRAME;
	f.cfa = p->now.r[p->m->sp] + p->m->bias;
	if (p->m->bias) /* the save area above belongs to the caller: our slots lie below it */
		f.slot = (unsigned int)(p->m->bias / 8);
	for (unsigned int i = 0; i < p->m->nr_regs; i++)
		if (i != p->m->sp && i != p->m->fp)
			f.in.r[i] = random_word();
	pc = STACK_CODE_AT + (uint64_t)p->b->nr_fns * STACK_FN_BYTES; /* where it will be */
	pc = is_exact ? pc + rnd(STACK_FN_BYTES) : stack_call(pc) - 1;
	choose_ra(p, &f, ra);
	f.rule.fp = UNW_SAME;
	f.needs_fp = p->needs_fp;
	if (!f.is_leaf)
		choose_fp(p, &f);
	f.sp = f.cfa - 8 * (f.slot + (f.is_leaf ? 0 : rnd(8) + (f.slot == 0 || p->m->bias)));
	f.in.r[p->m->sp] = f.sp;
	choose_cfa(p, &f, pc);
	move_ra(p, &f);
	stack_fn(p->b, &f.rule);
	p->now = f.in;
	p->needs_fp = f.needs_fp;
	expect(p, is_exact ? pc : pc + 1, is_exact);
}

static void put_sigcontext(struct program *p, uint64_t sp, uint64_t pc)
{
	static const uint8_t x86[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
	struct stack_build *b = p->b;

	switch (p->m->arch) {
	case UNW_X86_64:
		for (unsigned int i = 0; i < 16; i++)
			stack_put(b, sp + 40 + 8 * i, p->now.r[x86[i]]);
		stack_put(b, sp + 168, pc);
		break;
	case UNW_AARCH64:
		for (unsigned int i = 0; i < 32; i++)
			stack_put(b, sp + 312 + 8 * i, p->now.r[i]);
		stack_put(b, sp + 568, pc);
		break;
	case UNW_S390X:
		stack_put(b, sp + 344, pc);
		for (unsigned int i = 0; i < 16; i++)
			stack_put(b, sp + 352 + 8 * i, p->now.r[i]);
		break;
	}
}

static uint64_t trampoline(struct program *p)
{
	static const uint8_t a64[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	static const uint8_t s390[] = {0x0a, 0xad};
	bool by_rule = p->m->arch == UNW_X86_64 && rnd(2);
	uint64_t fn = stack_fn(p->b, by_rule ? &stack_sigreturn_rule : NULL);

	if (p->m->arch == UNW_X86_64 && !by_rule)
		stack_sigreturn_code(p->b, fn);
	else if (p->m->arch == UNW_AARCH64)
		stack_code(p->b, fn, a64, sizeof(a64));
	else if (p->m->arch == UNW_S390X)
		stack_code(p->b, fn, s390, sizeof(s390));
	return fn;
}

/* The last function was interrupted at its pc. @return the trampoline, which the handler returns
 * to. */
static uint64_t interrupt(struct program *p)
{
	uint64_t sp = p->now.r[p->m->sp], pc = p->chain[p->nr - 1].pc, fn = trampoline(p);

	if (p->other_stack && rnd(2)) {
		sp = p->other_stack;
		p->other_stack = 0;
	} else {
		sp = (sp - 128) & ~15ull;
	}
	sp -= SIGFRAME_BYTES;
	put_sigcontext(p, sp, pc);
	p->now.r[p->m->sp] = sp;
	p->now.r[p->m->fp] = random_word();
	p->needs_fp = false; /* it is in the context */
	expect(p, fn, true); /* no call led to it */
	return fn;
}

static void run(struct program *p, unsigned int levels)
{
	bool is_interrupted[MAX_LEVELS + 1];
	static const struct unw_rule outermost = {
		.cfa = UNW_CFA_REG, .cfa_reg = 7, .cfa_off = 8, .ra = UNW_UNDEFINED};
	bool is_high = rnd(2);
	uint64_t half = STACK_AT + 4 * (uint64_t)STACK_WORDS, ra;

	for (unsigned int i = 0; i <= levels; i++)
		is_interrupted[i] = i && rnd(9) == 0;
	p->other_stack = is_high ? half - 256 : STACK_END - 256;
	p->now.r[p->m->sp] = is_high ? STACK_END - 256 : half - 256;
	p->now.r[p->m->fp] = 0;
	ra = stack_call(stack_fn(p->b, &outermost));
	expect(p, ra, false);
	for (unsigned int i = 1; i <= levels; i++) {
		bool is_exact = i == levels || is_interrupted[i];

		call(p, ra, is_exact, i == levels || is_interrupted[i]);
		ra = p->chain[p->nr - 1].pc;
		if (is_interrupted[i] && i < levels)
			ra = interrupt(p);
	}
}

static bool is_as_expected(const struct program *p)
{
	const struct stack_build *b = p->b;

	if (b->frames.nr != p->nr || b->frames.stop != UNW_STOP_OUTERMOST || b->frames.has_fp)
		return false;
	for (size_t i = 0; i < p->nr; i++) {
		const struct expect *e = &p->chain[p->nr - 1 - i];

		if (b->pc[i] != e->pc || b->sp[i] != e->sp || b->exact[i] != e->exact)
			return false;
	}
	return true;
}

static void print_difference(const struct program *p)
{
	const struct stack_build *b = p->b;

	printf("# stop %s, %u frames of %zu\n", unw_stop_name(b->frames.stop), b->frames.nr, p->nr);
	for (size_t i = 0; i < p->nr; i++) {
		const struct expect *e = &p->chain[p->nr - 1 - i];
		uint64_t fn = (e->pc - 1 - STACK_CODE_AT) / STACK_FN_BYTES;
		const struct unw_rule *r = &b->block.rule[b->block.row[fn] & 0xffff];

		printf("# %zu want %llx sp %llx%s got %llx sp %llx; cfa %u %u%+d ra %u %u%+d fp %u %u%+d\n",
		       i, (unsigned long long)e->pc, (unsigned long long)e->sp,
		       e->exact ? " exact" : "",
		       i < b->frames.nr ? (unsigned long long)b->pc[i] : 0,
		       i < b->frames.nr ? (unsigned long long)b->sp[i] : 0, r->cfa, r->cfa_reg,
		       r->cfa_off, r->ra, r->ra_reg, r->ra_off, r->fp, r->fp_reg, r->fp_off);
	}
}

static void check_programs(const struct machine *m, unsigned int rounds)
{
	struct unw_memo *memo = unw_memo_new();
	unsigned int nr_bad = 0, nr_signals = 0;
	uint64_t nr_frames = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		struct program p = {.m = m, .b = stack_build_new(m->arch)};

		p.b->space.id = i;
		run(&p, 1 + (unsigned int)rnd(MAX_LEVELS));
		p.b->regs = p.now;
		p.b->regs.pc = p.chain[p.nr - 1].pc;
		p.b->regs.known = ((uint64_t)1 << m->nr_regs) - 1;
		stack_walk(p.b, i % 2 ? memo : NULL, 0);
		if (!is_as_expected(&p) && !nr_bad++)
			print_difference(&p);
		p.b->keeps_id = true;
		stack_walk(p.b, i % 2 ? memo : NULL, 0); /* warm */
		nr_bad += !is_as_expected(&p);
		nr_frames += p.nr;
		nr_signals += p.b->frames.nr_signals;
		stack_build_free(p.b);
	}
	unw_memo_free(memo);
	CHECK_EQ(nr_bad, 0, "%s: %u random programs, %llu frames, %u signals walked back exactly",
		 m->name, rounds, (unsigned long long)nr_frames, nr_signals);
	CHECK(nr_signals > rounds / 4, "%s: signals were among them", m->name);
}

/* --- rubbish --- */

static struct unw_rule random_rule(const struct machine *m, bool is_tame)
{
	struct unw_rule r;
	uint8_t bytes[sizeof(r)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rnd(256);
	memcpy(&r, bytes, sizeof(r));
	r.cfa %= UNW_CFA_INDEX + 1;
	r.ra %= 5;
	r.fp %= 5;
	r.why = rnd(2) ? UNW_WHY_GAP : UNW_WHY_EXPRESSION;
	if (is_tame && rnd(16))
		return (struct unw_rule){.cfa = UNW_CFA_REG,
					 .cfa_reg = rnd(8) ? m->sp : m->fp,
					 .cfa_off = (int32_t)(8 + rnd(8) * 8 + m->bias),
					 .ra = UNW_AT_CFA,
					 .ra_off = -8,
					 .fp = UNW_AT_CFA,
					 .fp_off = -16};
	if (rnd(4)) { /* offsets that lead somewhere */
		r.cfa_off = (int32_t)(rnd(64) * 8 + m->bias);
		r.ra_off = -(int32_t)rnd(8) * 8;
		r.fp_off = -(int32_t)rnd(8) * 8;
	}
	if (rnd(4))
		r.cfa_reg = rnd(2) ? m->sp : m->fp;
	return r;
}

static uint64_t hostile_word(bool is_tame)
{
	switch (rnd(is_tame ? 40 : 4)) {
	case 0:
		return rng;
	case 1:
		return STACK_AT + 8 * rnd(STACK_WORDS);
	case 2:
		return UINT64_MAX - rnd(64);
	default:
		return STACK_CODE_AT + rnd(STACK_MAX_FNS * STACK_FN_BYTES);
	}
}

static bool is_sane(const struct stack_build *b, uint32_t max)
{
	const struct unw_frames *f = &b->frames;

	if (!f->nr || f->nr > max || f->stop == UNW_STOP_NONE || f->stop >= NR_UNW_STOPS)
		return false;
	for (uint32_t i = 1; i < f->nr; i++) {
		if (b->pc[i] - STACK_CODE_AT > STACK_MAX_FNS * STACK_FN_BYTES)
			return false;
	}
	return true;
}

static void fill_with_rubbish(const struct machine *m, struct stack_build *b, bool is_tame)
{
	static const uint8_t likely[] = {0x55, 0x48, 0xe8, 0xc3, 0xff};

	for (size_t i = 0; i < STACK_MAX_FNS; i++) {
		const struct unw_rule rule = random_rule(m, is_tame);

		stack_fn(b, rnd(8) ? &rule : NULL);
	}
	for (size_t i = 0; i < sizeof(b->bytes); i++)
		b->bytes[i] = rnd(2) ? (uint8_t)rnd(256) : likely[rnd(sizeof(likely))];
	for (size_t i = 0; i < STACK_WORDS; i++)
		b->words[i] = hostile_word(is_tame);
}

static void check_rubbish(const struct machine *m, unsigned int rounds)
{
	struct unw_memo *memo = unw_memo_new();
	struct stack_build *b = NULL;
	unsigned int nr_bad = 0, nr_long = 0;
	uint64_t seen = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		uint32_t max = 1 + (uint32_t)rnd(STACK_MAX_FRAMES);

		if (i % 1000 == 0) {
			stack_build_free(b);
			b = stack_build_new(m->arch);
			b->space.id = i + 1; /* the memo may hold rules of the one before */
			fill_with_rubbish(m, b, i / 1000 % 2);
		}
		b->has_no_table = rnd(4) == 0;
		b->is_pending = rnd(64) == 0;
		b->has_no_code = rnd(4) == 0;
		b->space.is_swapped = rnd(16) == 0;
		b->space.stack_bytes = rnd(4) ? sizeof(b->words) : rnd(sizeof(b->words));
		for (unsigned int r = 0; r < UNW_NR_REGS; r++)
			b->regs.r[r] = hostile_word(false);
		b->regs.r[m->sp] = STACK_AT + 8 * rnd(STACK_WORDS);
		b->regs.known = rng | rnd(2) << m->sp | (uint64_t)(rnd(8) != 0) << m->sp;
		b->regs.pc = rnd(8) ? STACK_CODE_AT + rnd(sizeof(b->bytes)) : hostile_word(false);
		stack_walk(b, rnd(2) ? memo : NULL, max);
		nr_bad += !is_sane(b, max);
		nr_long += b->frames.nr > 4;
		seen |= (uint64_t)1 << b->frames.stop;
	}
	stack_build_free(b);
	unw_memo_free(memo);
	CHECK_EQ(nr_bad, 0, "%s: %u walks through rubbish end with a reason", m->name, rounds);
	CHECK(nr_long > rounds / 30 && __builtin_popcountll(seen) >= 9,
	      "%s: some walk on for a while (%u), and end in many ways (%x)", m->name, nr_long,
	      (unsigned int)seen);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		check_programs(&machines[i], 3000);
		check_rubbish(&machines[i], 100000);
	}
	return tap_done();
}
