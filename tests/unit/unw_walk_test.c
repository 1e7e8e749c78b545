/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One case for each thing a walk meets; programs of many frames: tests/prop/unw_walk_random.c. */
#include "make/stack_build.h"
#include "unit/tap.h"

#define SP_AT (STACK_AT + 4096)

/* CFA = SP + off, RA below CFA, FP unchanged. */
static struct unw_rule sp_rule(const struct stack_build *b, int32_t off)
{
	static const uint8_t sp[] = {[UNW_X86_64] = 7, [UNW_AARCH64] = 31, [UNW_S390X] = 15};

	return (struct unw_rule){.cfa = UNW_CFA_REG,
				 .cfa_reg = sp[b->arch],
				 .cfa_off = off,
				 .ra = UNW_AT_CFA,
				 .ra_off = -8,
				 .origin = UNW_EH_FRAME};
}

static uint8_t fp_of(const struct stack_build *b)
{
	static const uint8_t fp[] = {[UNW_X86_64] = 6, [UNW_AARCH64] = 29, [UNW_S390X] = 11};

	return fp[b->arch];
}

static struct stack_build *start(enum unw_arch arch)
{
	struct stack_build *b = stack_build_new(arch);

	stack_reg(b, sp_rule(b, 0).cfa_reg, SP_AT);
	return b;
}

/* An outermost function. @return its call's return address. */
static uint64_t bottom(struct stack_build *b)
{
	return stack_call(stack_fn(b, &(struct unw_rule){.cfa = UNW_CFA_REG,
							 .cfa_reg = 7,
							 .ra = UNW_UNDEFINED,
							 .origin = UNW_EH_FRAME}));
}

/* The rule of the topmost function is @p rule; walk it. */
static void walk_one(struct stack_build *b, const struct unw_rule *rule)
{
	b->regs.pc = stack_fn(b, rule) + 8;
	stack_walk(b, NULL, 0);
}

static void is_stopped(const struct stack_build *b, enum unw_stop stop, uint32_t nr,
		       const char *what)
{
	CHECK_STR(unw_stop_name(b->frames.stop), unw_stop_name(stop), "%s: %s", what,
		  unw_stop_name(stop));
	CHECK_EQ(b->frames.nr, nr, "%s: %u frames", what, nr);
}

static const enum unw_arch arches[] = {UNW_X86_64, UNW_AARCH64, UNW_S390X};
static const char *const names[] = {"", "amd64", "aarch64", "s390x"};

/* --- stops that need one frame --- */

enum { OUT_OF_STACK = STACK_WORDS * 8 };

static void one_rule(enum unw_arch arch, struct unw_rule change, uint64_t mask, enum unw_stop stop,
		     const char *what)
{
	struct stack_build *b = start(arch);
	struct unw_rule rule = sp_rule(b, 256);
	uint64_t end = bottom(b);
	char name[128];

	for (uint64_t a = STACK_AT; a < STACK_END; a += 8)
		stack_put(b, a, end);
	if (mask & 1)
		rule.cfa_off = change.cfa_off;
	if (mask & 2) {
		rule.ra = change.ra;
		rule.ra_reg = change.ra_reg;
		rule.ra_off = change.ra_off;
	}
	if (mask & 4) {
		rule.cfa = change.cfa;
		rule.why = change.why & 0xf;
		rule.cfa_off2 = change.cfa_off2;
	}
	if (mask & 8)
		rule.cfa_reg = change.cfa_reg;
	walk_one(b, &rule);
	snprintf(name, sizeof(name), "%s: %s", names[arch], what);
	is_stopped(b, stop, stop == UNW_STOP_OUTERMOST ? 2 : 1, name);
	stack_build_free(b);
}

static void test_rules_of_one_frame(enum unw_arch arch)
{
	const int32_t bias = arch == UNW_S390X ? 160 : 0;

	one_rule(arch, (struct unw_rule){0}, 0, UNW_STOP_OUTERMOST, "a good rule");
	one_rule(arch, (struct unw_rule){.cfa_off = bias}, 1, UNW_STOP_BAD_CFA,
		 "CFA gives the same SP");
	one_rule(arch, (struct unw_rule){.cfa_off = bias - 8}, 1, UNW_STOP_BAD_CFA, "CFA below SP");
	one_rule(arch, (struct unw_rule){.cfa_off = bias + 12}, 1, UNW_STOP_BAD_CFA,
		 "CFA not aligned");
	one_rule(arch, (struct unw_rule){.cfa_off = OUT_OF_STACK + 64}, 1, UNW_STOP_TRUNCATED,
		 "RA above the copy");
	one_rule(arch, (struct unw_rule){.ra = UNW_AT_CFA, .ra_off = INT32_MIN}, 2,
		 UNW_STOP_TRUNCATED, "RA far below the copy");
	one_rule(arch, (struct unw_rule){.ra = UNW_IN_REG, .ra_reg = 3}, 2, UNW_STOP_REGISTER,
		 "RA in a register that was not sampled");
	one_rule(arch, (struct unw_rule){.ra = UNW_AT_REG, .ra_reg = 200}, 2, UNW_STOP_REGISTER,
		 "RA by a register that does not exist");
	one_rule(arch, (struct unw_rule){.ra = UNW_SAME}, 2, UNW_STOP_REGISTER,
		 "RA in its register, which was not sampled");
	one_rule(arch, (struct unw_rule){.cfa_reg = 3}, 8, UNW_STOP_REGISTER,
		 "CFA by a register that was not sampled");
	one_rule(arch, (struct unw_rule){.cfa = UNW_CFA_NONE, .why = UNW_WHY_EXPRESSION}, 4,
		 UNW_STOP_UNREPRESENTABLE, "an expression");
	one_rule(arch, (struct unw_rule){.cfa = UNW_CFA_NONE, .why = UNW_WHY_GAP}, 4,
		 UNW_STOP_NO_INFO, "a gap");
	one_rule(arch, (struct unw_rule){.cfa = UNW_CFA_DEREF, .cfa_off = OUT_OF_STACK}, 4 | 1,
		 UNW_STOP_TRUNCATED, "CFA stands outside of the copy");
	one_rule(arch, (struct unw_rule){.cfa = UNW_CFA_DEREF, .cfa_off2 = INT32_MIN}, 4,
		 UNW_STOP_BAD_CFA, "CFA is loaded, and far off");
}

/* --- ends --- */

static void test_ends(enum unw_arch arch)
{
	struct stack_build *b = start(arch);
	const int32_t off = arch == UNW_S390X ? 176 : 16;
	struct unw_rule rule = sp_rule(b, off);
	uint64_t fn = stack_fn(b, &rule), ra_at = SP_AT + (uint64_t)off - 8;

	b->regs.pc = fn + 8;
	/* Of amd64's first frame no RA is known to be one: "a good rule" is the one after a call.
	 */
	is_stopped((stack_walk(b, NULL, 0), b),
		   arch == UNW_X86_64 ? UNW_STOP_BAD_RA : UNW_STOP_OUTERMOST, 1, "RA 0");
	stack_put(b, ra_at, 0x1234);
	is_stopped((stack_walk(b, NULL, 0), b), UNW_STOP_BAD_RA, 1, "RA in no mapping");
	stack_put(b, ra_at, UINT64_C(0xffffffff81000000));
	is_stopped((stack_walk(b, NULL, 0), b), UNW_STOP_BAD_RA, 1, "RA in the kernel");
	b->regs.pc = 0x1000;
	is_stopped((stack_walk(b, NULL, 0), b), UNW_STOP_NO_MAPPING, 1, "pc in no mapping");
	b->regs.pc = fn + 8;
	b->is_pending = true;
	is_stopped((stack_walk(b, NULL, 0), b), UNW_STOP_NO_TABLE_YET, 1, "no table yet");
	b->is_pending = false;
	for (uint64_t a = SP_AT; a < STACK_END; a += 8)
		stack_put(b, a, stack_call(fn));
	stack_walk(b, NULL, 5);
	is_stopped(b, UNW_STOP_MAX_DEPTH, 5, "endless recursion");
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_MAX_DEPTH, STACK_MAX_FRAMES, "to the limit");
	b->regs.known = 0;
	is_stopped((stack_walk(b, NULL, 0), b), UNW_STOP_REGISTER, 1, "SP not sampled");
	stack_build_free(b);
}

/* A rule that needs a register only the topmost frame has. */
static void test_register_further_up(enum unw_arch arch)
{
	struct stack_build *b = start(arch);
	const int32_t off = arch == UNW_S390X ? 176 : 16;
	struct unw_rule first = sp_rule(b, off), second = sp_rule(b, 0);

	second.cfa_reg = 2;
	stack_reg(b, 2, SP_AT + 512);
	stack_put(b, SP_AT + (uint64_t)off - 8, stack_call(stack_fn(b, &second)));
	stack_put(b, SP_AT + 512 - 8, bottom(b));
	walk_one(b, &first);
	is_stopped(b, UNW_STOP_REGISTER, 2, "a register is known in the topmost frame alone");
	walk_one(b, &second);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "there it serves");
	first.fp = UNW_UNDEFINED;
	second.cfa_reg = fp_of(b);
	stack_reg(b, second.cfa_reg, SP_AT + 512);
	stack_put(b, SP_AT + (uint64_t)off - 8, stack_call(stack_fn(b, &second)));
	walk_one(b, &first);
	is_stopped(b, UNW_STOP_REGISTER, 2, "a lost frame pointer is not used");
	stack_build_free(b);
}

/* amd64, as in ld.so's lazy binding: outer finds its frame by rbx, which two callees save, and a
 * third has not touched. */
static void walk_rbx(const struct unw_rule change[3], bool has_rbx, enum unw_stop stop, uint32_t nr,
		     const char *what)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_memo *memo = unw_memo_new();
	struct unw_rule outer = sp_rule(b, 0);
	uint64_t ra, at = SP_AT + 96;

	outer.cfa_reg = UNW_RBX;
	outer.cfa_off2 = -24;
	stack_put(b, SP_AT + 512 - 8, bottom(b));
	ra = stack_call(stack_fn(b, &outer));
	for (int i = 2; i >= 0; i--, at -= 32) {
		struct unw_rule rule = sp_rule(b, 32);

		rule.cfa_off2 = change[i].cfa_off2;
		rule.flags = change[i].flags;
		rule.origin = change[i].origin ? change[i].origin & 15 : UNW_EH_FRAME;
		stack_put(b, at - 8, ra);
		b->regs.pc = stack_fn(b, &rule) + 8;
		ra = stack_call(b->regs.pc - 8);
	}
	/* Only the outermost save holds outer's; the inner ones were of others. */
	stack_put(b, SP_AT + 32 - 16, 0xbad);
	stack_put(b, SP_AT + 64 - 24, change[2].cfa_off2 ? 0xbad : SP_AT + 512);
	stack_put(b, SP_AT + 96 - 16, SP_AT + 512);
	if (has_rbx)
		stack_reg(b, UNW_RBX, SP_AT + 512);
	for (int i = 0; i < 3; i++) {
		b->keeps_id = i;
		stack_walk(b, i ? memo : NULL, 0);
		is_stopped(b, stop, nr, what);
	}
	unw_memo_free(memo);
	stack_build_free(b);
}

static void test_rbx(void)
{
	const struct unw_rule saved = {.cfa_off2 = -16}, saved24 = {.cfa_off2 = -24}, not_ = {0};
	const struct unw_rule popped = {.cfa_off2 = -40}, lost = {.flags = UNW_RBX_LOST};
	const struct unw_rule sframe = {.origin = UNW_SFRAME};
	const struct {
		struct unw_rule rule[3];
		bool has_rbx;
		enum unw_stop stop;
		uint32_t nr;
		const char *what;
	} t[] = {
		{{not_, not_, not_},      true,  UNW_STOP_OUTERMOST, 5, "rbx as it was at the top" },
		{{not_, not_, not_},      false, UNW_STOP_REGISTER,  4, "rbx was not sampled"      },
		{{not_, not_, saved},     false, UNW_STOP_OUTERMOST, 5, "rbx saved by the last"    },
		{{saved, saved24, saved}, false, UNW_STOP_OUTERMOST, 5, "rbx saved by all"         },
		{{saved, saved24, not_},  false, UNW_STOP_OUTERMOST, 5, "rbx saved by two"         },
		{{popped, not_, not_},    true,  UNW_STOP_OUTERMOST, 5, "rbx popped at the top"    },
		{{lost, saved24, not_},   true,  UNW_STOP_OUTERMOST, 5, "rbx lost, and saved above"},
		{{not_, lost, not_},      true,  UNW_STOP_REGISTER,  4, "rbx lost"                 },
		{{not_, sframe, not_},    true,  UNW_STOP_REGISTER,  4, "SFrame knows no rbx"      },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		walk_rbx(t[i].rule, t[i].has_rbx, t[i].stop, t[i].nr, t[i].what);
}

/* A frame by frame pointer alone, or by a signal, between the register and its use. */
static void test_rbx_after(bool is_signal)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule outer = sp_rule(b, 0), top = sp_rule(b, 16);
	const struct unw_rule signal = {.cfa = UNW_CFA_DEREF,
					.cfa_reg = 7,
					.cfa_off = 160,
					.ra = UNW_AT_REG,
					.ra_reg = 7,
					.ra_off = 168,
					.flags = UNW_SIGNAL | UNW_RBX_LOST,
					.origin = UNW_EH_FRAME};
	uint64_t at = SP_AT + 16, leaf = stack_fn(b, &top), fn, outer_ra;

	outer.cfa_reg = UNW_RBX;
	stack_put(b, SP_AT + 1024 - 8, bottom(b));
	outer_ra = stack_call(stack_fn(b, &outer));
	stack_reg(b, UNW_RBX, is_signal ? 0xbad : SP_AT + 1024);
	stack_reg(b, 6, at + 32);
	stack_put(b, at + 32, 0);
	stack_put(b, at + 40, outer_ra);
	fn = stack_fn(b, is_signal ? &signal : NULL);
	stack_put(b, SP_AT + 8, is_signal ? fn : stack_call(fn));
	if (is_signal) { /* the leaf was interrupted too, one call inside of outer */
		stack_put(b, at + 40 + 8 * 11, SP_AT + 1024); /* rbx */
		stack_put(b, at + 160, SP_AT + 512);
		stack_put(b, at + 168, leaf + 8);
		stack_put(b, SP_AT + 512 + 8, outer_ra);
	}
	b->regs.pc = leaf + 8;
	stack_walk(b, NULL, 0);
	if (is_signal)
		is_stopped(b, UNW_STOP_OUTERMOST, 5, "rbx from a signal frame");
	else
		is_stopped(b, UNW_STOP_REGISTER, 3, "rbx after a frame pointer");
	stack_build_free(b);
}

/* libcrypto: the caller's SP is after an array, with its length in r9. */
static void test_index(void)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule rule = sp_rule(b, 8), top = sp_rule(b, 16);
	uint64_t end = bottom(b);

	rule.cfa = UNW_CFA_INDEX;
	rule.cfa_off2 = 8;
	rule.ra_reg = 9;
	stack_reg(b, 9, 32);
	stack_put(b, SP_AT + 8 + 32 * 8, SP_AT + 800);
	stack_put(b, SP_AT + 800, end);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "CFA by an index");
	stack_reg(b, 9, UINT64_MAX / 8);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_BAD_CFA, 1, "an index that leads elsewhere");
	stack_put(b, SP_AT + 8, stack_call(stack_fn(b, &rule)));
	walk_one(b, &top);
	is_stopped(b, UNW_STOP_REGISTER, 2, "an index that is unknown further up");
	stack_build_free(b);
}

/* --- lookup --- */

/* A call that never returns ends its function: the return address is the next one's first. */
static void test_noreturn(void)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule top = sp_rule(b, 16), caller = sp_rule(b, 32), wrong = sp_rule(b, 8);
	uint64_t fn = stack_fn(b, &caller), end = bottom(b);

	stack_fn(b, &wrong);
	stack_put(b, SP_AT + 8, fn + STACK_FN_BYTES);
	stack_code(b, fn + STACK_FN_BYTES - 5, call, 5);
	stack_put(b, SP_AT + 16 + 24, end);
	walk_one(b, &top);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "call at a function's end");
	CHECK_EQ(b->pc[1], fn + STACK_FN_BYTES, "the return address is kept as it is");
	CHECK(b->exact[0] && !b->exact[1], "only the first is exact");
	CHECK_EQ(b->sp[1], SP_AT + 16, "SP of the caller");
	stack_build_free(b);
}

static void test_leaf(enum unw_arch arch)
{
	struct stack_build *b = start(arch);
	struct unw_rule rule = sp_rule(b, arch == UNW_S390X ? 160 : 0);
	uint64_t end = bottom(b);

	rule.ra = UNW_SAME;
	stack_reg(b, arch == UNW_S390X ? 14 : 30, end);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "leaf: RA in its register, no frame");
	rule.ra = UNW_AT_CFA;
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_BAD_CFA, 1, "RA in memory needs a frame");
	rule.ra = UNW_SAME;
	stack_reg(b, arch == UNW_S390X ? 14 : 30, stack_call(stack_fn(b, &rule)));
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_BAD_CFA, 2, "a leaf calls nothing");
	stack_build_free(b);
}

static void test_pac(void)
{
	struct stack_build *b = start(UNW_AARCH64);
	struct unw_rule rule = sp_rule(b, 16);
	uint64_t end = bottom(b);

	stack_put(b, SP_AT + 8, end | UINT64_C(0xaadb) << 48);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_BAD_RA, 1, "bit 55 says kernel");
	stack_put(b, SP_AT + 8, end | UINT64_C(0xab5b) << 48);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "signed return address");
	CHECK_EQ(b->pc[1], end, "the code is taken off");
	b->space.va_bits = 52;
	stack_put(b, SP_AT + 8, end | UINT64_C(0xa510) << 48);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "52 bits of address");
	stack_build_free(b);
}

/* --- the popped frame pointer --- */

static void test_popped_fp(void)
{
	static const uint8_t pops[] = {0x41, 0x5d, 0x41, 0x5e, 0xc3}, other[] = {0x48, 0x89};
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule top = sp_rule(b, 24), caller = sp_rule(b, 16);
	uint64_t end = bottom(b);

	top.fp = UNW_AT_CFA;
	top.fp_off = -32; /* popped: below SP, and below the copy */
	caller.cfa_reg = 6;
	b->space.stack = (const uint8_t *)b->words + (SP_AT - STACK_AT);
	b->space.stack_start = SP_AT;
	b->space.stack_bytes = 1024;
	stack_reg(b, 6, SP_AT + 64);
	stack_put(b, SP_AT + 16, stack_call(stack_fn(b, &caller)));
	stack_put(b, SP_AT + 64 + 8, end);
	walk_one(b, &top);
	is_stopped(b, UNW_STOP_TRUNCATED, 2, "FP popped or in the red zone: unknown");
	stack_code(b, b->regs.pc, pops, sizeof(pops));
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "only pops and a return follow: popped");
	stack_code(b, b->regs.pc, other, sizeof(other));
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_TRUNCATED, 2, "other code follows: unknown");
	stack_build_free(b);
}

/* --- signals --- */

/* A handler, called by a signal in a leaf on another stack. @return the trampoline. */
static uint64_t put_signal(struct stack_build *b, const struct unw_rule *trampoline)
{
	struct unw_rule handler = sp_rule(b, 16), other = sp_rule(b, 8);
	uint64_t uc = SP_AT + 16, fn = stack_fn(b, trampoline), end = bottom(b), at;

	other.cfa_reg = 12; /* r12, restored by the context */
	at = stack_fn(b, &other);
	stack_put(b, SP_AT + 8, fn);
	stack_put(b, uc + 40 + 8 * 4, STACK_AT + 512); /* r12 */
	stack_put(b, uc + 160, STACK_AT + 256);
	stack_put(b, uc + 168, at);
	stack_put(b, uc + 120, 77);
	stack_put(b, uc + 184, UINT64_C(0x002b000000000033)); /* segments of a 64-bit program */
	stack_put(b, STACK_AT + 512, end);
	b->regs.pc = stack_fn(b, &handler) + 8;
	return fn;
}

static void test_uretprobe(enum unw_arch arch)
{
	struct stack_build *b = start(arch);
	struct unw_rule rule = sp_rule(b, 256);

	stack_put(b, SP_AT + 248, STACK_PROBES);
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_URETPROBE, 1, "a return address that a uretprobe has replaced");
	b->regs.pc = STACK_PROBES + 64;
	stack_walk(b, NULL, 0);
	CHECK(b->frames.stop != UNW_STOP_URETPROBE && b->pc[0] == STACK_PROBES + 64,
	      "%s: code that runs there is a frame", names[arch]);
	stack_build_free(b);
}

static void test_signal(void)
{
	struct stack_build *b = start(UNW_X86_64);
	uint64_t fn = put_signal(b, NULL);

	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_BAD_RA, 1, "a mapping's start is no return address");
	stack_sigreturn_code(b, fn);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 4,
		   "but for a trampoline, by its bytes; to a lower stack");
	CHECK(b->exact[2] && !b->exact[3], "the interrupted pc is exact");
	CHECK(b->exact[1], "so is the trampoline's, which no call led to");
	CHECK_EQ(b->method[2], UNW_TRAMPOLINE, "and says how it was found");
	CHECK_EQ(b->frames.nr_signals, 1, "one signal");
	CHECK(!b->frames.has_fp, "no frame pointer was used");
	b->space.is_copy = true;
	b->space.stack_bytes = SP_AT + 64 - STACK_AT;
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_TRUNCATED, 2, "context cut off");
	b->space.stack_bytes = sizeof(b->words);
	b->regs.pc = fn;
	stack_reg(b, 7, SP_AT + 16);
	for (uint64_t i = 0; i < 3; i++) {
		b->regs.pc = fn + (uint64_t[]){0, 7, 9}[i];
		stack_walk(b, NULL, 0);
		is_stopped(b, UNW_STOP_OUTERMOST, 3, "sampled in the trampoline");
	}
	stack_build_free(b);
	b = start(UNW_X86_64);
	put_signal(b, &stack_sigreturn_rule);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 4, "trampoline by its rule, registers too");
	stack_put(b, SP_AT + 16 + 168, 0);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_BAD_RA, 2, "a signal at pc 0, as of a call through NULL");
	stack_build_free(b);
}

/* Go's, bionic's: mov $15, %eax. */
static void test_short_sigreturn(void)
{
	static const uint8_t code[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct stack_build *b = start(UNW_X86_64);
	uint64_t fn = put_signal(b, NULL);

	stack_code(b, fn, code, sizeof(code));
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 4, "the short form of the trampoline");
	CHECK(b->exact[1], "no call led to it");
	stack_reg(b, 7, SP_AT + 16);
	for (uint64_t i = 0; i < 3; i++) {
		b->regs.pc = fn + (uint64_t[]){0, 5, 7}[i];
		stack_walk(b, NULL, 0);
		is_stopped(b, UNW_STOP_OUTERMOST, 3, "sampled in it");
	}
	stack_build_free(b);
}

/* musl's memcpy begins where the trampoline's system call ends. */
static void test_after_sigreturn(void)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule rule = sp_rule(b, 8);
	uint64_t end = bottom(b), fn = stack_fn(b, &rule);
	struct unw_memo *memo = unw_memo_new();

	stack_sigreturn_code(b, fn - 9);
	b->regs.pc = fn;
	stack_put(b, SP_AT, end);
	for (int i = 0; i < 3; i++) {
		stack_walk(b, i ? memo : NULL, 0);
		is_stopped(b, UNW_STOP_OUTERMOST, 2,
			   "a function's first instruction, after the trampoline");
		CHECK(!b->exact[1], "left by a call");
	}
	unw_memo_free(memo);
	stack_build_free(b);
}

static void test_judgement(void)
{
	for (int i = 0; i < NR_UNW_STOPS; i++)
		CHECK(unw_stop_is_cut((enum unw_stop)i) ==
			      (i != UNW_STOP_NONE && i != UNW_STOP_OUTERMOST &&
			       i != UNW_STOP_FP_END),
		      "is a stack that ends by %s cut?", unw_stop_name((enum unw_stop)i));
}

/* The same (pc, SP) again: only a signal frame can bring that about. */
static void test_loop(void)
{
	struct stack_build *b = start(UNW_X86_64);
	uint64_t fn = stack_fn(b, NULL);

	stack_sigreturn_code(b, fn);
	stack_put(b, SP_AT + 160, SP_AT);
	stack_put(b, SP_AT + 168, fn);
	b->regs.pc = fn;
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_LOOP, 1, "a context that restores itself");
	stack_put(b, SP_AT + 168, fn + 7);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_LOOP, 2, "and through another pc");
	stack_build_free(b);
}

/* --- frame pointers --- */

static void put_record(struct stack_build *b, uint64_t at, uint64_t fp, uint64_t ra)
{
	stack_put(b, at, fp);
	stack_put(b, at + 8, ra);
}

static void test_fp(enum unw_arch arch)
{
	struct stack_build *b = start(arch);
	uint64_t gap = stack_call(stack_fn(b, NULL)), end = bottom(b), rec = SP_AT + 64;

	b->regs.pc = gap;
	stack_reg(b, fp_of(b), rec);
	put_record(b, rec, rec + 64, gap);
	put_record(b, rec + 64, rec + 128, end);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "two frames by frame pointer, then a table");
	CHECK(b->frames.has_fp && b->method[1] == UNW_FP && b->method[2] == UNW_FP, "marked");
	put_record(b, rec + 64, 0, gap);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_FP_END, 3,
		   "frame pointer 0 ends a chain of them, and proves nothing");
	put_record(b, rec + 64, rec + 128, 0);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_FP_END, 2, "nor does a return address of 0");
	put_record(b, rec + 64, 0, gap);
	stack_walk(b, NULL, 0);
	put_record(b, rec, rec + 16, gap);
	put_record(b, rec + 16, 0, end);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "a frame without locals: its record is where SP is");
	put_record(b, rec, rec + 64, gap);
	put_record(b, rec + 64, rec, gap);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 3, "frame pointer goes down");
	put_record(b, rec + 64, rec + 68, gap);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 3, "frame pointer not aligned");
	put_record(b, rec + 64, rec, gap - 4);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 2, "no call before the return address");
	b->has_no_code = true;
	stack_walk(b, NULL, 0);
	CHECK_EQ(b->frames.nr, 3, "which is not asked where no code is at hand");
	put_record(b, rec + 64, rec, 0x1000);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 2, "return address in no code");
	put_record(b, rec, STACK_END, gap);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_TRUNCATED, 2, "frame pointer leads out of the copy");
	stack_reg(b, fp_of(b), 0);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 1, "a first frame pointer of 0 says nothing");
	stack_build_free(b);
}

static void test_fp_entry_x86_64(void)
{
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xc3};
	const struct {
		unsigned int at;
		uint64_t ra_at;
	} cases[] = {
		{0, 0},
                {4, 0},
                {5, 8},
                {8, 0}
        };
	struct stack_build *b = start(UNW_X86_64);
	uint64_t gap = stack_fn(b, NULL), caller = stack_call(stack_fn(b, NULL)), end = bottom(b);

	stack_code(b, gap, code, sizeof(code));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		stack_put(b, SP_AT, SP_AT + 64);
		stack_reg(b, 6, SP_AT + 64);
		put_record(b, SP_AT + 64, 0, end);
		stack_put(b, SP_AT + cases[i].ra_at, caller);
		b->regs.pc = gap + cases[i].at;
		stack_walk(b, NULL, 0);
		is_stopped(b, UNW_STOP_OUTERMOST, 3,
			   "prologue or return: the caller is not skipped");
		CHECK_EQ(b->pc[1], caller, "at +%u", cases[i].at);
	}
	stack_build_free(b);
}

static void test_fp_entry_aarch64(void)
{
	static const uint8_t code[] = {0xfd, 0x7b, 0xbe, 0xa9,
				       0xfd, 0x03, 0,    0x91}; /* stp -32; mov */
	struct stack_build *b = start(UNW_AARCH64);
	struct unw_rule rule = sp_rule(b, 32);
	uint64_t gap = stack_fn(b, NULL), caller = stack_call(stack_fn(b, &rule)), end = bottom(b);

	stack_code(b, gap, code, sizeof(code));
	stack_reg(b, 30, caller);
	stack_reg(b, 29, 0);
	stack_put(b, SP_AT + 24, end);
	b->regs.pc = gap;
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "first instruction: RA in x30, SP as in the caller");
	put_record(b, SP_AT, 0, caller);
	stack_put(b, SP_AT + 32 + 24, end);
	b->regs.pc = gap + 4;
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "second: both stored, frame of 32 bytes");
	stack_reg(b, 29, SP_AT);
	b->regs.pc = gap + 8;
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_REGISTER, 2, "a frame record does not give SP");
	stack_build_free(b);
}

/** The call in the function at @p caller leads to @p to. */
static void call_to(struct stack_build *b, uint64_t caller, uint64_t to)
{
	uint64_t ra = stack_call(caller), off = to - ra;
	uint32_t insn = (uint32_t)(0x94000000 | ((off + 4) >> 2 & 0x3ffffff));
	uint8_t code[5] = {0xe8};
	bool is_a64 = b->arch == UNW_AARCH64;

	if (!is_a64)
		insn = (uint32_t)off;
	for (int i = 0; i < 4; i++)
		code[1 + i] = (uint8_t)(insn >> 8 * i);
	stack_code(b, ra - (is_a64 ? 4 : 5), code + is_a64, is_a64 ? 4 : 5);
}

/** A function without a frame, called by one that has none in FP's chain: what is believed? */
static void test_derived(enum unw_arch arch)
{
	struct stack_build *b = start(arch);
	bool is_a64 = arch == UNW_AARCH64;
	struct unw_rule rule = sp_rule(b, 32), other = sp_rule(b, 16);
	uint64_t before = stack_fn(b, &other), leaf = stack_fn(b, NULL);
	uint64_t caller = stack_fn(b, &rule), skipped = stack_call(stack_fn(b, &rule));
	uint64_t sp = is_a64 ? SP_AT : SP_AT + 8, end = bottom(b), ra = stack_call(caller);
	uint32_t save_lr = 0xa9bf7bfd; /* stp x29, x30, [sp, #-16]! */
	struct {
		uint64_t to, pc;
		const char *what;
		bool is_derived;
	} t[] = {
		{leaf,      leaf + 16, "its call leads to the function",                     true },
		{leaf + 8,  leaf + 16, "or into it",                                         true },
		{leaf + 20, leaf + 16, "but after pc",                                       false},
		{before,    leaf + 16, "but to the function before, as its rules end there", false},
		{end,       leaf + 16, "but elsewhere",                                      false},
	};

	stack_put(b, SP_AT + 64, SP_AT + 128);
	stack_put(b, SP_AT + 72, skipped);
	stack_put(b, SP_AT + 80 + 24, end);
	stack_put(b, sp + 24, end);
	stack_reg(b, fp_of(b), SP_AT + 64);
	if (is_a64)
		stack_reg(b, 30, ra);
	else
		stack_put(b, SP_AT, ra);
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		/* With the call elsewhere x30 is still the leaf's caller, unless x30 was saved. */
		stack_code(b, leaf + 4, &(uint32_t){t[i].is_derived ? 0xd503201f : save_lr}, 4);
		call_to(b, caller, t[i].to);
		b->regs.pc = t[i].pc;
		stack_walk(b, NULL, 0);
		CHECK_EQ(b->pc[1], t[i].is_derived ? ra : skipped, "%d: %s", (int)arch, t[i].what);
		CHECK_EQ(b->method[1], t[i].is_derived ? UNW_DERIVED : UNW_FP, "and is marked so");
		CHECK_EQ(b->frames.has_fp, !t[i].is_derived,
			 "frame pointers by convention: reported");
	}
	is_stopped(b, is_a64 ? UNW_STOP_REGISTER : UNW_STOP_OUTERMOST, is_a64 ? 2 : 3,
		   "then on by frame pointer");
	call_to(b, caller, leaf);
	stack_code(b, leaf + 4, &(uint32_t){0xd503201f}, 4);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "and the caller's rule continues");
	stack_build_free(b);
}

/** x30 is the caller's while no instruction before pc saved it or called. */
static void test_link(void)
{
	static const struct {
		uint32_t insn;
		bool is_link;
		const char *what;
	} t[] = {
		{0xd503201f, true,  "nop"                      },
		{0xd10043ff, false, "sub sp, sp, #16"          },
		{0xa9bf7bfd, false, "stp x29, x30, [sp, #-16]!"},
		{0xf81f0ffe, false, "str x30, [sp, #-16]!"     },
		{0x94000010, false, "bl"                       },
		{0xd63f0020, false, "blr x1"                   },
		{0xa9407bfd, false, "ldp x29, x30, [sp]"       },
		{0xf94003fe, false, "ldr x30, [sp]"            },
		{0xaa0103fe, false, "mov x30, x1"              },
	};
	struct stack_build *b = start(UNW_AARCH64);
	struct unw_rule rule = sp_rule(b, 32);
	uint64_t leaf = stack_fn(b, NULL), caller = stack_call(stack_fn(b, &rule)), end = bottom(b);

	/* blr x1: where it led is unknown */
	stack_code(b, caller - 4, &(uint32_t){0xd63f0020}, 4);
	stack_put(b, SP_AT + 24, end);
	stack_reg(b, 29, 0);
	stack_reg(b, 30, caller);
	b->regs.pc = leaf + 16;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		stack_code(b, leaf + 8, &t[i].insn, 4);
		stack_walk(b, NULL, 0);
		CHECK(t[i].is_link == (b->frames.nr == 3 && b->method[1] == UNW_DERIVED),
		      "x30 after %s", t[i].what);
	}
	stack_code(b, leaf + 8, &t[0].insn, 4);
	stack_code(b, caller - 4, &t[0].insn, 4);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 1, "x30 that no call set");
	stack_build_free(b);
}

/* Code without rules leaves aarch64's SP unknown. A caller that is described by SP is found by its
 * frame record, whose place the rule gives. */
static void test_record(void)
{
	struct stack_build *b = start(UNW_AARCH64);
	struct unw_rule rule = sp_rule(b, 64);
	uint64_t gap = stack_fn(b, NULL), caller, end = bottom(b), record = SP_AT + 128;

	rule.fp = UNW_AT_CFA;
	rule.fp_off = -64;
	rule.ra_off = -56;
	caller = stack_call(stack_fn(b, &rule));
	b->regs.pc = gap + 8;
	stack_reg(b, 29, SP_AT + 32);
	stack_put(b, SP_AT + 32, record);
	stack_put(b, SP_AT + 40, caller);
	stack_put(b, record, SP_AT + 1024);
	stack_put(b, record + 8, caller | UINT64_C(0x2a) << 48);
	stack_put(b, record + 64, 0);
	stack_put(b, record + 64 + 8, end);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 4, "SP unknown, and found again by a frame record");
	CHECK_EQ(b->pc[2], caller, "its return address without the signature");
	CHECK_EQ(b->sp[2], record + 64, "SP is known from there on");
	CHECK_EQ(b->method[2], UNW_FP, "by convention");
	CHECK_EQ(b->method[3], UNW_EH_FRAME, "the next by its rule");
	stack_put(b, record + 8, 0);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_FP_END, 2, "a record that holds no return address");
	stack_put(b, SP_AT + 32, SP_AT);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_REGISTER, 2, "x29 points below the frame: it is no record");
	stack_build_free(b);
}

/* Signal frames by a rule that says where sigreturn's pc is: all registers are known again. */
static void test_sigreturn_rule_aarch64(void)
{
	struct stack_build *b = start(UNW_AARCH64);
	const struct unw_rule signal = {.cfa = UNW_CFA_REG,
					.cfa_reg = 31,
					.ra = UNW_AT_REG,
					.ra_reg = 31,
					.ra_off = 568,
					.flags = UNW_SIGNAL,
					.origin = UNW_TRAMPOLINE};
	const struct unw_rule leaf = {.cfa = UNW_CFA_REG, .cfa_reg = 31, .origin = UNW_EH_FRAME};
	struct unw_rule handler = sp_rule(b, 16);
	uint64_t frame = SP_AT + 16, trampoline = stack_fn(b, &signal) + 4;
	uint64_t interrupted = stack_fn(b, &leaf) + 12, end = bottom(b);

	stack_put(b, SP_AT + 8, trampoline);
	stack_put(b, frame + 312 + 8 * 30, end);
	stack_put(b, frame + 312 + 8 * 31, SP_AT + 2048);
	stack_put(b, frame + 568, interrupted);
	walk_one(b, &handler);
	is_stopped(b, UNW_STOP_OUTERMOST, 4, "a leaf that a signal interrupted");
	CHECK_EQ(b->pc[2], interrupted, "where it was");
	CHECK(b->exact[2], "exactly");
	CHECK_EQ(b->pc[3], end, "its caller, out of the x30 of the signal's frame");
	stack_build_free(b);
}

/* What makecontext() leads to starts where padding ends, and no call stands before it. */
static void test_start(void)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule rule = sp_rule(b, 32), top = sp_rule(b, 16);
	uint64_t padding = stack_fn(b, NULL), fn = stack_fn(b, &rule), end = bottom(b);
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	stack_put(b, SP_AT + 8, fn);
	stack_put(b, SP_AT + 16 + 24, end);
	walk_one(b, &top);
	is_stopped(b, UNW_STOP_OUTERMOST, 3, "entered by return");
	CHECK(b->exact[1], "looked up at the address itself");
	stack_code(b, padding + STACK_FN_BYTES - 5, call, sizeof(call));
	stack_walk(b, NULL, 0);
	CHECK(b->frames.nr < 3 && !b->exact[1],
	      "a call stands before it: it is the call's function");
	stack_build_free(b);
}

static void test_back_chain(void)
{
	struct stack_build *b = start(UNW_S390X);
	uint64_t gap = stack_call(stack_fn(b, NULL)), end = bottom(b), up = SP_AT + 320;

	b->regs.pc = gap;
	stack_put(b, SP_AT, up);
	stack_put(b, up + 112, end);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 1, "r15 of the caller is not saved where it should");
	stack_put(b, up + 120, up);
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "back chain");
	CHECK(b->frames.has_fp, "marked like a frame pointer");
	stack_build_free(b);
}

/* --- the space --- */

static bool read_word(void *ctx, uint64_t address, uint64_t *ret)
{
	struct stack_build *b = ctx;

	if (address - STACK_AT > sizeof(b->words) - 8)
		return false;
	memcpy(ret, (const uint8_t *)b->words + (address - STACK_AT), 8);
	return true;
}

static void test_space(void)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_rule rule = sp_rule(b, 16);
	uint64_t end = bottom(b);

	stack_put(b, SP_AT + 8, end);
	b->space.read = read_word;
	b->space.stack_bytes = 0;
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_TRUNCATED, 1, "a copy is all there is");
	b->space.is_copy = false;
	stack_walk(b, NULL, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "else the rest is read");
	rule.cfa_off = OUT_OF_STACK + 64;
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_UNREADABLE, 1, "or cannot be");
	rule.cfa_off = 16;
	b->space.stack_bytes = sizeof(b->words);
	b->space.is_swapped = true;
	stack_put(b, SP_AT + 8, __builtin_bswap64(end));
	walk_one(b, &rule);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "words of the other byte order");
	stack_build_free(b);
}

static void test_memo(void)
{
	struct stack_build *b = start(UNW_X86_64);
	struct unw_memo *memo = unw_memo_new();
	struct unw_rule rule = sp_rule(b, 16);
	uint64_t end = bottom(b);

	stack_put(b, SP_AT + 8, end);
	b->keeps_id = true;
	b->regs.pc = stack_fn(b, &rule) + 8;
	b->is_pending = true;
	stack_walk(b, memo, 0);
	is_stopped(b, UNW_STOP_NO_TABLE_YET, 1, "memo: not yet");
	b->is_pending = false;
	stack_walk(b, memo, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "memo: a table that came is seen at once");
	b->has_no_table = true;
	stack_walk(b, memo, 0);
	is_stopped(b, UNW_STOP_OUTERMOST, 2, "memo: what was found is kept");
	b->space.id++;
	stack_walk(b, memo, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 1, "memo: until the space changes");
	b->has_no_table = false;
	b->space.id = 0;
	stack_walk(b, memo, 0);
	b->has_no_table = true;
	stack_walk(b, memo, 0);
	is_stopped(b, UNW_STOP_NO_INFO, 1, "memo: space 0 is not kept");
	unw_memo_free(memo);
	stack_build_free(b);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(arches) / sizeof(*arches); i++) {
		test_rules_of_one_frame(arches[i]);
		test_ends(arches[i]);
		test_register_further_up(arches[i]);
	}
	test_index();
	test_rbx();
	test_rbx_after(false);
	test_rbx_after(true);
	test_noreturn();
	test_leaf(UNW_AARCH64);
	test_leaf(UNW_S390X);
	test_pac();
	test_record();
	test_sigreturn_rule_aarch64();
	test_popped_fp();
	for (size_t i = 0; i < sizeof(arches) / sizeof(*arches); i++)
		test_uretprobe(arches[i]);
	test_signal();
	test_judgement();
	test_short_sigreturn();
	test_after_sigreturn();
	test_loop();
	test_fp(UNW_X86_64);
	test_fp(UNW_AARCH64);
	test_fp_entry_x86_64();
	test_fp_entry_aarch64();
	test_derived(UNW_X86_64);
	test_derived(UNW_AARCH64);
	test_link();
	test_start();
	test_back_chain();
	test_space();
	test_memo();
	for (int i = 0; i < NR_UNW_STOPS; i++)
		CHECK(*unw_stop_name((enum unw_stop)i) &&
			      strcmp(unw_stop_name((enum unw_stop)i), "unknown") != 0,
		      "stop %d has a name", i);
	return tap_done();
}
