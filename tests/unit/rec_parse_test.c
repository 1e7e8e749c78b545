/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/rec_parse.h"

#include "os/proc.h"
#include "record/open/target.h"
#include "unit/tap.h"

static struct rec_options o;
static struct rec_error error;

static void test_pages(void)
{
	size_t page = os_page_bytes();
	static const char *const bad[] = {"",    "3",  "0",  "x", "4Q", "9999999999G",
					  "1,3", "-1", "2,x"};

	CHECK(!rec_parse_pages(&o, "128", &error) && o.data_bytes == 128 * page && !o.aux_bytes,
	      "-m 128: pages");
	CHECK(!rec_parse_pages(&o, "4M,16m", &error) && o.data_bytes == 4 << 20 &&
		      o.aux_bytes == 16 << 20,
	      "-m 4M,16m: sizes");
	CHECK(!rec_parse_pages(&o, ",64", &error) && !o.data_bytes && o.aux_bytes == 64 * page,
	      "-m ,64: the trace buffer alone");
	CHECK(!rec_parse_pages(&o, "5000B", &error) && o.data_bytes == 2 * page,
	      "a size is rounded up to a power of two of pages");
	for (size_t i = 1; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(rec_parse_pages(&o, bad[i], &error), CLEW_INVALID, "-m %s", bad[i]);
}

static void test_callgraph(void)
{
	CHECK(!rec_parse_callgraph(&o, "fp", &error) && o.stacks.kind == REC_STACKS_FP, "fp");
	CHECK(!rec_parse_callgraph(&o, "fp,32", &error) && o.stacks.depth == 32, "fp,32");
	CHECK(!rec_parse_callgraph(&o, "dwarf", &error) && o.stacks.bytes == 0, "dwarf");
	CHECK(!rec_parse_callgraph(&o, "dwarf,4097", &error) && o.stacks.bytes == 4104,
	      "dwarf,4097: rounded up to 8");
	CHECK(!rec_parse_callgraph(&o, "dwarf,65528", &error) && o.stacks.bytes == 65528,
	      "dwarf,65528: the most");
	CHECK(rec_parse_callgraph(&o, "dwarf,65529", &error) == CLEW_INVALID, "dwarf,65529");
	CHECK(rec_parse_callgraph(&o, "lbr,3", &error) == CLEW_INVALID, "lbr,3");
	CHECK(rec_parse_callgraph(&o, "", &error) == CLEW_INVALID, "nothing");
	CHECK(!rec_parse_callgraph(&o, "auto", &error) && o.stacks.kind == REC_STACKS_AUTO, "auto");
	CHECK(rec_parse_callgraph(&o, "auto,3", &error) == CLEW_INVALID, "auto,3");
	CHECK(!rec_parse_callgraph(&o, "sframe,immediate", &error) &&
		      o.stacks.kind == REC_STACKS_BPF_IMMEDIATE,
	      "sframe,immediate");
	CHECK(!rec_parse_callgraph(&o, "sframe", &error) &&
		      o.stacks.kind == REC_STACKS_BPF_DEFERRED,
	      "sframe");
	CHECK(rec_parse_callgraph(&o, "sframe,soon", &error) == CLEW_INVALID, "sframe,soon");
	CHECK(!rec_parse_callgraph(&o, "fp,defer", &error) &&
		      o.stacks.kind == REC_STACKS_KERNEL_DEFERRED,
	      "fp,defer");
	CHECK(!rec_parse_callgraph(&o, "defer", &error) &&
		      o.stacks.kind == REC_STACKS_KERNEL_DEFERRED,
	      "defer");
	CHECK(!rec_parse_callgraph(&o, "no", &error) && o.stacks.kind == REC_STACKS_NONE, "no");
	CHECK(!rec_parse_drain(&o, "50", &error) && o.has_drain_ms && o.drain_ms == 50, "drain 50");
	CHECK(rec_parse_drain(&o, "5s", &error) == CLEW_INVALID, "drain 5s");
}

static void test_words(void)
{
	uint64_t regs = 0;

	CHECK(!rec_parse_branches(&o, "any_call,u", &error) &&
		      o.branch_filter == (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER),
	      "any_call,u");
	CHECK(!rec_parse_branches(&o, "k", &error) &&
		      o.branch_filter == (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL),
	      "a level alone means any branch");
	CHECK(rec_parse_branches(&o, "any,nay", &error) == CLEW_INVALID &&
		      strstr(error.text, "'nay'"),
	      "the unknown word is named");
	CHECK(!rec_parse_regs("-I", NULL, &regs, &error) && !regs, "no list: all");
	CHECK(rec_parse_regs("-I", "QX", &regs, &error) == CLEW_INVALID, "no such register");
#if defined(__x86_64__)
	CHECK(!rec_parse_regs("-I", "ip,SP", &regs, &error) && regs == (1 << 8 | 1 << 7),
	      "either case");
#endif
}

static void test_switch(void)
{
	o.switch_output.max_files = 3;
	CHECK(!rec_parse_switch(&o, NULL, &error) && o.switch_output.on_signal &&
		      o.switch_output.max_files == 3,
	      "by signal when nothing is said");
	CHECK(!rec_parse_switch(&o, "30s", &error) && o.switch_output.ns == 30000000000ull &&
		      !o.switch_output.on_signal,
	      "30s");
	CHECK(!rec_parse_switch(&o, "2h", &error) && o.switch_output.ns == 7200000000000ull, "2h");
	CHECK(!rec_parse_switch(&o, "100M", &error) && o.switch_output.bytes == 100 << 20, "100M");
	CHECK(!rec_parse_switch(&o, "5m", &error) && o.switch_output.ns == 300000000000ull,
	      "5m is minutes");
	CHECK(rec_parse_switch(&o, "0s", &error) == CLEW_INVALID, "0s");
	CHECK(rec_parse_switch(&o, "12", &error) == CLEW_INVALID, "a number without unit");
}

static void test_rest(void)
{
	uint64_t v;

	CHECK(!rec_parse_clock(&o, "CLOCK_MONOTONIC_RAW", &error) && o.clockid == 4,
	      "clock by name");
	CHECK(!rec_parse_clock(&o, "7", &error) && o.clockid == 7, "clock by number");
	CHECK(rec_parse_clock(&o, "99", &error) == CLEW_INVALID, "no such clock");
	CHECK(!rec_parse_delay(&o, "-1", &error) && o.delay_ms == -1, "-D -1");
	CHECK(!rec_parse_delay(&o, "250", &error) && o.delay_ms == 250, "-D 250");
	CHECK(rec_parse_delay(&o, "1-2", &error) == CLEW_UNSUPPORTED, "-D 1-2");
	CHECK(!rec_parse_freq(&o, "max", &error) && o.is_freq_max, "-F max");
	CHECK(rec_parse_freq(&o, "0", &error) == CLEW_INVALID, "-F 0");
	CHECK(!rec_parse_size("18446744073709551615T", &v), "a size that wraps");
}

static void test_cpus(void)
{
	struct rec_ints v = {0};
	static const char *const bad[] = {"x", "1-", "3-1", "1,,2", "-1", "99999999", "1 2"};

	CHECK(!rec_cpus_parse("5,0-2,1", &v, &error) && v.nr == 4 && v.data[0] == 0 &&
		      v.data[3] == 5,
	      "a list, sorted, each once");
	vec_done(&v);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(rec_cpus_parse(bad[i], &v, &error), CLEW_INVALID, "CPUs '%s'", bad[i]);
		vec_done(&v);
	}
}

int main(void)
{
	test_pages();
	test_callgraph();
	test_words();
	test_switch();
	test_rest();
	test_cpus();
	return tap_done();
}
