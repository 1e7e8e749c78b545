/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copied stacks in recordings: registers, byte order, the kernel's part, what is not unwound. Steps
 * are by frame pointer here, as the code's file is missing; tables: tests/diff/dwarf_stack_diff.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "make/perf_build.h"
#include "unit/analyze_made.h"
#include "unit/tap.h"

enum {
	SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
		 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	NR_WORDS = 64,
};
#define CODE_AT  UINT64_C(0x10000)
#define STACK_AT UINT64_C(0x7fff0000)

struct recording {
	const char *arch;
	unsigned int sp, fp, pc; /* in the register mask */
	uint64_t mask, abi;
	bool is_big;
	uint64_t signature; /* bits of the saved return addresses */
	uint64_t top;       /* where further code ends; 0: there is none */
};

static const struct recording x86_64 = {"x86_64", 7, 6, 8, 0xff0fff, 2, false, 0, 0};
static const struct recording aarch64 = {"aarch64", 31, 29, 32, 0x1ffffffff, 2, false, 0, 0};

static void put_word(uint8_t *at, uint64_t v, bool is_big)
{
	for (unsigned int i = 0; i < 8; i++)
		at[is_big ? 7 - i : i] = (uint8_t)(v >> 8 * i);
}

/* Three frames: FP leads to two records, the last of which says 0. */
static void fill_stack(uint8_t *stack, const struct recording *r)
{
	bool is_big = r->is_big;

	put_word(stack + 64, STACK_AT + 128, is_big);
	put_word(stack + 72, (CODE_AT + 0x200) | r->signature, is_big);
	put_word(stack + 128, 0, is_big);
	put_word(stack + 136, (CODE_AT + 0x300) | r->signature, is_big);
}

static void put_map(struct perf_build *b, uint64_t start)
{
	const struct perf_sample_id id = {
		.time = 1, .pid = 5, .tid = 5, .id = UINT64_MAX, .stream_id = UINT64_MAX};
	const union perf_view v = {
		.mmap = {.pid = 5,
			 .tid = 5,
			 .start = start,
			 .len = 0x1000,
			 .filename = "/no/such/program",
			 .is_mmap2 = true,
			 .prot = 5}
        };

	perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, &id);
}

static void put_maps(struct perf_build *b, const struct recording *r)
{
	put_map(b, CODE_AT);
	if (r->top)
		put_map(b, r->top - 0x1000);
}

static void put_sample(struct perf_build *b, const struct recording *r, const uint64_t *chain,
		       uint32_t nr, uint64_t dyn_size)
{
	uint8_t stack[8 * NR_WORDS] = {0}, regs[8 * 64] = {0};
	uint32_t nr_regs = 0;

	fill_stack(stack, r);
	for (unsigned int bit = 0; bit < 64; bit++) {
		uint64_t v = bit == r->sp ? STACK_AT
			   : bit == r->fp ? STACK_AT + 64
			   : bit == r->pc ? CODE_AT + 0x100
					  : 1;

		if (r->mask >> bit & 1)
			put_word(regs + 8 * (size_t)nr_regs++, v, r->is_big);
	}
	perf_build_sample(
		b, 0,
		&(struct perf_sample){
			.misc = PERF_RECORD_MISC_USER,
			.ip = CODE_AT + 0x100,
			.time = 10,
			.pid = 5,
			.tid = 5,
			.callchain = {(const uint8_t *)chain,                                      nr,
				      r->is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)},
			.regs_user = {.abi = r->abi,
				      .mask = r->mask,
				      .words = {regs, r->abi ? nr_regs : 0,
						r->is_big !=
							(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)}},
			.stack_user = {.data = {stack, stack + sizeof(stack)},
                                      .dyn_size = dyn_size  }
        });
}

struct seen {
	struct buf text, hows; /* "level address", "how" of each frame; then the outcome */
	uint8_t stop;
	bool has_fp, is_as_perf;
};

static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	struct seen *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_chain *chain = b->events[i].chain;

		s->stop = b->events[i].unwind_stop;
		s->has_fp = b->events[i].unwind_has_fp;
		for (uint32_t j = 0; chain && j < chain->nr; j++) {
			uint32_t n = j - b->events[i].hows_at;

			buf_printf(&s->text, "%s%llx%s ",
				   chain->locs[j]->level == ANA_KERNEL ? "k" : "",
				   (unsigned long long)chain->locs[j]->ip,
				   chain->locs[j]->is_return ? "r" : "");
			if (b->events[i].hows && n < b->events[i].nr_hows)
				buf_printf(&s->hows, "%s ",
					   n ? unw_how_name((enum unw_how)b->events[i].hows[n])
					     : "-");
			else
				buf_str(&s->hows, "? ");
		}
		if (b->events[i].has_user_state)
			buf_str(&s->hows,
				stitch_state_name((enum stitch_state)b->events[i].user_state));
	}
	return CLEW_OK;
}

static enum clew_err run(struct bytes file, struct seen *s, struct ana_summary *ret)
{
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct ana_opts opts = {.is_single_threaded = true,
				.no_symbols = true,
				.wants_outcomes = true,
				.wants_hows = true,
				.is_as_perf = s->is_as_perf};

	return analyze_made(&in, &opts, (struct ana_consumer){take_batch, s}, ret);
}

static void build(struct perf_build *b, const struct recording *r)
{
	const struct perf_attr attr = {.sample_type = SAMPLE,
				       .sample_period = 1,
				       .sample_regs_user = r->mask,
				       .sample_stack_user = 8 * NR_WORDS,
				       .flags = PERF_ATTR_SAMPLE_ID_ALL};

	b->opts.big = r->is_big;
	perf_build_event(b, &attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_event_desc(b);
	if (r->arch)
		perf_build_feature_string(b, PERF_FEAT_ARCH, r->arch);
	put_maps(b, r);
}

/* A recording of one sample, read. */
static void read_one(const struct recording *r, const uint64_t *chain, uint32_t nr,
		     uint64_t dyn_size, struct seen *s, struct ana_summary *sum, const char *what)
{
	struct perf_build b = {0};

	build(&b, r);
	put_sample(&b, r, chain, nr, dyn_size);
	CHECK_EQ(run(perf_build_finish(&b), s, sum), CLEW_OK, "%s: read", what);
	perf_build_done(&b);
}

static void check_as(const struct recording *r, const uint64_t *chain, uint32_t nr,
		     uint64_t dyn_size, const char *want, const char *stop, bool is_as_perf,
		     const char *what)
{
	struct seen s = {.is_as_perf = is_as_perf};
	struct ana_summary sum = {0};

	read_one(r, chain, nr, dyn_size, &s, &sum, what);
	CHECK_STR(buf_cstr(&s.text), want, "%s: the chain", what);
	CHECK_STR(analyze_stop_name(s.stop), stop, "%s: %s", what, stop);
	CHECK_EQ(sum.nr_unwound[s.stop], dyn_size && r->abi, "%s: counted", what);
	buf_done(&s.text);
	buf_done(&s.hows);
}

/* perf's addresses of callers, of which each ends in 0xff, to where their calls return to. */
static void put_returns(struct buf *out, const char *want)
{
	char *end;

	for (; *want; want = end + 1) {
		unsigned long long v = strtoull(want + (*want == 'k'), &end, 16);
		bool is_caller = (v & 0xff) == 0xff;

		buf_printf(out, "%s%llx%s ", *want == 'k' ? "k" : "", v + is_caller,
			   is_caller ? "r" : "");
	}
}

/* @p want: as perf has it. */
static void check(const struct recording *r, const uint64_t *chain, uint32_t nr, uint64_t dyn_size,
		  const char *want, const char *stop, const char *what)
{
	struct buf returns = {0};

	put_returns(&returns, want);
	check_as(r, chain, nr, dyn_size, want, stop, true, what);
	check_as(r, chain, nr, dyn_size, buf_cstr(&returns), stop, false, what);
	buf_done(&returns);
}

/* The outcome, and how each frame was found. */
static void check_how(const struct recording *r, const uint64_t *chain, uint32_t nr,
		      uint64_t dyn_size, const char *want, const char *what)
{
	struct ana_summary sum = {0};
	struct seen s = {0};

	read_one(r, chain, nr, dyn_size, &s, &sum, what);
	CHECK_STR(buf_cstr(&s.hows), want, "%s", what);
	CHECK_EQ(sum.users.nr_partial + sum.users.nr_unproven, 1, "%s: not counted as complete",
		 what);
	buf_done(&s.text);
	buf_done(&s.hows);
}

/* No frame pointer proves the outermost frame, and one frame of a task that is not unwound is not
 * all of it. */
static void test_hows(void)
{
	const uint64_t kernel[] = {PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010),
				   PERF_CONTEXT_USER, 0x1234};
	struct recording r = x86_64;

	check_how(&x86_64, NULL, 0, 512, "- fp-convention fp-convention unproven",
		  "amd64: frame pointers by convention");
	check_how(&aarch64, NULL, 0, 512, "- fp-convention fp-convention unproven",
		  "aarch64: frame pointers by convention");
	check_how(&x86_64, kernel, 4, 512, "? - fp-convention fp-convention unproven",
		  "the kernel's part was found otherwise");
	check_how(&x86_64, NULL, 0, 100, "- fp-convention partial", "a copy that was too short");
	check_how(&x86_64, kernel, 4, 0, "? ? unproven", "the kernel's own frame pointers");
	r.abi = 1;
	check_how(&r, kernel, 4, 512, "? ? partial", "one frame of a 32-bit task");
}

static void test_chains(void)
{
	const uint64_t kernel[] = {PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010),
				   PERF_CONTEXT_USER, 0x1234};

	check(&x86_64, NULL, 0, 512, "10100 101ff 102ff ", "fp-end", "amd64");
	check(&aarch64, NULL, 0, 512, "10100 101ff 102ff ", "fp-end", "aarch64");
	check(&x86_64, kernel, 4, 512, "kffffffff81000010 10100 101ff 102ff ", "fp-end",
	      "the kernel's part stays, a recorded user part does not");
	check(&x86_64, NULL, 0, 100, "10100 101ff ", "stack-truncated",
	      "only what was copied counts");
	check(&x86_64, kernel, 2, 0, "kffffffff81000010 ", "none", "no copy, nothing unwound");
}

static void test_other_machines(void)
{
	struct recording r = x86_64;
	const uint64_t kernel[] = {PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010)};

	r.abi = 1;
	check(&r, kernel, 2, 512, "kffffffff81000010 ", "unsupported-registers",
	      "a 32-bit program");
	r = x86_64;
	r.arch = "riscv64";
	check(&r, kernel, 2, 512, "kffffffff81000010 ", "unsupported-registers", "another machine");
	r = x86_64;
	r.mask &= ~(UINT64_C(1) << r.sp);
	check(&r, kernel, 2, 512, "kffffffff81000010 ", "register-unknown", "SP not recorded");
	r = x86_64;
	r.mask &= ~(UINT64_C(1) << r.fp);
	check(&r, NULL, 0, 512, "10100 ", "no-info", "frame pointer not recorded");
	r = x86_64;
	r.abi = 0;
	check(&r, kernel, 2, 0, "kffffffff81000010 ", "none", "a kernel thread has no registers");
	r = aarch64;
	r.is_big = true;
	check(&r, NULL, 0, 512, "10100 101ff 102ff ", "fp-end", "other byte order");
}

/* Every bit above the highest mapping may be of a signature. */
static void test_signed(void)
{
	static const struct {
		uint64_t signature, top;
		const char *want, *stop, *what;
	} t[] = {
		{UINT64_C(0x2a) << 48,   0,                 "10100 101ff 102ff ", "fp-end",
		 "nothing else known: 48 bits"},
		{UINT64_C(0x2a55) << 39, UINT64_C(1) << 39, "10100 101ff 102ff ", "fp-end",
		 "39 bits of address"         },
		{UINT64_C(0x55) << 47,   UINT64_C(1) << 47, "10100 101ff 102ff ", "fp-end",
		 "47 bits"                    },
		{UINT64_C(1) << 40,      UINT64_C(1) << 48, "10100 ",             "no-info",
		 "40 of 48: another address"  },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct recording r = aarch64;

		r.signature = t[i].signature;
		r.top = t[i].top;
		check(&r, NULL, 0, 512, t[i].want, t[i].stop, t[i].what);
	}
}

static void test_no_memory(void)
{
	struct perf_build b = {0};
	struct bytes file;
	unsigned int nr_failed = 0, nr_silent = 0;

	build(&b, &x86_64);
	put_sample(&b, &x86_64, NULL, 0, 512);
	file = perf_build_finish(&b);
	for (uint64_t n = 0; n < 400; n++) {
		struct ana_summary sum = {0};
		struct seen s = {0};
		enum clew_err err;

		mem_fail_after(n);
		err = run(file, &s, &sum);
		nr_failed += mem_has_failed() != 0;
		nr_silent += mem_has_failed() && err == CLEW_OK && !s.text.is_failed &&
			     !s.hows.is_failed;
		mem_fail_after(UINT64_MAX);
		buf_done(&s.text);
		buf_done(&s.hows);
	}
	CHECK(nr_failed > 20, "each of %u allocations failing in turn", nr_failed);
	CHECK_EQ(nr_silent, 0, "never without a report");
	perf_build_done(&b);
}

int main(void)
{
	test_chains();
	test_signed();
	test_hows();
	test_other_machines();
	test_no_memory();
	return tap_done();
}
