/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

/*
 * What a branch does to the calls of its thread. A return to the innermost call ends it. Whatever
 * else leaves functions has to prove how many, or all that is known of the stack ends there:
 *
 *   a return to another call        ends those after it
 *   longjmp, exceptions             to the only call that was made by the function they go to; of
 *                                   several, what called the first one stays known
 *   another stack                   nothing is known of it
 *   what the kernel returns to      the interrupted place, or a signal handler
 *   retpolines                      the return that the call before it was made for is a jump
 *
 * Jumps to where functions begin are tail calls, and within a function they are nothing.
 */

enum { MAX_SEARCH = 256, MAX_SURE = 128, MAX_UNWINDER = 4, THUNK_BYTES = 64 };

/** Else calls are only counted. */
static bool is_exact(const struct trace_synth *s)
{
	return s->events->opts.itrace.chains;
}

/** What is known ends here. */
static void give_up(struct call_stack *c, enum unw_stop why, bool is_kernel)
{
	if (is_kernel)
		call_stack_cut_kernel(c, why);
	else
		call_stack_cut(c, why);
}

/* --- functions --- */

struct function {
	const struct dso_sym *sym; /* NULL: unknown */
	const struct dso *dso;
	uint64_t start;
};

static struct function function_of(const struct ana_loc *loc)
{
	if (!loc || !loc->sym)
		return (struct function){.dso = loc ? loc->dso : NULL};
	return (struct function){loc->sym, loc->dso, loc->ip - (loc->rel - loc->sym->start)};
}

static struct function function_at(struct trace_synth *s, uint32_t space, uint64_t addr)
{
	return function_of(trace_locate(s->events, space, addr));
}

/** As thunks have them. */
static bool is_near(const struct call *c)
{
	return c->how == CALL_NEAR && c->callee > c->ret && c->callee - c->ret < THUNK_BYTES;
}

bool trace_leave_is_label(struct trace_events *e, const struct call *c)
{
	struct function from, to;

	if (!is_near(c))
		return false;
	from = function_of(trace_locate(e, c->space, c->ret - 1));
	to = function_of(trace_locate(e, c->space, c->callee));
	return from.sym && from.sym == to.sym && from.start == to.start && c->callee != to.start;
}

/** Compilers put what runs rarely into a function of its own, NAME.cold. */
static size_t name_length(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold ? (size_t)(cold - name) : strlen(name);
}

static bool is_same(const struct function *a, const struct function *b)
{
	size_t nr;

	if (!a->sym || !b->sym || a->dso != b->dso)
		return false;
	if (a->start == b->start)
		return true;
	nr = name_length(a->sym->link_name);
	return nr && nr == name_length(b->sym->link_name) &&
	       !memcmp(a->sym->link_name, b->sym->link_name, nr) &&
	       (a->sym->link_name[nr] || b->sym->link_name[nr]);
}

/** The function that made the call. */
static struct function caller_of(struct trace_synth *s, const struct call *c)
{
	return function_at(s, c->space, c->how == CALL_EVENT ? c->ret : c->ret - 1);
}

/* --- what unwinds --- */

static bool is_name_of_unwinder(const char *name)
{
	static const char *const begins[] = {"_Unwind_RaiseException", "_Unwind_Resume",
					     "_Unwind_ForcedUnwind", "unw_resume", "__unw_resume"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	}
	return strstr(name, "longjmp") || strstr(name, "libunwind_Registers");
}

static bool is_unwinder(struct trace_synth *s, const struct function *f)
{
	struct known_name *known =
		&s->events->names[(uintptr_t)f->sym / sizeof(*f->sym) % TRACE_NR_NAMES];

	if (known->sym != f->sym)
		*known = (struct known_name){f->sym, is_name_of_unwinder(f->sym->link_name)};
	return known->is_unwinder;
}

/** Is it, or one of its callers, known for that? */
static bool unwinds(struct trace_synth *s, const struct call_stack *c, const struct function *from)
{
	size_t floor = call_stack_floor(c);

	if (from->sym && is_unwinder(s, from))
		return true;
	for (size_t i = c->nr, nr = 0; i > floor && nr < MAX_UNWINDER; nr++) {
		struct function f = caller_of(s, &c->data[--i]);

		if (f.sym && is_unwinder(s, &f))
			return true;
	}
	return false;
}

/* What left functions is known, but not how many: an outer part of the calls may be sure
 * nevertheless. It is kept below a CALL_CUT, until execution comes to a function of it. */

static bool is_cut_in_user(const struct call_stack *c, size_t mark)
{
	return mark && c->data[mark].how == CALL_CUT && c->data[mark - 1].how == CALL_NEAR;
}

/** Of which functions nothing says whether they were left: @p nr, from the innermost on. */
struct doubtful {
	struct function all[MAX_SURE];
	size_t nr;
};

static bool is_doubtful(const struct doubtful *d, const struct function *f)
{
	for (size_t i = 0; i < d->nr; i++) {
		if (is_same(&d->all[i], f))
			return true;
	}
	return false;
}

/** Calls before @p from in functions that made none of those after it. @return how many. */
static size_t count_sure(struct trace_synth *s, const struct call_stack *c, size_t from)
{
	struct doubtful d = {.nr = 0};
	size_t sure = from, i = c->nr;

	while (i-- > 0 && c->nr - i <= MAX_SURE && (i >= from || c->data[i].how != CALL_CUT)) {
		d.all[c->nr - 1 - i] = caller_of(s, &c->data[i]);
		if (i >= from || is_doubtful(&d, &d.all[c->nr - 1 - i]))
			sure = i < sure ? i : sure;
		d.nr = c->nr - sure;
	}
	return i == SIZE_MAX ? sure : 0;
}

/** The calls from @p from on may have ended. */
static void doubt(struct trace_synth *s, struct call_stack *c, size_t from)
{
	const struct call mark = {.ret = UNW_STOP_TRACE_JUMP, .how = CALL_CUT};
	size_t sure = c->cut ? 0 : count_sure(s, c, from);

	if (!sure || c->data[sure - 1].how != CALL_NEAR) {
		give_up(c, UNW_STOP_TRACE_JUMP, false);
		return;
	}
	c->nr = sure;
	if (!call_stack_push(c, &mark))
		s->events->err = CLEW_NO_MEMORY;
}

/** Of the calls from @p floor up to @p end, those that @p to made. @return how many, at most 2. */
static size_t find_calls_of(struct trace_synth *s, const struct call_stack *c, size_t floor,
			    size_t end, const struct function *to, size_t *outermost)
{
	size_t nr = 0;

	for (size_t i = end; to->sym && i-- > floor;) {
		struct function f = c->nr - i <= MAX_SEARCH ? caller_of(s, &c->data[i]) : *to;

		if (is_same(&f, to)) {
			*outermost = i;
			nr += nr < 2;
		}
	}
	return nr;
}

/** Execution came to @p to, which is none of those since the mark that ends at @p floor. */
static void come_to_sure(struct trace_synth *s, struct call_stack *c, size_t floor,
			 const struct function *to)
{
	size_t found, nr = find_calls_of(s, c, 0, floor - 1, to, &found);

	c->nr = nr == 1 ? found : floor;
	if (nr > 1)
		doubt(s, c, found);
	else if (!to->sym)
		give_up(c, UNW_STOP_TRACE_JUMP, false);
}

/** Its caller is where the function continues that is gone to. */
static bool is_sigsetjmp(const struct function *f)
{
	return f->sym && strstr(f->sym->link_name, "sigsetjmp");
}

/** To the only call that @p to made. Where the outermost callers are unknown, it may have made
 * others. */
static void unwind_to(struct trace_synth *s, struct call_stack *c, const struct function *to)
{
	size_t floor = call_stack_floor(c), found = c->nr;
	size_t nr = find_calls_of(s, c, floor, c->nr, to, &found);
	bool has_sure = floor && is_cut_in_user(c, floor - 1);

	if (nr == 1 && (found == floor || !call_stack_why_cut(c, floor)))
		c->nr = found;
	else if (has_sure && !nr)
		come_to_sure(s, c, floor, to);
	else if (floor ? has_sure : nr || is_sigsetjmp(to))
		doubt(s, c, floor ? floor - 1 : found);
	else
		give_up(c, UNW_STOP_TRACE_JUMP, false);
}

/* --- jumps and returns that end no call --- */

/** Does a call through a register or memory end after the @p nr bytes at @p b? Only a decoder can
 * say whether it begins there. Spec: Intel SDM volume 2, "CALL". */
static bool may_be_call(const uint8_t *b, uint8_t nr)
{
	bool has_rex = b[0] >> 4 == 4;

	return nr >= 2 + has_rex && b[has_rex] == 0xff && (b[1 + has_rex] >> 3 & 7) == 2;
}

static bool is_after_x86_call(struct trace_synth *s, const struct trace_place *at)
{
	enum { MOST = 7, DIRECT = 5 };
	uint8_t b[FLOW_MAX_INSN_BYTES];
	const uint8_t *code;

	if (flow_code_at(&s->code, at->space, at->ip - MOST, &code) < MOST)
		return true; /* unknown */
	if (code[MOST - DIRECT] == 0xe8)
		return true;
	for (uint8_t nr = 2; nr <= MOST; nr++) {
		if (may_be_call(code + MOST - nr, nr) &&
		    s->code.insns->read(&s->code, at->space, (enum isa)at->isa, at->ip - nr, b) ==
			    nr)
			return true;
	}
	return false;
}

/** Is the instruction before @p at a call? Where there are no symbols, nothing else
 * distinguishes a return from a jump. Spec: Arm ARM (DDI 0487), "BL", "BLR". */
static bool is_after_call(struct trace_synth *s, const struct trace_place *at)
{
	const uint8_t *code;

	if (trace_synth_is_x86(s))
		return is_after_x86_call(s, at);
	return flow_code_at(&s->code, at->space, at->ip - 4, &code) >= 4 &&
	       ((load_le32(code) & 0xfc000000) == 0x94000000 ||
		(load_le32(code) & 0xfffffc1f) == 0xd63f0000);
}

/** By a return, or a jump in place of one: interrupts and signals end otherwise. */
static bool is_ended_by(const struct call_stack *c, uint64_t to)
{
	return c->nr && c->data[c->nr - 1].ret == to && c->data[c->nr - 1].how == CALL_NEAR;
}

/** The innermost call that returns to @p to, among those since the last interrupt. */
static bool find_call(const struct call_stack *c, uint64_t to, size_t *ret)
{
	for (size_t i = c->nr; i > 0 && c->data[i - 1].how == CALL_NEAR; i--) {
		if (c->data[i - 1].ret != to)
			continue;
		*ret = i - 1;
		return true;
	}
	return false;
}

/** Also of one that is only known to end there, if there is one such call. */
static bool end_only_call(struct call_stack *c, uint64_t to)
{
	size_t floor = call_stack_floor(c), nr = 0, found = 0;

	for (size_t i = c->nr; i-- > floor && nr < 2 && c->data[i].how == CALL_NEAR;) {
		nr += c->data[i].ret == to;
		found = nr ? found : i;
		if (c->data[i].ret == to)
			found = i;
	}
	if (nr == 1)
		c->nr = found;
	return nr == 1;
}

/** To another stack, unless it unwound. */
static void leave_for(struct trace_synth *s, struct call_stack *c, const struct trace_place *place)
{
	const struct function from = function_of(trace_exec_loc_of_last(s)),
			      to = function_of(trace_exec_loc_of_next(s, place));

	if (unwinds(s, c, &from))
		unwind_to(s, c, &to);
	else
		give_up(c, UNW_STOP_TRACE_SWITCH, call_is_kernel(s->last.ip));
}

/** Could the innermost function continue there? */
static bool is_of_callee(struct trace_synth *s, const struct call_stack *c,
			 const struct function *to)
{
	struct function f = {.sym = NULL};

	if (c->nr && c->data[c->nr - 1].callee)
		f = function_at(s, c->data[c->nr - 1].space, c->data[c->nr - 1].callee);
	return is_same(&f, to);
}

/** A jump to after a call in what has no symbols. */
static void jump_to_unknown(struct call_stack *c, const struct trace_place *to)
{
	if (is_ended_by(c, to->ip))
		c->nr--;
	else if (!end_only_call(c, to->ip))
		give_up(c, UNW_STOP_TRACE_JUMP, call_is_kernel(to->ip));
}

static void jump_out(struct trace_synth *s, struct call_stack *c, const struct function *from,
		     const struct trace_place *place)
{
	struct function to = function_of(trace_exec_loc_of_next(s, place));

	if (!to.sym)
		jump_to_unknown(c, place);
	else if (is_of_callee(s, c, &to))
		return;
	else if (is_ended_by(c, place->ip))
		c->nr--;
	else if (unwinds(s, c, from))
		unwind_to(s, c, &to);
	else if (!end_only_call(c, place->ip))
		give_up(c, UNW_STOP_TRACE_JUMP, call_is_kernel(place->ip));
}

/* --- jumps that end nothing, whatever was called: most do --- */

enum { NR_JUMPS = 4096 };

struct known_jump {
	uint64_t from, to;
	uint32_t from_space, to_space;
	uint8_t ends; /* of enum known_end */
};

enum known_end { END_UNKNOWN, END_NOTHING, END_POSSIBLE };

static bool ends_nothing(struct trace_synth *s, const struct function *from,
			 const struct trace_place *place)
{
	struct function to = function_of(trace_exec_loc_of_next(s, place));

	if (!to.sym)
		return !is_after_call(s, place);
	return to.start == place->ip || is_same(from, &to);
}

static struct known_jump *slot_of(struct trace_events *e, const struct known_jump *k)
{
	if (!e->jumps)
		e->jumps = mem_calloc(NR_JUMPS, sizeof(*e->jumps));
	if (!e->jumps)
		e->err = CLEW_NO_MEMORY;
	return e->jumps ? &e->jumps[hash_two(k->from, k->to) % NR_JUMPS] : NULL;
}

static void jump(struct trace_synth *s, struct call_stack *c, const struct trace_place *place)
{
	struct known_jump this = {s->last.ip, place->ip, s->last.space, place->space, END_UNKNOWN};
	struct known_jump *known = slot_of(s->events, &this);
	struct function from;

	if (!known)
		return;
	if (known->ends == END_NOTHING && known->from == this.from && known->to == this.to &&
	    known->from_space == this.from_space && known->to_space == this.to_space)
		return;
	from = function_of(trace_exec_loc_of_last(s));
	this.ends = ends_nothing(s, &from, place) ? END_NOTHING : END_POSSIBLE;
	*known = this;
	if (this.ends == END_POSSIBLE)
		jump_out(s, c, &from, place);
}

/** Does what runs up to the return store into where the stack pointer points, or move that past
 * it? Spec: Intel SDM volume 2, "MOV", "LEA", "ADD". */
static bool replaces_return(struct trace_synth *s, const struct call *c)
{
	enum { RSP_ALONE = 0x24 };
	const uint8_t *b;
	size_t nr = flow_code_at(&s->code, c->space, c->callee, &b), to = s->last.ip - c->callee;

	for (size_t i = 0; i + 3 <= nr && i + 3 <= to && to <= THUNK_BYTES; i++) {
		bool is_store = b[i] == 0x89 && (b[i + 1] & 0xc7) == 4;
		bool is_past =
			(b[i] == 0x8d && b[i + 1] == 0x64) || (b[i] == 0x83 && b[i + 1] == 0xc4);

		if ((is_store && b[i + 2] == RSP_ALONE) || is_past)
			return true;
	}
	return false;
}

/** A call right before it, to within its own function, that this return was made to jump by: its
 * return address was overwritten. */
static bool is_thunk(struct trace_synth *s, const struct call_stack *c)
{
	const struct call *top = c->nr ? &c->data[c->nr - 1] : NULL;

	return top && is_near(top) && !top->is_at_end && top->callee == s->last.start &&
	       replaces_return(s, top);
}

/** @return whether it was a call. */
static bool leave_thunk(struct trace_synth *s, struct call_stack *c,
			const struct trace_place *place)
{
	bool is_inner = c->data[--c->nr].is_inner;

	if (is_ended_by(c, place->ip)) { /* it took its own return address off, and returned */
		c->nr--;
		return false;
	}
	jump(s, c, place);
	return is_inner && c->nr;
}

static void return_to_unknown(struct trace_synth *s, struct call_stack *c,
			      const struct trace_place *place)
{
	const struct function from = function_of(trace_exec_loc_of_last(s));
	struct function to;

	if (!c->nr) {
		c->cut = c->cut ? c->cut : UNW_STOP_TRACE_BEGIN;
		return;
	}
	to = function_of(trace_exec_loc_of_next(s, place));
	if (is_cut_in_user(c, c->nr - 1) && to.start != place->ip) {
		come_to_sure(s, c, c->nr, &to);
		return;
	}
	if (unwinds(s, c, &from)) {
		unwind_to(s, c, &to);
		return;
	}
	/* From a signal's handler to what ends it. */
	if (c->data[c->nr - 1].how == CALL_EVENT && !call_is_kernel(place->ip))
		return;
	give_up(c, UNW_STOP_TRACE_JUMP, call_is_kernel(place->ip));
}

/** @return whether it was a call. */
static bool leave_by_return(struct trace_synth *s, struct call_stack *c,
			    const struct trace_place *place)
{
	size_t found;

	if (trace_switches_stack(s)) {
		leave_for(s, c, place);
		return false;
	}
	if (is_ended_by(c, place->ip)) {
		c->nr--;
		return false;
	}
	if (is_thunk(s, c))
		return leave_thunk(s, c, place);
	if (find_call(c, place->ip, &found))
		c->nr = found;
	else
		return_to_unknown(s, c, place);
	return false;
}

/* --- from the kernel, and what interrupted --- */

/** Is the system call that ends at @p end the one that ends a signal's handler?
 * Spec: arch/x86/entry/syscalls/syscall_64.tbl, syscall_32.tbl, asm-generic/unistd.h (Linux). */
static bool is_sigreturn(struct trace_synth *s, const struct call *c)
{
	static const uint8_t x86[][7] = {
		{0xc7, 0xc0, 0x0f, 0, 0, 0,    0x0f}, /* mov $15,%rax; syscall */
		{0xb8, 0x0f, 0,    0, 0, 0x0f, 0x05}, /* mov $15,%eax; syscall */
		{0xb8, 0xad, 0,    0, 0, 0xcd, 0x80}, /* mov $173,%eax; int $0x80 */
		{0xb8, 0x77, 0,    0, 0, 0xcd, 0x80}, /* mov $119,%eax; int $0x80 */
	};
	uint64_t from = c->ret - sizeof(x86[0]);
	const uint8_t *b;

	if (!trace_synth_is_x86(s)) /* mov x8, #139; svc #0 */
		return flow_code_at(&s->code, c->space, c->ret - 8, &b) >= 8 &&
		       load_le32(b) == 0xd2801168;
	if (flow_code_at(&s->code, c->space, from - 1, &b) >= 8 && !memcmp(b, x86[0], 7))
		return true;
	if (flow_code_at(&s->code, c->space, from, &b) < 7)
		return false;
	for (size_t i = 1; i < sizeof(x86) / sizeof(*x86); i++) {
		if (!memcmp(b, x86[i], sizeof(x86[i])))
			return true;
	}
	return false;
}

/** Does execution continue where @p c says? System calls are begun again, and int $0x80 is said to
 * come at itself. */
static bool continues(struct trace_synth *s, const struct call *c, const struct trace_place *at)
{
	enum { LONGEST = 4 };

	if (c->ret == at->ip)
		return true;
	if (c->how == CALL_SYSTEM)
		return at->ip < c->ret && c->ret - at->ip <= LONGEST;
	return at->ip > c->ret && at->ip - c->ret <= LONGEST &&
	       trace_exec_is_syscall(s, at->space, at->isa, at->ip);
}

/** Is it in the function that was left at @p c? */
static bool is_in(struct trace_synth *s, const struct call *c, const struct trace_place *at)
{
	struct function there = function_of(trace_exec_loc_of_next(s, at));
	struct function here =
		function_at(s, c->space, c->how == CALL_SYSTEM ? c->ret - 1 : c->ret);

	return is_same(&here, &there) && there.start != at->ip;
}

/** The signal that the innermost handler before @p entry is of. */
static bool find_signal(const struct call_stack *c, size_t entry, size_t *ret)
{
	for (size_t i = entry; i-- > 0 && c->data[i].how != CALL_CUT;) {
		if (c->data[i].how != CALL_EVENT || call_is_kernel(c->data[i].ret))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static void end_signal(struct trace_synth *s, struct call_stack *c, size_t signal,
		       const struct trace_place *at)
{
	bool is_known = continues(s, &c->data[signal], at) || is_in(s, &c->data[signal], at);

	if (is_known)
		c->nr = signal;
	else
		call_stack_cut(c, UNW_STOP_TRACE_ELSEWHERE);
}

/** A handler begins, and the interrupted function continues after it. */
static void begin_signal(struct trace_synth *s, struct call_stack *c, size_t entry,
			 const struct trace_place *at)
{
	struct function to = function_of(trace_exec_loc_of_next(s, at));
	bool is_by_kernel = s->before != BEFORE_RAN || call_is_kernel(s->last.ip);

	if (!is_by_kernel || trace_exec_who(s)->may_be_exec || (to.sym && to.start != at->ip)) {
		call_stack_cut(c, UNW_STOP_TRACE_ELSEWHERE);
		return;
	}
	c->nr = entry + 1;
	c->data[entry].how = CALL_EVENT;
	c->data[entry].is_at_end = false;
}

/** The kernel returned to user mode, which it had been entered from at @p entry. */
static void return_to_user(struct trace_synth *s, struct call_stack *c, size_t entry,
			   const struct trace_place *at)
{
	const struct call *e = &c->data[entry];
	bool is_end = e->how == CALL_SYSTEM && is_sigreturn(s, e);
	size_t signal;

	if (continues(s, e, at) && !is_end)
		c->nr = entry;
	else if (e->how == CALL_SYSTEM && find_signal(c, entry, &signal) &&
		 (is_end || continues(s, &c->data[signal], at)))
		end_signal(s, c, signal, at);
	else if (is_end)
		call_stack_cut(c, UNW_STOP_TRACE_ELSEWHERE);
	else if (is_in(s, e, at))
		c->nr = entry;
	else
		begin_signal(s, c, entry, at);
}

/** An interrupt in the kernel ends. */
static void return_in_kernel(struct call_stack *c, const struct trace_place *to)
{
	size_t found;

	if (call_stack_find(c, to->ip, &found) && c->data[found].how != CALL_NEAR)
		c->nr = found;
	else
		call_stack_cut_kernel(c, UNW_STOP_TRACE_ELSEWHERE);
}

static void return_from_system(struct trace_synth *s, struct call_stack *c,
			       const struct trace_place *to)
{
	bool was_new = c->is_new;
	size_t entry;

	if (call_is_kernel(to->ip)) {
		return_in_kernel(c, to);
		return;
	}
	c->is_new = false;
	if (call_stack_entry(c, &entry))
		return_to_user(s, c, entry, to);
	else
		call_stack_cut(c, was_new ? UNW_STOP_NONE : UNW_STOP_TRACE_ELSEWHERE);
}

/* --- calls --- */

static enum call_how how_of(uint32_t flow)
{
	if (flow & ANA_FLOW_SYSCALL)
		return CALL_SYSTEM;
	return flow & (ANA_FLOW_INTERRUPT | ANA_FLOW_ASYNC) ? CALL_EVENT : CALL_NEAR;
}

static void push(struct trace_synth *s, struct call_stack *c, uint32_t flow, uint64_t to)
{
	const struct last_insn *l = &s->last;
	const struct call call = {
		.ret = l->end,
		.callee = to,
		.space = l->space,
		.how = (uint8_t)how_of(flow),
		.is_at_end = flow & ANA_FLOW_TRACE_END,
		.is_inner = c->nr && c->data[c->nr - 1].callee == l->start,
	};

	if (!call_stack_push(c, &call))
		s->events->err = CLEW_NO_MEMORY;
}

static bool is_return_from_system(uint32_t flow)
{
	return flow & ANA_FLOW_RETURN && flow & (ANA_FLOW_SYSCALL | ANA_FLOW_INTERRUPT);
}

/** @p flow: neither of a call nor a return. */
static void leave_otherwise(struct trace_synth *s, struct call_stack *c, uint32_t flow,
			    const struct trace_place *to)
{
	const struct last_insn *l = &s->last;

	if (flow & ANA_FLOW_TX_ABORT) {
		if (!call_stack_restore(c))
			s->events->err = CLEW_NO_MEMORY;
	} else if (!l->exception && trace_switches_stack(s)) {
		leave_for(s, c, to);
	} else if (!l->exception && l->kind == INSN_INDIRECT) {
		jump(s, c, to);
	}
}

/* --- the column of calls --- */

/* perf's: what is not proven to have ended is still counted. */

static bool count_return(struct trace_synth *s, struct call_stack *c, const struct trace_place *to)
{
	size_t found;

	if (call_stack_find(c, to->ip, &found))
		c->nr = found;
	else if (is_thunk(s, c))
		return c->data[--c->nr].is_inner && c->nr;
	return false;
}

/** Possibly after a return to there, and after calls that ended tracing. */
static void count_begin(struct trace_synth *s, struct call_stack *c, const struct trace_place *at)
{
	size_t found;

	if (s->before == BEFORE_NO_CODE && !trace_synth_is_x86(s))
		c->nr = 0;
	if (call_stack_find(c, at->ip, &found))
		c->nr = found;
	while (c->nr && c->data[c->nr - 1].is_at_end)
		c->nr--;
}

/* --- what is asked --- */

bool trace_leave_branch(struct trace_synth *s, struct call_stack *c, uint32_t flow,
			const struct trace_place *to)
{
	if (flow & ANA_FLOW_CALL) {
		if (s->last.end != to->ip || (s->last.exception && is_exact(s)))
			push(s, c, flow, to->ip);
		return false;
	}
	if (!is_exact(s))
		return flow & ANA_FLOW_RETURN && count_return(s, c, to);
	if (is_return_from_system(flow))
		return_from_system(s, c, to);
	else if (flow & ANA_FLOW_RETURN)
		return leave_by_return(s, c, to);
	else
		leave_otherwise(s, c, flow, to);
	return false;
}

void trace_leave_end(struct trace_synth *s, struct call_stack *c, uint32_t flow)
{
	if (!is_exact(s))
		return;
	if (flow & (ANA_FLOW_CALL | ANA_FLOW_ASYNC))
		push(s, c, flow, 0);
	else if (is_return_from_system(flow)) /* the kernel alone is traced */
		call_stack_clear(c);
}

/** In the middle of a function of user code: something called it. A new thread begins so, too,
 * after its system call, in clone(), which nothing called there. */
static bool is_called_before(struct trace_synth *s, const struct trace_place *at)
{
	struct function f;

	if (call_is_kernel(at->ip))
		return false;
	f = function_of(trace_exec_loc_of_next(s, at));
	return f.sym && f.start != at->ip &&
	       !(strstr(f.sym->link_name, "clone") &&
		 trace_exec_is_syscall(s, at->space, at->isa, at->ip));
}

void trace_leave_begin(struct trace_synth *s, struct call_stack *c, const struct trace_place *at)
{
	const struct call *top = c->nr ? &c->data[c->nr - 1] : NULL;
	bool has_begun = c->has_begun;
	size_t entry;

	c->has_begun = true;
	if (!is_exact(s)) {
		count_begin(s, c, at);
		return;
	}
	if (trace_exec_who(s)->tid == UINT32_MAX && s->events->opts.recorded) {
		call_stack_cut(c, has_begun ? UNW_STOP_TRACE_ELSEWHERE : UNW_STOP_NONE);
		return;
	}
	if (top && top->ret == at->ip && (top->how == CALL_NEAR || top->how == CALL_EVENT))
		c->nr--;
	else if (call_is_kernel(at->ip) && call_stack_entry(c, &entry))
		call_stack_cut_kernel(c, UNW_STOP_TRACE_ELSEWHERE);
	else if (top && top->how != CALL_NEAR && !is_cut_in_user(c, c->nr - 1) &&
		 call_stack_entry(c, &entry))
		return_to_user(s, c, entry, at);
	else if (top || (has_begun && !c->cut))
		call_stack_cut(c, UNW_STOP_TRACE_ELSEWHERE);
	else if (!has_begun && !c->cut && is_called_before(s, at))
		call_stack_cut(c, UNW_STOP_TRACE_BEGIN);
}
