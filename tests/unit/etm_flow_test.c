/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow.h"

#include "base/buf.h"
#include "base/mem.h"
#include "flow/flow_code.h"
#include "tap.h"

/*
 * Streams that no trace unit makes, and that ask for much: what they may cost. Where one took
 * minutes the test's time is up.
 */
enum { BASE = 0x100000, NR_WORDS = 1100 << 10, B_SELF = 0x14000000, B_EQ_NEXT = 0x54000020 };
enum { NOP = 0xd503201f, BR = 0xd61f0000, T32_NOPS = 0xbf00bf00 };

struct fake {
	struct etm_config config;
	uint8_t code[4 * NR_WORDS];
	struct buf trace;
	uint64_t nr_items, nr_events[NR_FLOW_EVENTS];
};

static struct fake f;

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	(void)ctx, (void)key;
	return 0;
}

static bool find_code(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	(void)ctx, (void)space;
	*ret = (struct code_region){BASE, BASE + sizeof(f.code), f.code};
	return addr >= BASE && addr < BASE + sizeof(f.code);
}

static const struct code_source code = {.space = space_of, .find = find_code};

static void put(size_t n, const uint8_t *bytes)
{
	buf_add(&f.trace, bytes, n);
}

#define PUT(...) put(sizeof((uint8_t[]){__VA_ARGS__}), (uint8_t[]){__VA_ARGS__})

/** IS0: 9d; IS1: 9e. */
static void put_address(uint64_t a, bool is_t32)
{
	uint8_t b[9] = {is_t32 ? 0x9e : 0x9d};

	b[1] = (uint8_t)(is_t32 ? a >> 1 & 0x7f : a >> 2 & 0x7f);
	b[2] = (uint8_t)(is_t32 ? a >> 8 : a >> 9 & 0x7f);
	for (int i = 2; i < 8; i++)
		b[i + 1] = (uint8_t)(a >> 8 * i);
	put(sizeof(b), b);
}

/** A unit of TRCIDR8 = @p depth in code of one word; synchronised, with a context. */
static void begin(uint32_t word, uint32_t depth, bool is_ete, bool is_t32)
{
	struct etm_regs r = {.idr0 = 0x28000ea1,
			     .idr1 = 0x4100f403,
			     .idr2 = 0x488,
			     .idr8 = depth,
			     .devarch = 0x47705a13,
			     .configr = 1,
			     .traceidr = 0x10,
			     .is_ete = is_ete};

	if (etm_config_init(&f.config, &r, NULL) != CLEW_OK)
		abort();
	for (size_t i = 0; i < sizeof(f.code); i++)
		f.code[i] = (uint8_t)(word >> 8 * (i % 4));
	buf_done(&f.trace);
	f.trace = (struct buf){0};
	f.nr_items = 0;
	memset(f.nr_events, 0, sizeof(f.nr_events));
	PUT(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00);
	PUT(0x81, is_t32 ? 0x20 : 0x30);
}

static enum clew_err take(void *ctx, const struct flow_batch *b)
{
	(void)ctx;
	for (size_t i = 0; i < b->nr; i++) {
		if (b->items[i] & FLOW_ITEM_EVENT)
			f.nr_events[b->events[b->items[i] & ~FLOW_ITEM_EVENT].kind]++;
		else
			f.nr_items++;
	}
	return CLEW_OK;
}

/** @return instructions. */
static uint64_t decode(void)
{
	struct etm_flow_opts opts = {.config = &f.config, .flow.code = &code, .flow.batch = take};
	struct flow *flow = etm_flow_new(&opts);
	struct bytes in = bytes_of(f.trace.data, f.trace.nr);
	uint64_t nr;

	if (!flow || flow_feed(flow, in) != CLEW_OK || flow_finish(flow) != CLEW_OK)
		abort();
	nr = flow_totals(flow)->nr_insns;
	flow_free(flow);
	return nr;
}

/* More atoms wait than a batch has room for after its last packet. */
static void test_commit_of_thousands(void)
{
	begin(B_SELF, 4096, false, false);
	put_address(BASE, false);
	for (int n = 0; n < 20; n++) {
		for (int i = 0; i < 170; i++)
			PUT(0xd4); /* 24 E */
		PUT(0x2d, 0x80 | (4080 & 0x7f), 4080 >> 7);
	}
	CHECK_EQ(decode(), 20 * 4080, "20 commits of 4080 atoms each run as many instructions");
	CHECK_EQ(f.nr_items, 20 * 4080, "20 commits of 4080 atoms each hand on as many blocks");
}

/* The way to the return address is no loop of instructions. */
static void test_far_exceptions(bool is_t32)
{
	begin(is_t32 ? T32_NOPS : NOP, 0, false, is_t32);
	put_address(BASE + 100000, is_t32);
	put_address(BASE, is_t32);
	for (int n = 0; n < 20000; n++)
		PUT(0x06, 0x1d, 0x91, 0x91); /* IRQ, there; handler, here */
	CHECK_EQ(decode(), 20000ull * (is_t32 ? 50000 : 25000),
		 "20000 exceptions 100000 bytes ahead: all instructions of %s to there count",
		 is_t32 ? "T32" : "A64");
	CHECK_EQ(f.nr_events[FLOW_EV_EXCEPTION], 20000,
		 "20000 exceptions 100000 bytes ahead: each is reported from %s",
		 is_t32 ? "T32" : "A64");
}

static void test_exception_too_far(void)
{
	begin(NOP, 0, false, false);
	put_address(BASE + 4 * FLOW_MAX_RUN_INSNS, false);
	put_address(BASE, false);
	PUT(0x06, 0x1d, 0x91);
	CHECK_EQ(decode(), FLOW_MAX_RUN_INSNS,
		 "an exception too far ahead: only so many instructions ran");
	CHECK_EQ(f.nr_events[FLOW_EV_EXCEPTION], 0, "an exception too far ahead is not reported");
	CHECK_EQ(f.nr_events[FLOW_EV_NO_SYNC], 2,
		 "an exception too far ahead loses synchronization");
}

static void put_branch_to_itself(size_t insn)
{
	store_le32(&f.code[4 * insn], B_SELF);
}

/** Generated code has such runs. */
static void test_long_run(void)
{
	begin(NOP, 0, false, false);
	put_address(BASE + 4 * 100000, false);
	put_address(BASE, false);
	PUT(0x06, 0x1d, 0x91);
	CHECK_EQ(decode(), 100000, "an exception 100000 instructions ahead: all of them ran");
	CHECK_EQ(f.nr_events[FLOW_EV_EXCEPTION], 1, "and it is reported");

	begin(NOP, 0, false, false);
	put_branch_to_itself(80000);
	put_address(BASE + 4 * 100000, false);
	put_address(BASE, false);
	PUT(0x06, 0x1d, 0x91);
	CHECK_EQ(decode(), 0, "a branch on the way, after 80000 instructions: none is proven");
	CHECK_EQ(f.nr_events[FLOW_EV_EXCEPTION], 0, "and the exception cannot be");

	begin(NOP, 0, false, false);
	put_branch_to_itself(100000);
	put_address(BASE, false);
	PUT(0xf7, 0xf7);
	CHECK_EQ(decode(), 100002, "a branch after 100000 instructions, and once more");
	CHECK_EQ(f.nr_events[FLOW_EV_NO_SYNC], 1, "keeps synchronization");
}

static void test_exception_in_the_last_word(void)
{
	begin(NOP, 0, false, false);
	put_address(BASE + 4 * (NR_WORDS - 2), false);
	PUT(0x06, 0x1d);
	put_address(BASE + 4 * NR_WORDS + 4, false);
	CHECK_EQ(decode(), 2, "an exception past the end of the code: the last two words ran");
	CHECK_EQ(f.nr_events[FLOW_EV_NACC], 1,
		 "an exception past the end of the code: that end is reported");
}

/* A damaged byte made an exception, and its address is the one after a synchronisation. */
static void test_exception_cut_by_sync(void)
{
	begin(B_SELF, 0, false, false);
	put_address(BASE, false);
	PUT(0xf7, 0x06, 0x01);
	PUT(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00, 0x81, 0x30);
	put_address(BASE + 64, false);
	PUT(0xf7, 0xf7);
	CHECK_EQ(decode(), 3, "an exception cut by a synchronization: the atoms around it count");
	CHECK_EQ(f.nr_events[FLOW_EV_EXCEPTION], 0,
		 "an exception cut by a synchronization is not reported");
	CHECK_EQ(f.nr_events[FLOW_EV_NO_SYNC], 2,
		 "an exception cut by a synchronization loses the one before");
}

static void test_far_sources(uint32_t nr_branches)
{
	begin(B_EQ_NEXT, 0, true, false);
	put_address(BASE + 4 * nr_branches, false);
	put_address(BASE, false);
	for (int n = 0; n < 2000; n++)
		PUT(0xb1, 0x91);
	if (nr_branches < 4096) {
		CHECK_EQ(decode(), 2000 * (nr_branches + 1),
			 "2000 source addresses, each %u branches ahead: all of those ran",
			 nr_branches);
		CHECK_EQ(f.nr_events[FLOW_EV_NO_SYNC], 1,
			 "2000 source addresses, each 4000 branches ahead, keep synchronization");
	} else {
		decode();
		CHECK_EQ(f.nr_events[FLOW_EV_NO_SYNC], 2,
			 "a source address %u branches ahead loses synchronization", nr_branches);
	}
}

/* Addresses of the wrong way are taken back at once, however many and whatever is between. */
static void test_mispredict_of_many(void)
{
	begin(B_SELF, 16, false, false);
	put_address(BASE, false);
	PUT(0xf7, 0xf7);
	for (int n = 0; n < 30000; n++)
		PUT(0x90, 0x71);
	PUT(0x30, 0x2d, 0x02);
	CHECK_EQ(decode(), 2, "a mispredict after 30000 addresses: two instructions ran");
	CHECK_EQ(f.nr_items, 2, "a mispredict after 30000 addresses: two blocks ran");
	PUT(0xf7, 0x2d, 0x01);
	CHECK_EQ(decode(), 3, "a mispredict after 30000 addresses: an atom after it runs one more");
	CHECK_EQ(f.nr_events[FLOW_EV_EVENT], 2 * 30000,
		 "a mispredict after 30000 addresses: the events between them are kept");
}

/* Nothing but what stands between P0 elements, for long: an error only where those could be taken
 * back, and then nothing of it remains. */
static void test_long_without_p0(uint32_t depth, int nr)
{
	bool is_lost;

	begin(B_SELF, depth, true, false);
	put_address(BASE, false);
	PUT(0xf7, 0x2d, depth != 0);
	for (int i = 0; i < nr; i++)
		PUT(0x71);
	PUT(0x85, 0, 0, 0x10, 0, 0, 0, 0, 0, 0x30);
	PUT(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00);
	PUT(0x81, 0x30, 0xf7, 0x2d, depth != 0);
	is_lost = depth && nr + 5 > 0x10000;
	CHECK_EQ(decode(), is_lost ? 1 : 2, "%d events in a row, speculation depth %u: %s", nr,
		 depth, is_lost ? "the instruction after them is lost" : "both instructions ran");
	CHECK_EQ(f.nr_events[FLOW_EV_NO_SYNC], is_lost ? 2 : 1,
		 "%d events in a row, speculation depth %u: synchronization is %s", nr, depth,
		 is_lost ? "lost" : "kept");
	if (!depth)
		CHECK_EQ(f.nr_events[FLOW_EV_EVENT], nr,
			 "%d events in a row, speculation depth 0: each is reported", nr);
}

/* The outcome of a transaction is known at the end, unless what it follows may be taken back. */
static void test_transaction_at_the_end(uint32_t depth, uint64_t nr)
{
	begin(B_SELF, depth, true, false);
	put_address(BASE, false);
	PUT(0xf7, 0x0a, 0xf7, 0x0b, 0x71);
	decode();
	CHECK_EQ(f.nr_events[FLOW_EV_TRANSACTION], nr,
		 "a transaction at the end, speculation depth %u: %s", depth,
		 nr ? "start and outcome are reported" : "nothing is certain");
	CHECK_EQ(f.nr_events[FLOW_EV_EVENT], 1,
		 "a transaction at the end, speculation depth %u: the event after it is reported",
		 depth);
}

/* Where its start is no P0 element, that waits too. */
static void test_transaction_only_at_the_end(void)
{
	begin(B_SELF, 0, true, false);
	f.config.transactions_are_p0 = false;
	put_address(BASE, false);
	PUT(0xf7, 0x0a, 0x0b);
	decode();
	CHECK_EQ(f.nr_events[FLOW_EV_TRANSACTION], 2,
		 "a transaction that is no P0 element, at the end: start and outcome are reported");
}

/** All of the trace, with a small cache. */
static bool decodes_in_small_cache(bool is_counting)
{
	struct etm_flow_opts opts = {.config = &f.config,
				     .flow.code = &code,
				     .flow.batch = is_counting ? NULL : take,
				     .flow.max_cache_bytes = 64 << 10};
	struct flow *flow = etm_flow_new(&opts);
	bool ok = flow && flow_feed(flow, bytes_of(f.trace.data, f.trace.nr)) == CLEW_OK &&
		  flow_finish(flow) == CLEW_OK;

	flow_free(flow);
	return ok;
}

/* The trace leads to ever more places, each of which is a block, and the cache is cleared no less
 * than elsewhere. */
static void test_many_addresses(bool is_counting, bool is_taken)
{
	begin(is_taken ? BR : B_SELF, 0, false, false);
	put_address(BASE, false);
	PUT(0xf7);
	for (uint32_t i = 0; i < 500000; i++) {
		put_address(is_taken ? BASE + i % NR_WORDS * 4 : (uint64_t)i * 4, false);
		if (is_taken)
			PUT(0xf7);
	}
	CHECK(decodes_in_small_cache(is_counting),
	      "500000 addresses, %s, %s: a cache of 64 KiB is enough",
	      is_taken ? "each of them executed" : "none of them executed",
	      is_counting ? "counted" : "in order");
}

int main(void)
{
	test_commit_of_thousands();
	test_far_exceptions(false);
	test_far_exceptions(true);
	test_exception_too_far();
	test_long_run();
	test_exception_in_the_last_word();
	test_exception_cut_by_sync();
	test_far_sources(4000);
	test_far_sources(60000);
	test_mispredict_of_many();
	for (int nr = 0xfffd; nr < 0x10002; nr++)
		test_long_without_p0(0, nr);
	for (int nr = 0xfff0; nr < 0x10002; nr++)
		test_long_without_p0(4, nr);
	test_transaction_at_the_end(0, 2);
	test_transaction_at_the_end(3, 0);
	test_transaction_only_at_the_end();
	test_many_addresses(false, false);
	test_many_addresses(true, false);
	test_many_addresses(false, true);
	test_many_addresses(true, true);
	buf_done(&f.trace);
	return tap_done();
}
