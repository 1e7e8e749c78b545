/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/cycle_shares.h"

#include "base/buf.h"
#include "flow/pt/ipt_flow.h"
#include "isa/x86/x86_branch.h"
#include "packet/pt/ipt_config.h"
#include "packet/pt/ipt_write.h"
#include "report/code_counts.h"
#include "unit/tap.h"

/* --- what a trace counted, by the start of each block --- */

struct sums {
	VEC(struct cycle_share);
};

static bool add(void *ctx, const struct cycle_share *s)
{
	struct sums *to = ctx;

	vec_for_each (to, known) {
		if (known->block.start != s->block.start)
			continue;
		known->nr += s->nr;
		known->cycles += s->cycles;
		return true;
	}
	return vec_push(to, *s);
}

/* "1000: 2 x 8; ": blocks in the order in which they came, executions, cycles of all of them. */
static const char *text_of(const struct sums *s, struct buf *out)
{
	buf_clear(out);
	vec_for_each (s, x)
		buf_printf(out, "%llx: %llu x %.2f; ", (unsigned long long)x->block.start,
			   (unsigned long long)x->nr, (double)x->cycles / CODE_CYCLE);
	return buf_cstr(out);
}

/* --- batches by hand --- */

enum { EVENT_ITEM = 1000, NR_ITEMS = 32, NR_BLOCKS = 4 };

static const struct flow_block blocks[NR_BLOCKS] = {
	{.start = 0xa, .nr_insns = 1    },
	{.start = 0xb, .nr_insns = 3    },
	{.start = 0xc, .nr_insns = 4    },
	{.start = 0xd, .nr_insns = 65535}
};

struct script {
	struct cycle_shares shares;
	struct sums sums;
	uint32_t items[NR_ITEMS];
	struct flow_event events[NR_ITEMS];
	uint32_t nr, nr_events;
	bool has_failed;
};

static void block(struct script *s, char name)
{
	s->items[s->nr++] = (uint32_t)(name - 'a') << 1;
}

static void event(struct script *s, struct flow_event e)
{
	s->items[s->nr++] = FLOW_ITEM_EVENT | s->nr_events;
	s->events[s->nr_events++] = e;
}

static void cycles(struct script *s, uint32_t nr)
{
	event(s, (struct flow_event){.kind = FLOW_EV_CYCLES, .has_count = true, .count = nr});
}

static void pass(struct script *s, uint32_t epoch)
{
	const struct flow_batch b = {s->items, s->nr, blocks, s->events, epoch};

	s->has_failed |= cycle_shares_add(&s->shares, &b,
					  &(struct cycle_shares_sink){add, &s->sums}) != CLEW_OK;
	s->nr = s->nr_events = 0;
}

static void check(struct script *s, const char *want, const char *name)
{
	struct buf out = {0};

	pass(s, 1);
	CHECK(cycle_shares_end(&s->shares, &(struct cycle_shares_sink){add, &s->sums}) &&
		      !s->has_failed,
	      "its end");
	CHECK_STR(text_of(&s->sums, &out), want, "%s", name);
	buf_done(&out);
	vec_done(&s->sums);
	cycle_shares_done(&s->shares);
	*s = (struct script){.nr = 0};
}

static void by_hand(void)
{
	struct script s = {.nr = 0};

	block(&s, 'a');
	cycles(&s, 100);
	block(&s, 'b');
	cycles(&s, 9);
	block(&s, 'a');
	block(&s, 'b');
	block(&s, 'c');
	cycles(&s, 16);
	check(&s, "a: 1 x 2.00; b: 2 x 15.00; c: 1 x 8.00; ",
	      "from one count to the next, by instructions; before the first count nothing");

	s.shares.is_x86 = true;
	event(&s, (struct flow_event){.kind = FLOW_EV_TRACE_ON});
	block(&s, 'a');
	cycles(&s, 7);
	event(&s, (struct flow_event){.kind = FLOW_EV_TRACE_ON, .is_overflow = true});
	block(&s, 'b');
	cycles(&s, 9);
	check(&s, "a: 1 x 7.00; ", "Intel PT counts from where tracing begins, unless it was lost");

	event(&s, (struct flow_event){.kind = FLOW_EV_TRACE_ON});
	block(&s, 'a');
	cycles(&s, 7);
	block(&s, 'b');
	event(&s, (struct flow_event){.kind = FLOW_EV_CYCLES});
	block(&s, 'c');
	cycles(&s, 8);
	block(&s, 'c');
	cycles(&s, 4);
	check(&s, "c: 1 x 4.00; ", "of ETM a count may be unknown, and is of time without tracing");

	cycles(&s, 0);
	block(&s, 'a');
	event(&s, (struct flow_event){.kind = FLOW_EV_RANGE, .count = 2});
	block(&s, 'a');
	cycles(&s, 8);
	block(&s, 'b');
	event(&s, (struct flow_event){.kind = FLOW_EV_NACC});
	block(&s, 'c');
	cycles(&s, 8);
	check(&s, "a: 2 x 4.00; ",
	      "code up to an interrupt has its share; unknown code ends the interval");

	cycles(&s, 0);
	cycles(&s, 50);
	block(&s, 'b');
	cycles(&s, 0);
	check(&s, "b: 1 x 0.00; ", "counts without instructions, and of 0");

	cycles(&s, 0);
	block(&s, 'a');
	pass(&s, 1);
	cycles(&s, 5);
	block(&s, 'b');
	pass(&s, 1);
	cycles(&s, 6);
	block(&s, 'c');
	check(&s, "a: 1 x 5.00; b: 1 x 6.00; ", "in any pieces; the last count ends it");

	cycles(&s, 0);
	block(&s, 'a');
	cycles(&s, 5);
	block(&s, 'b');
	pass(&s, 0);
	cycles(&s, 6);
	block(&s, 'a');
	cycles(&s, 7);
	check(&s, "a: 2 x 12.00; ", "an interval that an epoch ends in is not counted");
}

/* Nothing is lost by rounding, whatever the counts; what is too long is not counted. */
static void sums(void)
{
	struct script s = {.nr = 0};
	uint64_t all = 0, got = 0, seed = 7;

	cycles(&s, 0);
	pass(&s, 1);
	for (int i = 0; i < 2000; i++) {
		uint32_t nr;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		nr = seed >> 40 & 1 ? (uint32_t)(seed >> 32) : (uint32_t)(seed >> 60);
		for (uint64_t k = 0; k <= (seed >> 33 & 7); k++)
			block(&s, (char)('a' + (seed >> (k + 45) & 3)));
		cycles(&s, nr);
		pass(&s, 1);
		all += (uint64_t)nr * CODE_CYCLE;
	}
	CHECK(cycle_shares_end(&s.shares, &(struct cycle_shares_sink){add, &s.sums}), "its end");
	vec_for_each (&s.sums, x)
		got += x->cycles;
	CHECK(got == all, "%llu parts of a cycle of %llu", (unsigned long long)got,
	      (unsigned long long)all);
	vec_done(&s.sums);
	s.sums.nr = 0;
	cycles(&s, 0);
	pass(&s, 1);
	for (int i = 0; i < 1 << 13; i++) {
		for (int k = 0; k < 9; k++)
			block(&s, 'd');
		pass(&s, 1);
	}
	CHECK(s.shares.blocks.nr < 1 << 16, "memory has a limit");
	cycles(&s, UINT32_MAX);
	block(&s, 'a');
	cycles(&s, 3);
	check(&s, "a: 1 x 3.00; ", "and the next count begins again");
}

/* --- a trace --- */

enum { START = 0x1000, LOOP = 0x1010, JUMP = 0x1020, END = 0x1030, BYTES = 0x40 };

/* 1000: nop x 3, jmp *rax; 1010: nop, jne 1010; 1012: nop x 5, jmp *rax */
static uint8_t code[BYTES];

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	(void)ctx;
	(void)key;
	return 0;
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	(void)ctx;
	(void)space;
	*ret = (struct code_region){START, START + BYTES, code};
	return addr - START < BYTES;
}

static enum clew_err batch(void *ctx, const struct flow_batch *b)
{
	struct script *s = ctx;

	return cycle_shares_add(&s->shares, b, &(struct cycle_shares_sink){add, &s->sums});
}

static struct buf trace;
static uint64_t last_ip;

static void put(struct ipt_packet k)
{
	ipt_write(&trace, &k, &last_ip);
}

static void put_ip(enum ipt_kind kind, uint64_t ip)
{
	put((struct ipt_packet){.kind = (uint8_t)kind, .ip_form = IPT_IP_SEXT48, .ip = ip});
}

static void put_cyc(uint64_t nr)
{
	put((struct ipt_packet){.kind = IPT_CYC, .cyc = nr});
}

static void make_trace(void)
{
	put((struct ipt_packet){.kind = IPT_PSB});
	put((struct ipt_packet){.kind = IPT_CBR, .cbr = 20});
	put((struct ipt_packet){.kind = IPT_PSBEND});
	put((struct ipt_packet){
		.kind = IPT_MODE_EXEC, .exec = {true, false, true}
        });
	put_cyc(1000); /* while tracing is off */
	put_ip(IPT_TIP_PGE, START);
	for (int i = 0; i < 10; i++) {
		put_cyc(8);
		put_ip(IPT_TIP, LOOP);
		for (int k = 0; k < 3; k++) { /* round twice */
			put_cyc(5);
			put((struct ipt_packet){.kind = IPT_TNT, .nr_tnt = 1, .tnt = k < 2});
		}
		put_cyc(12 + (i & 1));
		put_ip(IPT_TIP, START);
	}
	put_cyc(77);
	put_ip(IPT_TIP_PGD, END);
}

static void of_trace(void)
{
	static const struct ipt_config config = {
		.timing = {.numerator = 100, .denominator = 1, .max_ratio = 20}
        };
	static const struct code_source source = {.space = space_of, .find = find};
	struct script s = {.shares.is_x86 = true};
	struct ipt_flow_opts opts = {.config = &config};
	struct flow *f;
	struct buf out = {0};

	if (!x86_can_decode()) {
		SKIP("no Zydis");
		return;
	}
	memset(code, 0x90, BYTES);
	memcpy(code + 3, "\xff\xe0", 2);
	memcpy(code + LOOP - START + 1, "\x75\xfd", 2);
	memcpy(code + LOOP - START + 8, "\xff\xe0", 2);
	make_trace();
	opts.flow = (struct flow_opts){
		.code = &source, .batch = batch, .ctx = &s, .has_cycles = true, .nr_threads = 1};
	f = ipt_flow_new(&opts);
	CHECK(f && flow_feed(f, bytes_of(trace.data, trace.nr)) == CLEW_OK &&
		      flow_finish(f) == CLEW_OK,
	      "a trace with a count before each packet");
	CHECK(cycle_shares_end(&s.shares, &(struct cycle_shares_sink){add, &s.sums}), "its end");
	CHECK_STR(text_of(&s.sums, &out),
		  "1000: 11 x 157.00; 1010: 30 x 150.00; 1013: 10 x 125.00; ",
		  "cycles of each block, as the processor counted them");
	flow_free(f);
	vec_done(&s.sums);
	cycle_shares_done(&s.shares);
	buf_done(&trace);
	buf_done(&out);
}

static void without_memory(void)
{
	uint64_t n = 0;
	bool has_failed;

	do {
		struct script s = {.nr = 0};
		struct flow_batch b = {s.items, 0, blocks, s.events, 1};
		enum clew_err err;
		bool is_ended;

		cycles(&s, 0);
		block(&s, 'c');
		cycles(&s, 4);
		b.nr = s.nr;
		mem_fail_after(n++);
		err = cycle_shares_add(&s.shares, &b, &(struct cycle_shares_sink){add, &s.sums});
		is_ended = cycle_shares_end(&s.shares, &(struct cycle_shares_sink){add, &s.sums});
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		CHECK(has_failed == (err == CLEW_NO_MEMORY || !is_ended), "allocation %llu",
		      (unsigned long long)n);
		vec_done(&s.sums);
		cycle_shares_done(&s.shares);
	} while (has_failed);
}

int main(void)
{
	by_hand();
	sums();
	of_trace();
	without_memory();
	return tap_done();
}
