/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_parts.h"
#include "isa/x86/x86_branch.h"
#include "packet/pt/ipt_write.h"
#include "unit/tap.h"

/*
 * What a flow makes of packets, in words: "3" instructions, "on 1000", "lost",
 * "at 50" ticks, "tx", "cr3 5000". The code from START on: JNE to the next instruction, two bytes
 * each; at MOV: MOV to CR3, at ENTRY: VMLAUNCH, then such; at JUMP: JMP RAX.
 */
enum {
	START = 0x1000,
	MOV = 0x1800,
	ENTRY = 0x1900,
	JUMP = 0x1a00,
	BYTES = 0x1000,
	PART_BYTES = 64
};

static uint8_t code[BYTES];

static void make_code(void)
{
	for (int i = 0; i < BYTES; i += 2)
		code[i] = 0x75;
	memcpy(code + MOV - START, "\x0f\x22\xd8\x90", 4);
	memcpy(code + ENTRY - START, "\x0f\x01\xc2\x90", 4);
	memcpy(code + JUMP - START, "\xff\xe0", 2);
}

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

static const struct code_source source = {.space = space_of, .find = find};
static struct ipt_config config = {
	.timing = {.numerator = 100, .denominator = 1, .mtc_shift = 3, .max_ratio = 20}
};

/* --- packets --- */

static struct buf trace;
static uint64_t last_ip;

static void put(struct ipt_packet k)
{
	ipt_write(&trace, &k, &last_ip);
}

static void put_kind(enum ipt_kind kind)
{
	put((struct ipt_packet){.kind = (uint8_t)kind});
}

static void put_ip(enum ipt_kind kind, uint64_t ip)
{
	put((struct ipt_packet){.kind = (uint8_t)kind, .ip_form = IPT_IP_SEXT48, .ip = ip});
}

static void put_mode(uint8_t bits)
{
	put((struct ipt_packet){
		.kind = IPT_MODE_EXEC, .exec = {bits == 64, bits == 32, true}
        });
}

static void put_tsx(bool is_in)
{
	put((struct ipt_packet){
		.kind = IPT_MODE_TSX, .tsx = {is_in, false}
        });
}

static void put_pip(uint64_t cr3)
{
	put((struct ipt_packet){
		.kind = IPT_PIP, .pip = {cr3, false}
        });
}

/** So many branches, not taken. */
static void put_branches(uint8_t nr)
{
	put((struct ipt_packet){.kind = IPT_TNT, .nr_tnt = nr});
}

static void put_cyc(uint64_t cyc)
{
	put((struct ipt_packet){.kind = IPT_CYC, .cyc = cyc});
}

/** @p ip 0: no FUP. @p tsc 0: no time. */
static void put_psb(uint64_t ip, uint64_t tsc)
{
	put_kind(IPT_PSB);
	if (tsc)
		put((struct ipt_packet){.kind = IPT_TSC, .tsc = tsc});
	put((struct ipt_packet){.kind = IPT_CBR, .cbr = 20});
	if (ip) {
		put_mode(64);
		put_ip(IPT_FUP, ip);
	}
	put_kind(IPT_PSBEND);
}

static void begin(uint64_t tsc)
{
	buf_clear(&trace);
	last_ip = 0;
	put_psb(0, tsc);
	put_mode(64);
	put_ip(IPT_TIP_PGE, START);
	put_branches(3);
}

/* --- words --- */

static enum flow_detail detail;
static bool has_cycles;

struct words {
	struct buf text;
	uint64_t nr_insns;
};

static void put_insns(struct words *w)
{
	if (w->nr_insns)
		buf_printf(&w->text, "%llu ", (unsigned long long)w->nr_insns);
	w->nr_insns = 0;
}

static void put_event(struct words *w, const struct flow_event *e)
{
	static const char *const points[] = {[FLOW_POINT_HERE] = ".",
					     [FLOW_POINT_INTERRUPT] = "int.",
					     [FLOW_POINT_ABORT] = "abort.",
					     [FLOW_POINT_END] = "end."};
	struct buf *b = &w->text;

	if (e->kind == FLOW_EV_RANGE) {
		w->nr_insns += e->count;
		return;
	}
	put_insns(w);
	if (e->kind == FLOW_EV_NO_SYNC && e->reason)
		buf_printf(b, "%s ", e->what ? e->what : "lost");
	else if (e->kind == FLOW_EV_TRACE_ON)
		buf_printf(b, "on %llx ", (unsigned long long)e->address);
	else if (e->kind == FLOW_EV_TRACE_OFF)
		buf_printf(b, "off ");
	else if (e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_PEBS_ITEM)
		buf_printf(b, "%u.%u=%llx ", e->count >> 8, e->count & 0xff,
			   (unsigned long long)e->value);
	else if (e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_PEBS)
		buf_printf(b, "pebs %llx ", (unsigned long long)e->end);
	else if (e->kind == FLOW_EV_CYCLES)
		buf_printf(b, "%u%s cycles ", e->count, e->is_target ? "" : " or more");
	else if (e->kind == FLOW_EV_EXCEPTION)
		buf_printf(b, "int %llx ", (unsigned long long)e->address);
	else if (e->kind == FLOW_EV_TIMESTAMP)
		buf_printf(b, "at %llu ", (unsigned long long)e->ticks.ticks);
	else if (e->kind == FLOW_EV_TRANSACTION)
		buf_str(b, e->number == FLOW_TRANS_COMMITTED ? "end "
			   : e->number == FLOW_TRANS_FAILED  ? "abort "
							     : "tx ");
	else if (e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_POINT)
		buf_printf(b, "%s%llx ", points[e->count], (unsigned long long)e->address);
	else if (e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_PTWRITE && e->has_end)
		buf_printf(b, "ptw %llx ", (unsigned long long)e->end);
	else if (e->kind == FLOW_EV_CONTEXT && e->context.x86.has_cr3)
		buf_printf(b, "cr3 %llx ", (unsigned long long)e->context.x86.cr3);
	else if (e->kind == FLOW_EV_CONTEXT && e->context.x86.bits != 64)
		buf_printf(b, "%u bits ", e->context.x86.bits);
}

static enum clew_err take(void *ctx, const struct flow_batch *b)
{
	struct words *w = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT)
			put_event(w, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT]);
		else
			w->nr_insns += b->blocks[item >> 1].nr_insns;
	}
	return CLEW_OK;
}

static void decode(struct words *w, unsigned int nr_threads)
{
	struct ipt_flow_opts o = {.config = &config,
				  .flow.code = &source,
				  .flow.batch = take,
				  .flow.ctx = w,
				  .flow.nr_threads = nr_threads,
				  .flow.detail = (uint8_t)detail,
				  .flow.has_cycles = has_cycles,
				  .flow.part_bytes = PART_BYTES};
	struct flow *f = ipt_flow_new(&o);

	if (f && !flow_feed(f, bytes_of(trace.data, trace.nr)))
		flow_finish(f);
	put_insns(w);
	flow_free(f);
}

static void check(const char *want, const char *what)
{
	for (unsigned int threads = 1; threads <= 2; threads++) {
		struct words w = {0};

		decode(&w, threads);
		CHECK_STR(buf_cstr(&w.text), want, "%s: %u threads", what, threads);
		buf_done(&w.text);
	}
}

/* --- rows --- */

static void overflow_in_psb(void)
{
	begin(0);
	put_kind(IPT_PSB);
	put((struct ipt_packet){.kind = IPT_CBR, .cbr = 20});
	put_kind(IPT_OVF);
	put_ip(IPT_FUP, START + 100);
	put_branches(2);
	check("on 1000 3 lost on 1064 2 ", "an overflow takes the end of a PSB+");
}

static void end_in_psb(void)
{
	begin(0);
	put_kind(IPT_PSB);
	put((struct ipt_packet){.kind = IPT_CBR, .cbr = 20});
	trace.nr--;
	check("on 1000 3 ", "a trace that ends in a packet of a PSB+");
}

/** The FUP of a PSB+ after an overflow holds unless TIP.PGE comes first; until then it is not known
 * what packets without a place mean. */
static void after_overflow(void)
{
	begin(0);
	put_kind(IPT_OVF);
	put_psb(START + 100, 0);
	put_tsx(true);
	put_ip(IPT_FUP, START + 100);
	put_branches(2);
	check("on 1000 3 lost on 1064 tx 2 ", "OVF, PSB+, then a transaction begins");

	begin(0);
	put_kind(IPT_OVF);
	put_psb(MOV, 0);
	put_pip(0x5000);
	put_ip(IPT_FUP, MOV + 4);
	put_kind(IPT_TIP_PGD);
	check("on 1000 3 lost on 1800 1 cr3 5000 1 off ", "OVF, PSB+, then a PIP of a MOV to CR3");

	begin(0);
	put_kind(IPT_OVF);
	put_psb(START + 100, 0);
	put_mode(32);
	put_ip(IPT_TIP_PGE, START + 200);
	put_branches(2);
	check("on 1000 3 lost 32 bits on 10c8 2 ", "OVF, PSB+, then tracing begins elsewhere");
}

/** Some processors write a FUP, though tracing is off. */
static void early_fup(void)
{
	buf_clear(&trace);
	last_ip = 0;
	put_kind(IPT_PSB);
	put_pip(0x7000);
	put_mode(32);
	put_ip(IPT_FUP, START + 300);
	put_kind(IPT_PSBEND);
	put_mode(64);
	put_ip(IPT_TIP_PGE, START);
	put_branches(3);
	check("cr3 7000 on 1000 3 ", "a FUP of a PSB+ before TIP.PGE does not count, its PIP does");

	buf_clear(&trace);
	last_ip = 0;
	put_kind(IPT_PSB);
	put_mode(32);
	put_ip(IPT_FUP, START + 300);
	put_kind(IPT_PSBEND);
	put_ip(IPT_TIP_PGE, START);
	put_branches(3);
	check("32 bits on 1000 3 ", "the mode of a PSB+ holds at TIP.PGE, whatever its FUP is");

	buf_clear(&trace);
	put_psb(START + 300, 0);
	check("", "nothing says that a FUP of a PSB+ counts, where the trace ends");
}

/** Some processors write a FUP before the TIP.PGD of a VM entry. */
static void fup_of_entry(void)
{
	buf_clear(&trace);
	put_psb(0, 0);
	put_mode(64);
	put_ip(IPT_TIP_PGE, ENTRY);
	put_ip(IPT_FUP, ENTRY);
	put_kind(IPT_TIP_PGD);
	check("on 1900 off ", "a FUP at a VM entry: it did not run");
	config.errata = IPT_SKD022;
	check("on 1900 1 off ", "of some processors: it did");
	config.errata = 0;
}

/** Of some processors the target of the branch before an abort is wrong. */
static void wrong_target_of_abort(void)
{
	config.errata = IPT_BDM64;
	for (int is_near = 0; is_near < 2; is_near++) {
		buf_clear(&trace);
		last_ip = 0;
		put_psb(0, 0);
		put_mode(64);
		put_tsx(true);
		put_ip(IPT_TIP_PGE, JUMP);
		put_ip(IPT_TIP, is_near ? MOV : START + 8);
		put((struct ipt_packet){
			.kind = IPT_MODE_TSX, .tsx = {false, true}
                });
		put_ip(IPT_FUP, MOV + 3);
		put_ip(IPT_TIP, START + 100);
		put_branches(2);
		check(is_near ? "tx on 1a00 2 abort int 1803 2 " : "tx on 1a00 1 abort int 1803 2 ",
		      is_near ? "BDM64: execution can come from the target to the abort"
			      : "BDM64: it cannot: the branch went to where the abort came");
	}
	config.errata = 0;
}

/** Of some processors the FUP after an overflow may be missing. */
static void overflow_without_fup(void)
{
	config.errata = IPT_SKD010;
	begin(0);
	put_kind(IPT_OVF);
	put_ip(IPT_TIP, START + 100);
	put_branches(2);
	check("on 1000 3 lost on 1064 2 ", "SKD010: a TIP says where execution is");
	begin(0);
	put_kind(IPT_OVF);
	put((struct ipt_packet){.kind = IPT_TIP, .ip_form = IPT_IP_16, .ip = START + 100});
	put_branches(2);
	put_psb(START + 200, 0);
	put_branches(1);
	check("on 1000 3 lost on 10c8 1 ", "SKD010: not if it has a part of its address");
	begin(0);
	put_kind(IPT_OVF);
	put_branches(2);
	put_ip(IPT_TIP, START + 100);
	put_branches(2);
	put_psb(START + 200, 0);
	put_branches(1);
	check("on 1000 3 lost on 10c8 1 ",
	      "SKD010: nor after TNT, of which some may come after it: the next PSB does");
	config.errata = 0;
	begin(0);
	put_kind(IPT_OVF);
	put_ip(IPT_TIP, START + 100);
	put_branches(2);
	put_psb(START + 200, 0);
	put_branches(1);
	check("on 1000 3 lost on 10c8 1 ", "of other processors: the next PSB does");
}

/** Of some processors TMA in a guest is wrong, and has a byte more, here that of a TNT. */
static void tma_of_guest(void)
{
	config.errata = IPT_SKZ84;
	for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
		begin(0);
		put((struct ipt_packet){.kind = IPT_TSC, .tsc = 5000});
		put((struct ipt_packet){
			.kind = IPT_TMA, .tma = {.ctc = 50, .fast = 0, .has_reserved = is_wrong}
                });
		if (is_wrong)
			buf_char(&trace, 0x04);
		put((struct ipt_packet){.kind = IPT_MTC, .mtc = 7});
		put_branches(2);
		check(is_wrong ? "on 1000 3 at 5000 2 " : "on 1000 3 at 5000 at 5600 2 ",
		      is_wrong ? "SKZ84: neither TMA nor what follows it counts"
			       : "SKZ84: a TMA that is right does");
	}
	config.errata = 0;
}

/** Cycles were said to be 100 ticks. At each PSB+ it turns out that it were fewer. */
static void time_at_psb(void)
{
	begin(1000);
	for (uint64_t i = 1; i < 4; i++) {
		put_cyc(100);
		put_branches(1);
		put_psb(START + 2 * (3 + i), 1000 + i * 90);
		put_cyc(5);
	}
	put_branches(1);
	check("at 1000 on 1000 3 at 1100 1 at 1100 at 1100 at 1195 1 at 1195 at 1195 at 1285 1 at "
	      "1285 at 1285 1 ",
	      "time does not go back where a PSB+ corrects it");
}

/** Cycles are counted from an MTC on only if CYC comes right before it. */
static void time_after_branch(void)
{
	begin(1000);
	put((struct ipt_packet){.kind = IPT_TSC, .tsc = 2000});
	put((struct ipt_packet){.kind = IPT_TMA});
	put_cyc(30);
	put_branches(1);
	put((struct ipt_packet){.kind = IPT_MTC, .mtc = 1});
	put_cyc(5);
	put_branches(1);
	for (int i = 0; i < 200; i++)
		put_kind(IPT_PAD);
	check("at 1000 on 1000 3 at 2000 1 at 2800 1 ", "a branch between CYC and MTC");
}

/** A count is that of the oldest bit of the TNT after it, or of the TIP. */
static void cycles(void)
{
	begin(0);
	put_cyc(10);
	put_branches(3);
	put_cyc(20);
	put((struct ipt_packet){.kind = IPT_TNT, .nr_tnt = 3, .tnt = 1});
	put_branches(1);
	put_cyc(5);
	put_ip(IPT_FUP, START + 20);
	put_cyc(6);
	put_ip(IPT_TIP, JUMP);
	put_cyc(7);
	put_ip(IPT_TIP, START);
	put_cyc(8);
	put_ip(IPT_FUP, START);
	put_kind(IPT_TIP_PGD);
	put_cyc(200);
	put_mode(64);
	put_ip(IPT_TIP_PGE, START);
	put_branches(1);
	has_cycles = true;
	check("on 1000 4 10 or more cycles 3 20 cycles 3 int 1014 11 cycles 1 7 cycles 8 cycles off 0 "
	      "cycles on 1000 1 ",
	      "cycles of branches");
	has_cycles = false;
	check("on 1000 10 int 1014 1 off on 1000 1 ", "and none, if they are not asked for");
}

static void put_item(uint8_t item, uint64_t value)
{
	put((struct ipt_packet){
		.kind = IPT_BIP, .bytes = 9, .bip = {value, item}
        });
}

static void pebs(void)
{
	begin(0);
	for (uint8_t has_fup = 0; has_fup < 2; has_fup++) {
		put((struct ipt_packet){
			.kind = IPT_BBP, .bbp = {4, 8}
                });
		put_item(0, START + 8);
		put((struct ipt_packet){
			.kind = IPT_BBP, .bbp = {1, 8}
                });
		put_item(17, 0x99);
		put((struct ipt_packet){.kind = IPT_BEP, .has_fup = has_fup});
	}
	put_ip(IPT_FUP, START + 6);
	put_branches(2);
	check("on 1000 3 4.0=1008 1.17=99 pebs 1006 4.0=1008 1.17=99 pebs 1006 2 ",
	      "records of PEBS, with a FUP and without");
}

/* --- code is not followed: ".1000" is a place --- */

static void put_ptw(void)
{
	put((struct ipt_packet){.kind = IPT_PTW, .bytes = 6, .has_fup = true, .ptw = 42});
}

/** Of addresses without code, with all that stands between places. */
static void make_places(void)
{
	begin(0);
	put_ip(IPT_TIP, 0x5000);
	put_ip(IPT_FUP, 0x5010);
	put_ip(IPT_TIP, 0x6000);
	put_branches(3);
	put_ptw();
	put_ip(IPT_FUP, 0x6008);
	put_psb(0x6010, 0);
	put_ip(IPT_TIP, 0x7000);
	put_kind(IPT_OVF);
	put_ip(IPT_FUP, 0x7100);
	put_ip(IPT_FUP, 0x7200);
	put_kind(IPT_TIP_PGD);
	put_psb(0x7200, 0); /* an erratum: it does not count */
	put_ip(IPT_TIP_PGE, 0x8000);
	put_branches(2);
	put_psb(0x8010, 0);
	put_ip(IPT_TIP, 0x9000);
	put_kind(IPT_TIP_PGD);
}

static void places(void)
{
	static const char words[] =
		"on 1000 .1000 .5000 int.5010 int 5010 .6000 .6008 ptw 6008 .6010 .7000 lost on 7100 .7100 "
		"end.7200 off on 8000 .8000 .8010 .9000 off ";

	make_places();
	detail = FLOW_POINTS;
	check(words, "q: each place that a packet names, and nothing is looked up");
	detail = FLOW_SYNCS;
	check(".6010 .8010 ", "qq: those of PSB+ where something is traced");
	detail = FLOW_ALL;
	config.has_no_tnt = true;
	check(words, "without TNT: the same as q");
	config.has_no_tnt = false;
}

static void places_of_transactions(void)
{
	begin(0);
	put_tsx(true);
	put_ip(IPT_FUP, START + 10);
	put_ip(IPT_TIP, 0x5000);
	put((struct ipt_packet){
		.kind = IPT_MODE_TSX, .tsx = {false, true}
        });
	put_ip(IPT_FUP, 0x5008);
	put_ip(IPT_TIP, START + 20);
	detail = FLOW_POINTS;
	check("on 1000 .1000 .100a tx .5000 abort.5008 abort int 5008 .1014 ",
	      "q: a transaction begins, and is aborted");
	detail = FLOW_ALL;
}

/** Nothing says whether tracing is on. */
static void no_branches(void)
{
	config.has_no_branches = true;
	buf_clear(&trace);
	last_ip = 0;
	put_psb(0, 0);
	put_ptw();
	put_ip(IPT_FUP, 0x5000);
	put((struct ipt_packet){.kind = IPT_EXSTOP, .has_fup = true});
	put_ip(IPT_FUP, UINT64_MAX - 0xfff);
	put_kind(IPT_OVF);
	put_psb(0, 0);
	put_ptw();
	put_ip(IPT_FUP, 0x5008);
	put_psb(0x5010, 0);
	put_kind(IPT_OVF);
	put_ip(IPT_FUP, 0x5020);
	check(".5000 ptw 5000 .fffffffffffff000 lost .5008 ptw 5008 .5010 lost .5020 ",
	      "branch=0: places of PTWRITE, power and PSB+");
	config.has_no_branches = false;
}

/** Parts may begin where tracing is off: the context, and whether a transaction is open, are those
 * before. */
static void parts_while_off(void)
{
	begin(1000);
	for (uint64_t i = 1; i <= 5; i++) {
		uint64_t ip = START + 2 * (3 + i);

		put_ip(IPT_TIP_PGD, ip);
		put_psb(0, 1000 + i);
		put_psb(0, 0);
		put_psb(0, 0);
		if (i == 1)
			put_pip(0x5000);
		put_mode(i == 2 ? 32 : 64);
		put_tsx(i == 4);
		put_ip(IPT_TIP_PGE, ip);
	}
	put_branches(1);
	check("at 1000 on 1000 4 off at 1001 cr3 5000 on 1008 1 off at 1002 cr3 5000 on 100a 1 off at 1003 cr3 5000 on 100c 1 off at 1004 tx on 100e 1 off at 1005 end on 1010 1 ",
	      "parts that begin with tracing off");
}

static void cuts_while_off(void)
{
	struct ipt_flow_opts o = {.config = &config, .flow.code = &source, .flow.batch = take};
	struct flow *f = ipt_flow_new(&o);
	struct bytes in;
	size_t at, said_at;

	begin(0);
	put_ip(IPT_TIP_PGD, START + 8);
	at = trace.nr;
	put_psb(0, 1000);
	put_psb(START, 1000);
	in = bytes_of(trace.data, trace.nr);
	CHECK_EQ(ipt_find_cut(f, in, 1, trace.nr), at, "a part begins where tracing is off");
	CHECK(ipt_place_of_cut(f, bytes_of(trace.data + at, trace.nr - at), &said_at) ==
		      FLOW_NO_ADDRESS,
	      "and so at no place");
	config.has_event_trace = true;
	CHECK(ipt_find_cut(f, in, 1, trace.nr) > at, "with event trace none does");
	config.has_event_trace = false;
	flow_free(f);
}

/* --- long traces --- */

enum { LONG_BYTES = 24 << 20, MOST_BRANCHES = 900 };

static void make_long(void)
{
	size_t nr;

	buf_clear(&trace);
	put_psb(0, 0);
	put_mode(64);
	put_ip(IPT_TIP_PGE, START);
	put_psb(START, 0);
	for (int i = 0; i < MOST_BRANCHES; i += 6)
		put_branches(6);
	put_ip(IPT_TIP_PGD, START + 2 * (MOST_BRANCHES + 1));
	nr = trace.nr;
	buf_reserve(&trace, LONG_BYTES + nr);
	while (!trace.is_failed && trace.nr < LONG_BYTES)
		buf_add(&trace, trace.data, nr);
}

static enum clew_err take_epoch(void *ctx, const struct flow_batch *b)
{
	uint32_t *most = ctx;

	*most = b->epoch > *most ? b->epoch : *most;
	return CLEW_OK;
}

/** What limits counts limits nothing where there are none: each worker decodes more than that. */
static void keeps_cache(void)
{
	uint32_t most = 0;
	struct ipt_flow_opts o = {.config = &config,
				  .flow.code = &source,
				  .flow.batch = take_epoch,
				  .flow.ctx = &most,
				  .flow.nr_threads = 2};
	struct flow *f;

	make_long();
	f = ipt_flow_new(&o);
	CHECK(f && !flow_feed(f, bytes_of(trace.data, trace.nr)) && !flow_finish(f),
	      "a long trace");
	CHECK(most < o.flow.nr_threads, "no cache is cleared that is not full");
	flow_free(f);
}

int main(void)
{
	if (!x86_can_decode())
		SKIP_ALL("built without Zydis");
	make_code();
	overflow_in_psb();
	end_in_psb();
	after_overflow();
	early_fup();
	fup_of_entry();
	wrong_target_of_abort();
	overflow_without_fup();
	tma_of_guest();
	time_at_psb();
	time_after_branch();
	cycles();
	pebs();
	places();
	places_of_transactions();
	no_branches();
	parts_while_off();
	cuts_while_off();
	keeps_cache();
	buf_done(&trace);
	return tap_done();
}
