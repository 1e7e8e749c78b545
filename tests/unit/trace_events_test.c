/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_events.h"

#include "base/buf.h"
#include "tap.h"
#include "trace/etm_decoder.h"
#include "trace/events/trace_events_impl.h"

/*
 * Batches by hand into the synthesis, events out as one line each:
 * "b FROM TO FLOW tid/time depth" or "i IP PERIOD tid [chain, < at callers] [<from>to ...]" or "e
 * CODE".
 */
enum { SVC = 0xd4000001, BASE = 0x1000, CODE_BYTES = 0x2000, NR_LOCS = 4096, MAX = 64 };

struct fake {
	struct trace_input trace;
	struct trace_unit unit;
	struct code_source code;
	uint8_t bytes[CODE_BYTES];
	struct ana_loc locs[NR_LOCS];
	size_t nr_locs;
	struct buf out;
	struct flow_block blocks[MAX];
	struct flow_event events[MAX];
	uint32_t items[MAX];
	size_t nr_blocks, nr_events, nr_items;
	bool has_no_times;
};

static struct fake f;

static bool find_code(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	(void)ctx, (void)space;
	*ret = (struct code_region){BASE, BASE + CODE_BYTES, f.bytes};
	return addr >= BASE && addr < BASE + CODE_BYTES;
}

static const struct ana_loc *locate_as(uint64_t addr, bool is_return)
{
	for (size_t i = 0; i < f.nr_locs; i++) {
		if (f.locs[i].ip == addr && f.locs[i].is_return == is_return)
			return &f.locs[i];
	}
	f.locs[f.nr_locs] = (struct ana_loc){.ip = addr,
					     .rel = addr,
					     .id = (uint32_t)f.nr_locs,
					     .level = ANA_USER,
					     .is_return = is_return};
	return &f.locs[f.nr_locs++];
}

static const struct ana_loc *locate(struct trace_input *t, uint32_t space, uint64_t addr)
{
	(void)t, (void)space;
	return locate_as(addr, false);
}

static const struct ana_loc *locate_caller(struct trace_input *t, uint32_t space, uint64_t addr)
{
	(void)t, (void)space;
	return locate_as(addr, true);
}

/* The context is the thread. */
static void thread_of(struct trace_input *t, size_t unit, const struct code_key *key,
		      struct trace_thread *ret)
{
	(void)t, (void)unit;
	*ret = (struct trace_thread){key->context.arm.cid, key->context.arm.cid, "comm"};
}

static bool time_of(struct trace_input *t, size_t unit, struct clew_ticks ticks,
		    struct clew_perf_ns *ret)
{
	(void)t, (void)unit;
	ret->ns = ticks.ticks * 10;
	return !f.has_no_times;
}

/* Only that some of the trace was lost. */
static enum clew_err run(struct trace_input *t, const struct trace_sink *sink,
			 struct clew_diag *diag)
{
	(void)t, (void)diag;
	return trace_warn(&sink->listener, "lost", 0, 0);
}

static const struct trace_input_ops ops = {.run = run,
					   .thread = thread_of,
					   .time = time_of,
					   .locate = locate,
					   .locate_caller = locate_caller};

static enum clew_err take(void *ctx, const struct ana_batch *b)
{
	(void)ctx;
	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (!e->sample) {
			buf_printf(&f.out, "e %u %llx %d\n", e->synth->error_code,
				   (unsigned long long)e->synth->error_ip, (int)e->tid);
			continue;
		}
		if (e->evsel->attr.config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
			buf_printf(&f.out, "b %llx %llx %x", (unsigned long long)e->sample->ip,
				   (unsigned long long)e->sample->addr, e->synth->flow);
		else
			buf_printf(&f.out, "i %llx %llu", (unsigned long long)e->sample->ip,
				   (unsigned long long)e->period);
		buf_printf(&f.out, " %d/%lld %u", (int)e->tid, (long long)e->time.ns,
			   e->synth->depth);
		for (uint32_t k = 0; e->chain && k < e->chain->nr; k++)
			buf_printf(&f.out, " %llx%s", (unsigned long long)e->chain->locs[k]->ip,
				   e->chain->locs[k]->is_return ? "<" : "");
		for (uint32_t k = 0; k < e->sample->branches.nr; k++) {
			struct perf_branch br = perf_branch_get(e->sample, k);

			buf_printf(&f.out, " <%llx>%llx", (unsigned long long)br.from,
				   (unsigned long long)br.to);
		}
		if (e->synth->nr_cycles)
			buf_printf(&f.out, " %llu/%llu", (unsigned long long)e->synth->nr_insns,
				   (unsigned long long)e->synth->nr_cycles);
		buf_char(&f.out, '\n');
	}
	return CLEW_OK;
}

static void word_at(uint64_t addr, uint32_t word)
{
	memcpy(f.bytes + (addr - BASE), &word, sizeof(word));
}

static void block(uint64_t start, uint32_t nr, uint8_t kind, uint8_t flags, uint64_t target,
		  bool is_e)
{
	f.blocks[f.nr_blocks] = (struct flow_block){.start = start,
						    .bytes = 4 * nr,
						    .nr_insns = (uint16_t)nr,
						    .kind = kind,
						    .flags = flags,
						    .target = target,
						    .last_bytes = 4};
	f.items[f.nr_items++] = (uint32_t)(f.nr_blocks++ << 1 | is_e);
}

static void event(const struct flow_event *e)
{
	f.items[f.nr_items++] = FLOW_ITEM_EVENT | (uint32_t)f.nr_events;
	f.events[f.nr_events++] = *e;
}

static void context(uint32_t tid)
{
	event(&(struct flow_event){
		.kind = FLOW_EV_CONTEXT, .context.arm = {.cid = tid, .has_cid = true}
        });
}

static void no_sync(enum flow_no_sync reason)
{
	event(&(struct flow_event){.kind = FLOW_EV_NO_SYNC, .reason = (uint8_t)reason});
}

static void trace_on(void)
{
	event(&(struct flow_event){.kind = FLOW_EV_TRACE_ON});
}

static void begin(void)
{
	f.nr_blocks = f.nr_events = f.nr_items = 0;
	no_sync(FLOW_NO_SYNC_INIT);
	trace_on();
	context(7);
}

static void check_as(const char *itrace, bool is_as_perf, const char *want, const char *what)
{
	struct trace_events_opts opts = {
		.wants_addr = true, .wants_depth = true, .is_as_perf = is_as_perf};
	const struct ana_consumer consumer = {take, NULL};
	struct flow_batch b = {.items = f.items, .blocks = f.blocks, .events = f.events};
	struct trace_events *e = NULL;
	const char *at, *why;

	itrace_opts_parse(&opts.itrace, itrace, &at, &why);
	buf_clear(&f.out);
	if (trace_events_new(&e, &f.trace, &opts, NULL) == CLEW_OK) {
		e->consumer = &consumer;
		b.nr = 1; /* one item a batch: what is known has to last */
		for (size_t i = 0; i < f.nr_items; i++, b.items++)
			trace_synth_batch(&e->synths[0], &b);
		trace_emit_flush(e);
	}
	CHECK_STR(buf_cstr(&f.out), want, "%s (%s)", what, itrace);
	trace_events_free(e);
}

static void check(const char *itrace, const char *want, const char *what)
{
	check_as(itrace, false, want, what);
}

static void branches(void)
{
	begin();
	block(0x1000, 2, INSN_BRANCH, 0, 0x100c, true);
	block(0x100c, 3, INSN_COND, 0, 0x1100, false);
	block(0x1018, 1, INSN_BRANCH, INSN_LINK, 0x1040, true);
	block(0x1040, 2, INSN_INDIRECT, 0, 0, true);
	block(0x1060, 1, INSN_INDIRECT, INSN_RET, 0, true);
	block(0x101c, 1, INSN_ISB, 0, 0, true);
	block(0x1020, 1, INSN_COND, 0, 0x1000, true);
	block(0x1000, 2, INSN_BRANCH, 0, 0x100c, true);
	trace_on();
	event(&(struct flow_event){.kind = FLOW_EV_END});
	check("b",
	      "b 0 1000 101 7/-1 0\n"
	      "b 1004 100c 1 7/-1 0\n"
	      "b 1018 1040 3 7/-1 1\n"
	      "b 1044 1060 10001 7/-1 1\n"
	      "b 1060 101c 5 7/-1 0\n"
	      "b 1020 1000 9 7/-1 0\n"
	      "b 1004 0 201 7/-1 0\n",
	      "branches taken, the trace's begin and end");
	check("c", "b 1018 1040 3 7/-1 1\nb 1004 0 201 7/-1 0\n", "calls");
	check("r", "b 0 1000 101 7/-1 0\nb 1060 101c 5 7/-1 0\n", "returns");
	check("bs5", "b 1020 1000 9 7/-1 0\nb 1004 0 201 7/-1 0\n", "five skipped");
	check("i5i",
	      "i 1014 5 7/-1 0\n"
	      "i 101c 5 7/-1 0\n",
	      "every fifth instruction");
	check("i5il2",
	      "i 1014 5 7/-1 0 <1004>100c\n"
	      "i 101c 5 7/-1 0 <1060>101c <1044>1060\n"
	      "i 1004 3 7/-1 0 <1020>1000 <1060>101c\n",
	      "with last branches, and what is left at the end of the trace");
	check("i7ig", "i 1040 7 7/-1 1 1040 101c<\n", "with the call chain");
	check_as("i7ig", true, "i 1040 7 7/-1 1 1040 101c\n", "callers as perf looks them up");
}

static void exceptions(void)
{
	struct flow_event svc = {
		.kind = FLOW_EV_EXCEPTION, .cause = FLOW_CAUSE_CALL, .address = 0x1008};
	struct flow_event irq = {
		.kind = FLOW_EV_EXCEPTION, .cause = FLOW_CAUSE_ASYNC, .address = 0x1104};
	struct flow_event fault = {.kind = FLOW_EV_EXCEPTION, .address = 0x1200};
	struct flow_event to_svc = {
		.kind = FLOW_EV_RANGE, .address = 0x1000, .end = 0x1008, .count = 2};
	struct flow_event to_irq = {
		.kind = FLOW_EV_RANGE, .address = 0x1100, .end = 0x1104, .count = 1};

	word_at(0x1004, SVC);
	begin();
	event(&to_svc);
	event(&svc);
	block(0x1800, 1, INSN_INDIRECT, INSN_ERET, 0, true);
	block(0x1008, 1, INSN_BRANCH, 0, 0x1100, true);
	event(&to_irq);
	event(&irq);
	block(0x1900, 1, INSN_INDIRECT, INSN_ERET, 0, true);
	block(0x1104, 1, INSN_BRANCH, 0, 0x1200, true);
	event(&fault);
	trace_on();
	check("b",
	      "b 0 1000 101 7/-1 0\n"
	      "b 1004 1800 13 7/-1 1\n"
	      "b 1800 1008 15 7/-1 0\n"
	      "b 1008 1100 1 7/-1 0\n"
	      "b 1100 1900 63 7/-1 1\n"
	      "b 1900 1104 45 7/-1 0\n"
	      "b 1104 1200 1 7/-1 0\n"
	      "b 1200 0 243 7/-1 0\n",
	      "a system call and back, an interrupt and back, a fault at a branch's target");
	check("i3ig",
	      "i 1800 3 7/-1 1 1800 1008<\n"
	      "i 1900 3 7/-1 1 1900 1104\n",
	      "callers: after a system call, and what was interrupted");
}

static void threads_and_times(void)
{
	begin();
	event(&(struct flow_event){.kind = FLOW_EV_TIMESTAMP, .value = 100});
	block(0x1000, 1, INSN_BRANCH, INSN_LINK, 0x1100, true);
	context(8);
	event(&(struct flow_event){.kind = FLOW_EV_TIMESTAMP, .value = 200});
	block(0x1100, 4, INSN_BRANCH, 0, 0x1200, true);
	event(&(struct flow_event){.kind = FLOW_EV_CYCLES, .has_count = true, .count = 10});
	block(0x1200, 1, INSN_BRANCH, 0, 0x1300, true);
	event(&(struct flow_event){.kind = FLOW_EV_TIMESTAMP, .value = 201});
	block(0x1300, 1, INSN_BRANCH, 0, 0x1000, true);
	block(0x1000, 1, INSN_BRANCH, INSN_LINK, 0x1100, true);
	check("b",
	      "b 0 1000 101 7/1000 0\n"
	      "b 1000 1100 3 7/1000 1\n"
	      "b 110c 1200 1 8/2000 0 5/10\n"
	      "b 1200 1300 1 8/2000 0\n"
	      "b 1300 1000 1 8/2010 0\n",
	      "a branch into another context is of the old one; cycles");
	check("bZ",
	      "b 0 1000 101 7/-1 0\n"
	      "b 1000 1100 3 7/-1 1\n"
	      "b 110c 1200 1 8/-1 0 5/10\n"
	      "b 1200 1300 1 8/-1 0\n"
	      "b 1300 1000 1 8/-1 0\n",
	      "without times");
	check("i1us", "i 1000 1 7/1000 0\ni 1100 1 8/2000 0\n", "one a microsecond");
}

/* An AUX record's flags are of no unit, nor of what any of them ran last. */
static void trouble(void)
{
	struct trace_events_opts opts = {.itrace.errors = true};
	const struct ana_consumer consumer = {take, NULL};
	struct trace_events *e = NULL;

	buf_clear(&f.out);
	if (trace_events_new(&e, &f.trace, &opts, NULL) == CLEW_OK)
		trace_events_run(e, &consumer, NULL);
	CHECK_STR(buf_cstr(&f.out), "e 8 0 -1\n", "lost trace is of no unit");
	trace_events_free(e);
}

/* What ran before the first timestamp counts, too. */
static void ticks_without_times(void)
{
	begin();
	block(0x1000, 8, INSN_BRANCH, 0, 0x1100, true);
	event(&(struct flow_event){.kind = FLOW_EV_TIMESTAMP, .value = 100});
	block(0x1100, 8, INSN_BRANCH, 0, 0x1200, true);
	f.has_no_times = true;
	check("i5ns", "i 1010 5 7/-1 0\ni 1104 5 7/-1 0\ni 1118 5 7/-1 0\n",
	      "an unknown clock: by count from the first instruction on");
	f.has_no_times = false;
}

static void gaps(void)
{
	begin();
	block(0x1000, 1, INSN_BRANCH, INSN_LINK, 0x9000, true);
	event(&(struct flow_event){.kind = FLOW_EV_NACC, .address = 0x9000});
	block(0x1100, 1, INSN_BRANCH, 0, 0x1200, true);
	no_sync(FLOW_NO_SYNC_OVERFLOW);
	trace_on();
	block(0x1200, 1, INSN_COND, 0, 0x1300, false);
	no_sync(FLOW_NO_SYNC_BAD_IMAGE);
	block(0x1400, 1, INSN_BRANCH, 0, 0x1500, true);
	no_sync(FLOW_NO_SYNC_RESET);
	check("be",
	      "b 0 1000 101 7/-1 0\n"
	      "b 1000 9000 3 7/-1 1\n"
	      "e 5 9000 7\n"
	      "b 0 1100 101 7/-1 0\n"
	      "b 1100 0 201 7/-1 0\n"
	      "e 7 0 7\n"
	      "b 0 1200 101 7/-1 0\n"
	      "b 1200 0 209 7/-1 0\n"
	      "e 6 0 7\n"
	      "b 0 1400 101 7/-1 0\n"
	      "b 1400 0 201 7/-1 0\n",
	      "gaps end what was executed, then it begins again; each has its reason");
	check("e-o", "e 5 9000 7\ne 6 0 7\n", "errors but for overflows");
}

static void unseen_code(void)
{
	begin();
	block(0x1000, 1, INSN_BRANCH, 0, 0x1100, true);
	event(&(struct flow_event){.kind = FLOW_EV_NO_PATH,
				   .address = 0x1100,
				   .end = 0x1200,
				   .has_count = true,
				   .count = 8});
	block(0x1200, 3, INSN_BRANCH, 0, 0x1000, true);
	check("b",
	      "b 0 1000 101 7/-1 0\n"
	      "b 1000 1100 1 7/-1 0\n"
	      "b 0 1200 101 7/-1 0\n",
	      "code without a path (Q)");
	check("i5i", "i 1200 5 7/-1 0\n", "counts, and is no sample");
	check("i1i", "i 1000 1 7/-1 0\ni 1200 1 7/-1 0\ni 1204 1 7/-1 0\ni 1208 1 7/-1 0\n",
	      "each instruction that is known");
}

/* Instructions of two and four bytes. */
static void t32(void)
{
	static const uint8_t code[] = {0x00, 0xbf, 0xaf, 0xf3, 0x00, 0x80, 0x70, 0x47};

	memcpy(f.bytes + 0x800, code, sizeof(code));
	begin();
	block(0x1800, 2, INSN_INDIRECT, INSN_RET, 0, true);
	f.blocks[0].nr_insns = 3;
	f.blocks[0].last_bytes = 2;
	f.blocks[0].isa = ISA_T32;
	block(0x1800, 2, INSN_INDIRECT, INSN_RET, 0, true);
	f.blocks[1] = f.blocks[0];
	check("b", "b 0 1800 101 7/-1 0\nb 1806 1800 5 7/-1 0\n", "T32: the branch's address");
	check("i1i",
	      "i 1800 1 7/-1 0\ni 1802 1 7/-1 0\ni 1806 1 7/-1 0\n"
	      "i 1800 1 7/-1 0\ni 1802 1 7/-1 0\ni 1806 1 7/-1 0\n",
	      "T32: each instruction's address");
}

int main(void)
{
	f.code = (struct code_source){.find = find_code};
	f.unit = (struct trace_unit){
		.tid = UINT32_MAX, .name = "ETM", .is_decodable = true, .decoder = &etm_decoder};
	f.unit.code = &f.code;
	f.trace = (struct trace_input){.units = &f.unit, .nr_units = 1, .ops = &ops};
	branches();
	exceptions();
	gaps();
	unseen_code();
	t32();
	f.unit.has_timestamps = true;
	threads_and_times();
	trouble();
	ticks_without_times();
	buf_done(&f.out);
	return tap_done();
}
