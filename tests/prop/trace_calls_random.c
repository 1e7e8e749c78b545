/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map_u64.h"
#include "base/mem.h"
#include "isa/x86/x86_branch.h"
#include "make/splitmix.h"
#include "prop/seeds.h"
#include "trace/events/trace_events.h"
#include "trace/events/trace_events_impl.h"
#include "trace/pt_decoder.h"
#include "unit/tap.h"

/*
 * Random programs that call, return, jump into other functions, longjmp, throw, switch coroutines
 * and threads, take signals, abort transactions, lose trace and execute others: a model has the
 * calls that are live at each instruction. Of the chain that is made of the trace each frame must
 * be the model's, from the innermost on; where it ends before the model's does, it must be marked.
 */

enum {
	NR_FUNCTIONS = 12, /* ordinary ones, and then: */
	LONGJMP = NR_FUNCTIONS,
	UNWINDER,
	SWAP,
	THUNK,
	RESTORER,
	NR_ALL,
	FIRST = 0x100000,
	EACH = 0x1000,
	OUTSIDE = 0x900000,
	NR_THREADS = 3,
	NR_STACKS = 3,
	MAX_DEPTH = 40,
	NR_STEPS = 3000,
	NR_LOCS = NR_ALL * EACH,
};

struct stack {
	uint64_t rets[MAX_DEPTH + 8];
	bool is_signal[MAX_DEPTH + 8];
	uint32_t nr;
	uint64_t pc; /* while another one runs */
	bool is_used;
};

struct thread {
	struct stack stacks[NR_STACKS];
	uint32_t current, life;
	uint64_t pc; /* while another one runs */
};

struct truth {
	uint64_t rets[MAX_DEPTH + 8];
	uint32_t nr;
	const char *after;
};

struct model {
	struct trace_input trace;
	struct trace_unit unit;
	struct code_source code;
	uint8_t bytes[NR_ALL * EACH];
	struct dso_sym syms[NR_ALL];
	struct ana_loc locs[NR_LOCS];
	struct trace_events *events;
	struct thread threads[NR_THREADS], kept;
	uint32_t tid;
	uint64_t seed, pc;
	bool is_hidden, is_in_tx;
	uint32_t without; /* bits of what this program does not do */
	struct {
		VEC(struct truth);
	} truths; /* of each sample */
	size_t nr_checked;
	uint64_t nr_frames, nr_cut, nr_whole, nr_live;
	bool is_wrong;
	const char *after; /* what was done last */
};

static struct model m;
static const char *const names[NR_ALL] = {[LONGJMP] = "__longjmp",
					  [UNWINDER] = "_Unwind_RaiseException",
					  [SWAP] = "swapcontext",
					  [THUNK] = "__x86_indirect_thunk_rax",
					  [RESTORER] = "__restore_rt"};

/* --- the input --- */

static bool find_code(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	(void)ctx, (void)space;
	*ret = (struct code_region){FIRST, FIRST + sizeof(m.bytes), m.bytes};
	return addr >= FIRST && addr < FIRST + sizeof(m.bytes);
}

static const struct ana_loc *locate(struct trace_input *t, uint32_t space, uint64_t addr)
{
	static struct ana_loc outside;
	struct ana_loc *l;

	(void)t, (void)space;
	if (addr < FIRST || addr >= FIRST + NR_LOCS) {
		outside.ip = addr;
		return &outside;
	}
	l = &m.locs[addr - FIRST];
	*l = (struct ana_loc){.ip = addr,
			      .rel = addr,
			      .id = (uint32_t)(addr - FIRST),
			      .sym = &m.syms[(addr - FIRST) / EACH],
			      .dso = (const struct dso *)&m};
	return l;
}

static void thread_of(struct trace_input *t, size_t unit, const struct code_key *key,
		      struct trace_thread *ret)
{
	uint32_t tid = (uint32_t)key->context.x86.cr3 & 0xff;

	(void)t, (void)unit;
	*ret = (struct trace_thread){.pid = tid, .tid = tid, .comm = "x"};
	ret->life = key->context.x86.cr3 >> 8;
}

static const struct trace_input_ops ops = {.thread = thread_of,
					   .locate = locate,
					   .locate_caller = locate};

/* --- what is checked --- */

static void complain(const struct truth *t, const struct ana_event *e)
{
	char text[2000];
	size_t nr = 0;

	m.is_wrong = true;
	for (uint32_t i = 0; i < e->chain->nr && nr < 800; i++)
		nr += (size_t)snprintf(text + nr, sizeof(text) - nr, " %llx",
				       (unsigned long long)e->chain->locs[i]->ip);
	nr += (size_t)snprintf(text + nr, sizeof(text) - nr, " (stop %u), but it is",
			       e->has_user_state ? e->user_stop : 0);
	for (uint32_t i = 0; i < t->nr && nr < 1900; i++)
		nr += (size_t)snprintf(text + nr, sizeof(text) - nr, " %llx",
				       (unsigned long long)t->rets[i]);
	printf("# instruction %zu, after %s: %s\n", m.nr_checked, t->after, text);
}

static void check(const struct ana_event *e)
{
	const struct truth *t = &m.truths.data[m.nr_checked++];
	uint32_t nr = e->chain->nr - 1;
	bool is_cut = e->has_user_state && e->user_state == STITCH_PARTIAL;
	bool is_true = nr <= t->nr && (nr == t->nr || is_cut);

	for (uint32_t i = 0; is_true && i < nr; i++)
		is_true = e->chain->locs[i + 1]->ip == t->rets[i];
	m.nr_frames += nr;
	m.nr_live += t->nr;
	m.nr_cut += is_cut;
	m.nr_whole += !is_cut;
	if (!is_true && !m.is_wrong)
		complain(t, e);
}

static enum clew_err take(void *ctx, const struct ana_batch *b)
{
	(void)ctx;
	for (size_t i = 0; i < b->nr; i++) {
		if (m.nr_checked < m.truths.nr)
			check(&b->events[i]);
	}
	return CLEW_OK;
}

/* --- the trace --- */

static uint32_t below(uint32_t n)
{
	return splitmix_below(&m.seed, n);
}

static struct thread *thread(void)
{
	return &m.threads[m.tid];
}

static struct stack *stack(void)
{
	return &thread()->stacks[thread()->current];
}

static void give(uint32_t item, const struct flow_block *block, const struct flow_event *e)
{
	const struct flow_batch b = {
		.items = &item, .nr = 1, .blocks = block, .events = e, .epoch = 0};

	trace_synth_batch(&m.events->synths[0], &b);
}

static void event(struct flow_event e)
{
	if (!m.is_hidden)
		give(FLOW_ITEM_EVENT, NULL, &e);
}

/** One instruction at m.pc, which goes to @p to; of @p bytes. */
static void block(uint32_t bytes, uint8_t kind, uint8_t flags, uint8_t detail)
{
	const struct flow_block b = {.start = m.pc,
				     .bytes = bytes,
				     .nr_insns = 1,
				     .isa = ISA_X86_64,
				     .kind = kind,
				     .flags = flags,
				     .detail = detail,
				     .last_bytes = 1};
	struct truth t = {.nr = stack()->nr, .after = m.after};

	for (uint32_t i = 0; i < t.nr; i++)
		t.rets[i] = stack()->rets[t.nr - 1 - i];
	if (m.is_hidden)
		return;
	vec_push(&m.truths, t);
	give(1, &b, NULL); /* the number of a block that is another each time: a new epoch */
	m.events->synths[0].has_epoch = false;
}

static void context(void)
{
	struct flow_event e = {.kind = FLOW_EV_CONTEXT};

	e.context.arch = CODE_X86;
	e.context.x86.has_cr3 = true;
	e.context.x86.cr3 = (uint64_t)thread()->life << 8 | (m.tid + 1);
	event(e);
}

static void trace_on(void)
{
	event((struct flow_event){
		.kind = FLOW_EV_TRACE_ON, .is_target = true, .isa = ISA_X86_64, .address = m.pc});
}

/** By the kernel, at m.pc. */
static void trace_off(void)
{
	event((struct flow_event){.kind = FLOW_EV_TRACE_OFF,
				  .cause = FLOW_CAUSE_ASYNC,
				  .has_end = true,
				  .end = m.pc});
}

/* --- programs --- */

static uint64_t begin_of(uint32_t function)
{
	return FIRST + (uint64_t)function * EACH;
}

static uint64_t function_begin(uint64_t pc)
{
	return pc - (pc - FIRST) % EACH;
}

/** Few different places, so that return addresses are often alike. */
static uint64_t somewhere_in(uint64_t pc)
{
	return function_begin(pc) + 0x100 + 0x10 * below(8);
}

static void push(uint64_t ret, bool is_signal)
{
	struct stack *s = stack();

	s->rets[s->nr] = ret;
	s->is_signal[s->nr++] = is_signal;
}

/** Within a function. */
static void go(uint64_t to)
{
	block(2, INSN_COND, 0, 0);
	m.pc = to;
}

static void call(uint64_t to, bool is_indirect)
{
	uint64_t ret;

	if (m.pc % EACH == 0)
		go(somewhere_in(m.pc));
	ret = m.pc + 5;
	block(5, is_indirect ? INSN_INDIRECT : INSN_BRANCH, INSN_LINK, 0);
	push(ret, false);
	m.pc = to;
}

static void do_call(void)
{
	if (stack()->nr < MAX_DEPTH)
		call(begin_of(below(NR_FUNCTIONS)), below(2));
}

static void end_signal(void);

static void do_return(void)
{
	struct stack *s = stack();

	if (!s->nr || (m.is_in_tx && s->rets[s->nr - 1] >= OUTSIDE))
		return;
	if (s->is_signal[s->nr - 1]) {
		end_signal();
		return;
	}
	block(1, INSN_INDIRECT, INSN_RET, 0);
	m.pc = s->rets[--s->nr];
	if (m.pc < OUTSIDE)
		return;
	event((struct flow_event){.kind = FLOW_EV_TRACE_OFF,
				  .cause = FLOW_CAUSE_OTHER,
				  .is_target = true,
				  .address = m.pc});
	m.pc = s->rets[--s->nr];
	trace_on();
}

static void do_tail_call(void)
{
	block(5, below(2) ? INSN_BRANCH : INSN_INDIRECT, 0, 0);
	m.pc = begin_of(below(NR_FUNCTIONS));
}

static void do_local(void)
{
	block(2, below(2) ? INSN_COND : INSN_INDIRECT, 0, 0);
	m.pc = somewhere_in(m.pc);
}

/** From a function of its own, which was called, to the middle of one that is live. */
static void unwind(uint32_t by, uint8_t flags)
{
	struct stack *s = stack();
	uint32_t to = s->nr;

	if (s->nr >= MAX_DEPTH || m.is_in_tx)
		return;
	call(begin_of(by), false);
	to = below(s->nr);
	go(begin_of(by) + 0x20); /* mov %rsi,%rsp; and what ends it */
	block(4, INSN_INDIRECT, flags, 0);
	while (s->rets[to] >= OUTSIDE)
		to--; /* below it is what called there */
	s->nr = to;
	m.pc = somewhere_in(s->rets[to]);
}

static void do_longjmp(void)
{
	unwind(LONGJMP, 0);
}

static void do_throw(void)
{
	unwind(UNWINDER, INSN_RET);
}

static void do_swap(void)
{
	struct thread *t = thread();

	if (stack()->nr >= MAX_DEPTH || m.is_in_tx)
		return;
	call(begin_of(SWAP), false);
	go(begin_of(SWAP) + 0x20);
	block(4, INSN_INDIRECT, INSN_RET, 0);
	stack()->pc = stack()->rets[stack()->nr - 1];
	stack()->nr--;
	t->current = below(NR_STACKS);
	if (!stack()->is_used)
		*stack() = (struct stack){.pc = begin_of(below(NR_FUNCTIONS)), .is_used = true};
	m.pc = stack()->pc;
}

static void do_retpoline(void)
{
	struct stack *s = stack();

	if (s->nr >= MAX_DEPTH)
		return;
	call(begin_of(THUNK), false);
	block(5, INSN_BRANCH, INSN_LINK, 0);
	m.pc = begin_of(THUNK) +
	       0x10; /* mov %rax,(%rsp); ret. The place in the thunk is no frame */
	block(5, INSN_INDIRECT, INSN_RET, 0);
	m.pc = begin_of(below(NR_FUNCTIONS));
}

/** push; ret */
static void do_return_as_jump(void)
{
	block(1, INSN_INDIRECT, INSN_RET, 0);
	m.pc = begin_of(below(NR_FUNCTIONS));
}

static void do_interrupt(void)
{
	if (m.is_in_tx)
		return;
	trace_off();
	trace_on();
}

static void do_signal(void)
{
	uint64_t handler = begin_of(below(NR_FUNCTIONS));

	/* A handler that interrupts its own first instruction looks like no signal. */
	if (stack()->nr >= MAX_DEPTH || m.is_in_tx || m.pc == handler)
		return;
	trace_off();
	push(m.pc, true);
	m.pc = handler;
	trace_on();
}

static void end_signal(void)
{
	struct stack *s = stack();

	if (m.is_in_tx)
		return;
	block(1, INSN_INDIRECT, INSN_RET, 0);
	m.pc = begin_of(RESTORER);
	block(9, INSN_FAR, 0, X86_SYSCALL);
	event((struct flow_event){.kind = FLOW_EV_TRACE_OFF, .cause = FLOW_CAUSE_OTHER});
	m.pc = s->rets[--s->nr];
	trace_on();
}

static void do_syscall(void)
{
	if (m.is_in_tx)
		return;
	block(2, INSN_FAR, 0, X86_SYSCALL);
	event((struct flow_event){.kind = FLOW_EV_TRACE_OFF, .cause = FLOW_CAUSE_OTHER});
	m.pc += 2;
	trace_on();
}

static void do_switch(void)
{
	if (m.is_in_tx)
		return;
	trace_off();
	thread()->pc = m.pc;
	m.tid = below(NR_THREADS);
	m.pc = thread()->pc;
	context();
	trace_on();
}

/** Another program, or another thread of that id. */
static void do_exec(void)
{
	if (m.is_in_tx || below(8))
		return;
	block(2, INSN_FAR, 0, X86_SYSCALL);
	event((struct flow_event){.kind = FLOW_EV_TRACE_OFF, .cause = FLOW_CAUSE_OTHER});
	*thread() = (struct thread){.life = thread()->life + 1};
	stack()->is_used = true;
	m.pc = begin_of(below(NR_FUNCTIONS));
	context();
	trace_on();
}

static void step(void);

static void run_hidden(void)
{
	bool was_hidden = m.is_hidden;

	m.is_hidden = true;
	for (uint32_t i = 1 + below(12); i-- > 0;)
		step();
	m.is_hidden = was_hidden;
}

static void do_overflow(void)
{
	if (m.is_in_tx || m.is_hidden || below(6))
		return;
	event((struct flow_event){.kind = FLOW_EV_NO_SYNC, .reason = FLOW_NO_SYNC_OVERFLOW});
	run_hidden();
	context();
	trace_on();
}

/** A call to what is not traced, which returns, or calls back, or unwinds. */
static void do_outside(void)
{
	struct stack *s = stack();

	if (m.is_in_tx || m.is_hidden || s->nr >= MAX_DEPTH)
		return;
	call(OUTSIDE, false);
	event((struct flow_event){.kind = FLOW_EV_TRACE_OFF,
				  .cause = FLOW_CAUSE_OTHER,
				  .is_target = true,
				  .address = OUTSIDE});
	if (below(3)) {
		m.pc = s->rets[--s->nr];
	} else if (below(2)) {
		push(OUTSIDE + 5, false);
		m.pc = begin_of(below(NR_FUNCTIONS));
	} else {
		s->nr = below(s->nr);
		while (s->rets[s->nr] >= OUTSIDE)
			s->nr--;
		m.pc = somewhere_in(s->rets[s->nr]) + 8;
	}
	trace_on();
}

/** Calls in it, or returns, are undone. */
static void do_transaction(void)
{
	uint64_t fallback = somewhere_in(m.pc);

	if (m.is_in_tx || m.is_hidden)
		return;
	m.kept = *thread();
	m.is_in_tx = true;
	event((struct flow_event){.kind = FLOW_EV_TRANSACTION, .number = FLOW_TRANS_INIT});
	for (uint32_t i = below(10); i-- > 0;)
		step();
	m.is_in_tx = false;
	if (below(2)) {
		event((struct flow_event){.kind = FLOW_EV_TRANSACTION,
					  .number = FLOW_TRANS_COMMITTED});
		return;
	}
	event((struct flow_event){.kind = FLOW_EV_TRANSACTION, .number = FLOW_TRANS_FAILED});
	event((struct flow_event){.kind = FLOW_EV_EXCEPTION,
				  .cause = FLOW_CAUSE_ASYNC,
				  .has_end = true,
				  .address = m.pc});
	*thread() = m.kept;
	m.pc = fallback;
}

static void step(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
		uint32_t weight;
	} all[] = {
		{"a call",                  do_call,           40},
		{"a return",                do_return,         30},
		{"a tail call",             do_tail_call,      6 },
		{"a local jump",            do_local,          8 },
		{"longjmp",                 do_longjmp,        3 },
		{"an exception",            do_throw,          2 },
		{"another coroutine",       do_swap,           2 },
		{"a retpoline",             do_retpoline,      4 },
		{"a return as jump",        do_return_as_jump, 1 },
		{"an interrupt",            do_interrupt,      3 },
		{"a signal",                do_signal,         3 },
		{"a system call",           do_syscall,        3 },
		{"another thread",          do_switch,         3 },
		{"exec",                    do_exec,           3 },
		{"an overflow",             do_overflow,       3 },
		{"code that is not traced", do_outside,        3 },
		{"a transaction",           do_transaction,    2 },
	};
	enum { NR_OPS = sizeof(all) / sizeof(*all) };
	uint32_t sum = 0, at;
	size_t i = 0;

	for (size_t k = 0; k < NR_OPS; k++)
		sum += m.without >> k & 1 ? 0 : all[k].weight;
	for (at = below(sum); m.without >> i & 1 || at >= all[i].weight; i++)
		at -= m.without >> i & 1 ? 0 : all[i].weight;
	all[i].run();
	m.after = all[i].name;
}

static void begin_program(uint64_t seed)
{
	m.seed = seed;
	m.tid = 0;
	m.is_hidden = m.is_in_tx = m.is_wrong = false;
	m.truths.nr = m.nr_checked = 0;
	m.after = "the begin";
	m.without = (uint32_t)splitmix64(&m.seed) & ~7u; /* all call and return */
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		m.threads[i] = (struct thread){.pc = begin_of(i)};
		m.threads[i].stacks[0].is_used = true;
	}
	m.pc = thread()->pc;
}

static bool try_one(void *ctx, uint64_t seed)
{
	const struct ana_consumer consumer = {take, NULL};
	struct trace_events_opts opts = {.nr_threads = 1};
	const char *at, *why;

	(void)ctx;
	itrace_opts_parse(&opts.itrace, "i1ig64", &at, &why);
	begin_program(seed);
	if (trace_events_new(&m.events, &m.trace, &opts, NULL) != CLEW_OK)
		return false;
	m.events->consumer = &consumer;
	context();
	trace_on();
	for (uint32_t i = 0; i < NR_STEPS && !m.is_wrong; i++)
		step();
	trace_emit_flush(m.events);
	if (m.nr_checked != m.truths.nr && !m.is_wrong) {
		printf("# %zu of %zu instructions are samples\n", m.nr_checked, m.truths.nr);
		m.is_wrong = true;
	}
	trace_events_free(m.events);
	if (m.is_wrong)
		printf("# seed %llu\n", (unsigned long long)seed);
	return !m.is_wrong;
}

static void put_code(uint64_t at, const char *bytes, size_t nr)
{
	memcpy(m.bytes + (at - FIRST), bytes, nr);
}

static void make_code(void)
{
	memset(m.bytes, 0x90, sizeof(m.bytes));
	put_code(begin_of(LONGJMP) + 0x20, "\x48\x89\xf4\xc3", 4);
	put_code(begin_of(UNWINDER) + 0x20, "\x48\x89\xcc\xc3", 4);
	put_code(begin_of(SWAP) + 0x20, "\x48\x8b\x22\xc3", 4);
	put_code(begin_of(THUNK) + 0x10, "\x48\x89\x04\x24\xc3", 5);
	put_code(begin_of(RESTORER), "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	for (uint32_t i = 0; i < NR_ALL; i++)
		m.syms[i] = (struct dso_sym){begin_of(i), begin_of(i) + EACH,
					     names[i] ? names[i] : "f", names[i] ? names[i] : "f"};
}

int main(int argc, char **argv)
{
	struct seeds r;

	if (!x86_can_decode()) {
		SKIP_ALL("built without Zydis");
		return 0;
	}
	make_code();
	m.code = (struct code_source){.find = find_code};
	m.unit = (struct trace_unit){.tid = UINT32_MAX,
				     .name = "PT",
				     .is_decodable = true,
				     .decoder = &pt_decoder,
				     .code = &m.code};
	m.trace = (struct trace_input){.units = &m.unit, .nr_units = 1, .ops = &ops};
	r = seeds_try(argc, argv, 3, try_one, NULL);
	CHECK(!r.nr_wrong, "no frame of %llu programs is wrong, and no cut is without a mark",
	      (unsigned long long)r.done);
	CHECK(m.nr_whole > 0 && m.nr_cut > 0 && 4 * m.nr_frames > m.nr_live,
	      "and not all is cut: %llu whole, %llu cut; %llu frames of %llu",
	      (unsigned long long)m.nr_whole, (unsigned long long)m.nr_cut,
	      (unsigned long long)m.nr_frames, (unsigned long long)m.nr_live);
	vec_done(&m.truths);
	return tap_done();
}
