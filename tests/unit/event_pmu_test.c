/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PMU events and tracepoints of a machine made of files: hybrid x86 cores, several uncore boxes,
 * Intel PT, and a tracefs with three events. */
#include <math.h>

#include "os/perf/pmu.h"
#include "record/plan/event_list.h"
#include "unit/test_dir.h"

static char tracefs[80];

#define PMU "bus/event_source/devices/"

static void build(void)
{
	test_dir_put(PMU "cpu_core/type", "4\n");
	test_dir_put(PMU "cpu_core/cpus", "0-7\n");
	test_dir_put(PMU "cpu_core/format/event", "config:0-7\n");
	test_dir_put(PMU "cpu_core/format/umask", "config:8-15\n");
	test_dir_put(PMU "cpu_core/format/inv", "config:23\n");
	test_dir_put(PMU "cpu_core/format/ldlat", "config1:0-15\n");
	test_dir_put(PMU "cpu_core/format/offcore_rsp", "config1:0-63\n");
	test_dir_put(PMU "cpu_core/format/broken", "confg:0-7\n");
	test_dir_put(PMU "cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	test_dir_put(PMU "cpu_core/events/cpu-cycles", "event=0x3c\n");
	test_dir_put(PMU "cpu_core/events/slots.unit", "x\n");
	test_dir_put(PMU "cpu_atom/type", "10\n");
	test_dir_put(PMU "cpu_atom/cpus", "8-15\n");
	test_dir_put(PMU "cpu_atom/format/event", "config:0-7\n");
	test_dir_put(PMU "cpu_atom/events/cpu-cycles", "event=0x3c\n");
	test_dir_put(PMU "uncore_imc_0/type", "20\n");
	test_dir_put(PMU "uncore_imc_0/cpumask", "0\n");
	test_dir_put(PMU "uncore_imc_0/format/event", "config:0-7,32-39\n");
	test_dir_put(PMU "uncore_imc_0/format/split", "config2:4-7,0-3\n");
	test_dir_put(PMU "uncore_imc_0/events/clockticks", "event=0x0104\n");
	test_dir_put(PMU "uncore_imc_0/events/cas_read", "event=4\n");
	test_dir_put(PMU "uncore_imc_0/events/cas_read.scale", "6.103515625e-5\n");
	test_dir_put(PMU "uncore_imc_0/events/cas_read.unit", "MiB\n");
	test_dir_put(PMU "uncore_imc_1/type", "21\n");
	test_dir_put(PMU "uncore_imc_1/cpumask", "0\n");
	test_dir_put(PMU "uncore_imc_1/format/event", "config:0-7,32-39\n");
	test_dir_put(PMU "uncore_imc_1/events/clockticks", "event=0x0104\n");
	test_dir_put(PMU "intel_pt/type", "8\n");
	test_dir_put(PMU "intel_pt/format/tsc", "config:10\n");
	test_dir_put(PMU "intel_pt/format/psb_period", "config:24-27\n");
	test_dir_put(PMU "intel_pt/format/pt", "config:0\n");
	test_dir_put(PMU "intel_pt/format/branch", "config:13\n");
	test_dir_put(PMU "intel_pt/format/mtc", "config:9\n");
	test_dir_put(PMU "intel_pt/format/mtc_period", "config:14-17\n");
	test_dir_put(PMU "intel_pt/format/ptw", "config:12\n");
	test_dir_put(PMU "intel_pt/format/cyc_thresh", "config:19-22\n");
	test_dir_put(PMU "intel_pt/caps/ptwrite", "0\n");
	test_dir_put(PMU "intel_pt/caps/mtc", "1\n");
	test_dir_put(PMU "intel_pt/caps/mtc_periods", "249\n"); /* 0, 3, 6, 9 */
	test_dir_put(PMU "intel_pt/caps/psb_cyc", "1\n");
	test_dir_put(PMU "intel_pt/caps/psb_periods", "33\n"); /* 0, 1, 4, 5 */
	test_dir_put(PMU "intel_pt/nr_addr_filters", "2\n");
	test_dir_put(PMU "arm_spe_0/type", "11\n");
	test_dir_put(PMU "arm_spe_0/cpumask", "0-3\n");
	test_dir_put(PMU "arm_spe_0/format/ts_enable", "config:0\n");
	test_dir_put(PMU "arm_spe_0/format/load_filter", "config:33\n");
	test_dir_put(PMU "arm_spe_0/caps/min_interval", "256\n");
	test_dir_put(PMU "cs_etm/type", "9\n");
	test_dir_put(PMU "cs_etm/sinks/tmc_etr0", "0x2c7ab1d\n");
	test_dir_put(PMU "cs_etm/format/contextid", "config:14\n");
	test_dir_put(PMU "cs_etm/format/contextid1", "config:14\n");
	test_dir_put(PMU "cs_etm/format/contextid2", "config:15\n");
	test_dir_put(PMU "cs_etm/format/timestamp", "config:28\n");
	test_dir_put(PMU "cs_etm/cpu0/trcidr/trcidr0", "0x28000ea1\n");
	test_dir_put(PMU "cs_etm/cpu0/trcidr/trcidr2", "0x20001088\n");
	test_dir_put(PMU "cs_etm/cpu1/trcidr/trcidr0", "0x28000ea1\n");
	test_dir_put(PMU "cs_etm/cpu1/trcidr/trcidr2", "0x00001088\n"); /* VMIDOPT 0 */
	test_dir_put(PMU "kprobe/type", "6\n");
	test_dir_put(PMU "kprobe/format/retprobe", "config:0\n");
	test_dir_put(PMU "notype/format/x", "config:0\n");
	test_dir_put("tracing/events/sched/sched_switch/id", "314\n");
	test_dir_put("tracing/events/sched/sched_switch/format",
		     "name: sched_switch\nID: 314\nformat:\n"
		     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		     "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		     "\tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:0;\n\n"
		     "print fmt: \"x\"\n");
	test_dir_put("tracing/events/sched/sched_wakeup/id", "315\n");
	test_dir_put(
		"tracing/events/sched/sched_wakeup/format",
		"name: sched_wakeup\nformat:\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n");
	test_dir_put("tracing/events/ftrace/function/format", "no id: ftrace's own\n");
	test_dir_put("tracing/events/sched/enable", "0\n");
	snprintf(tracefs, sizeof(tracefs), "%s/tracing", test_dir);
}

/* pt, mtc, branch, mtc_period=3 */
#define PT_DEFAULT (1 << 0 | 1 << 9 | 1 << 13 | 3 << 14)

/* timestamp, contextid */
#define ETM_DEFAULT (1 << 28 | 1 << 14)

static struct rec_event_list list(void)
{
	return (struct rec_event_list){.sysfs = test_dir, .tracefs = tracefs};
}

/* clang-format off */
static const struct row {
	const char *text, *names; /* of the events, separated by spaces */
	uint32_t type;            /* of the first event, as all below */
	uint64_t config, config1, config2;
	const char *cpus;
} rows[] = {
	{ "cpu_core/event=0x3c,umask=0x1/", "cpu_core/event=0x3c,umask=0x1/", 4, 0x13c, 0, 0, "0-7" },
	{ "cpu_core/mem-loads/u",        "cpu_core/mem-loads/u", 4, 0x1cd, 3, 0, "0-7" },
	{ "cpu_core/mem-loads,ldlat=30/P", "cpu_core/mem-loads,ldlat=30/P", 4, 0x1cd, 30, 0, "0-7" },
	{ "cpu_core/inv/",               "cpu_core/inv/", 4, 1 << 23, 0, 0, "0-7" },
	{ "cpu_core/offcore_rsp=0xffffffffffffffff/", "cpu_core/offcore_rsp=0xffffffffffffffff/", 4, 0, UINT64_MAX, 0, "0-7" },
	{ "cpu_core/config=0x55,name=mine/", "mine", 4, 0x55, 0, 0, "0-7" },
	{ "cpu_core/instructions/",      "cpu_core/instructions/", 0, 1 | 4ull << 32, 0, 0, "0-7" },
	{ "cpu_atom/LLC-loads/",         "cpu_atom/LLC-loads/", 3, 2 | 10ull << 32, 0, 0, "8-15" },
	{ "cycles:u",                    "cpu_atom/cycles/u cpu_core/cycles/u", 0, 10ull << 32, 0, 0, "8-15" },
	{ "cycles",                      "cpu_atom/cycles/ cpu_core/cycles/", 0, 10ull << 32, 0, 0, "8-15" },
	{ "LLC-loads/period=9/u",        "cpu_atom/LLC-loads,period=9/u cpu_core/LLC-loads,period=9/u", 3, 2 | 10ull << 32, 0, 0, "8-15" },
	{ "cycles/name=x/",              "x x", 0, 10ull << 32, 0, 0, "8-15" },
	{ "{cycles,instructions}",       "cycles instructions", 0, 0, 0, 0, NULL },
	{ "mem-loads",                   "mem-loads", 4, 0x1cd, 3, 0, "0-7" },
	{ "mem-loads:u",                 "mem-loads:u", 4, 0x1cd, 3, 0, "0-7" },
	{ "uncore_imc_0/event=0x1ff/",   "uncore_imc_0/event=0x1ff/", 20, 0xff | 1ull << 32, 0, 0, "0" },
	{ "uncore_imc_0/split=0x12/",    "uncore_imc_0/split=0x12/", 20, 0, 0, 0x12, "0" },
	{ "uncore_imc/clockticks/",      "uncore_imc_0/clockticks/ uncore_imc_1/clockticks/", 20, 4 | 1ull << 32, 0, 0, "0" },
	{ "imc/clockticks/u",            "uncore_imc_0/clockticks/u uncore_imc_1/clockticks/u", 20, 4 | 1ull << 32, 0, 0, "0" },
	{ "uncore_*/event=1/",           "uncore_imc_0/event=1/ uncore_imc_1/event=1/", 20, 1, 0, 0, "0" },
	{ "intel_pt//",                  "intel_pt//", 8, PT_DEFAULT | 1 << 10 | 1 << 24, 0, 0, NULL },
	{ "intel_pt/tsc,psb_period=5/u", "intel_pt/tsc,psb_period=5/u", 8, PT_DEFAULT | 1 << 10 | 5 << 24, 0, 0, NULL },
	{ "intel_pt/tsc=0/",             "intel_pt/tsc=0/", 8, PT_DEFAULT | 1 << 24, 0, 0, NULL },
	{ "arm_spe_0/load_filter=1/",    "arm_spe_0/load_filter=1/", 11, 1 | 1ull << 33, 0, 0, "0-3" },
	{ "arm_spe/ts_enable=0/",        "arm_spe/ts_enable=0/", 11, 0, 0, 0, "0-3" },
	{ "cs_etm/@tmc_etr0/u",          "cs_etm/@tmc_etr0/u", 9, ETM_DEFAULT, 0, 0x2c7ab1d, NULL },
	{ "cs_etm/contextid1=0/",        "cs_etm/contextid1=0/", 9, 1 << 28, 0, 0, NULL },
	{ "cs_etm/timestamp=0/",         "cs_etm/timestamp=0/", 9, 1 << 14, 0, 0, NULL },
	{ "kprobe:vfs_read",             "kprobe:vfs_read", 6, 0, 0, 0, NULL },
	{ "kretprobe:vfs_read",          "kretprobe:vfs_read", 6, 1, 0, 0, NULL },
	{ "kprobe:vfs_read+0x10",        "kprobe:vfs_read+0x10", 6, 0, 0, 0x10, NULL },
	{ "kprobe:0xffffffff81000000",   "kprobe:0xffffffff81000000", 6, 0, 0, 0xffffffff81000000, NULL },
	{ "sched:sched_switch",          "sched:sched_switch", 2, 314, 0, 0, NULL },
	{ "sched:sched_switch:u",        "sched:sched_switch", 2, 314, 0, 0, NULL },
	{ "sched:sched_*",               "sched:sched_switch sched:sched_wakeup", 2, 314, 0, 0, NULL },
	{ "*:*",                         "sched:sched_switch sched:sched_wakeup", 2, 314, 0, 0, NULL },
	{ "sched:sched_sw?tch,cs",       "sched:sched_switch cs", 2, 314, 0, 0, NULL },
	{ "sched:sched_switch/call-graph=no/", "sched:sched_switch", 2, 314, 0, 0, NULL },
};

static const struct bad {
	const char *text;
	size_t pos;
	const char *says;
} bads[] = {
	{ "cpu_core/event=0x1ff/",       15, "at most 255" },
	{ "cpu_core/inv=2/",             13, "1 bit: at most 1" },
	{ "cpu_core/event=x/",           15, "needs a number" },
	{ "cpu_core/mem-lods/",           9, "did you mean 'mem-loads'?" },
	{ "cpu_core/broken=1/",           9, "no event or term 'broken'" },
	{ "cpu_core/slots.unit/",         9, "no event or term" },
	{ "cpu_core/event=1",            16, "no '/'" },
	{ "cpu_coer/event=1/",            0, "did you mean 'cpu_core'?" },
	{ "cpu/cycles/",                  0, "this machine has no PMU 'cpu'" },
	{ "notype/x/",                    0, "no PMU" },
	{ "cs_etm/@tmc_etf9/",            7, "no sink 'tmc_etf9'" },
	{ "cs_etm/@..\\..\\x/",           7, "no sink" },
	{ "cs_etm/contextid2/",           0, "the trace unit of CPU 1 has no contextid2 (TRCIDR2.VMIDOPT is 0" },
	{ "intel_pt/mtc_period=4/",       0, "no mtc_period=4; values are 0, 3, 6, 9" },
	{ "intel_pt/psb_period=3/",       0, "no psb_period=3; values are 0, 1, 4, 5" },
	{ "intel_pt/cyc_thresh=2/",       0, "no cyc_thresh=2; values are 0" },
	{ "cs,intel_pt/ptw/u",            3, "no 'ptw'" },
	{ "uprobe:/bin/true:main",        0, "no uprobes" },
	{ "sched:sched_swich",            0, "did you mean 'sched_switch'?" },
	{ "schd:sched_switch",            0, "did you mean 'sched'?" },
	{ "sched:zz*",                    0, "no tracepoint matches" },
	{ "ftrace:function",              0, "no tracepoint" },
	{ "sched:sched_switch/config=1/", 19, "no term 'config'" },
	{ "../../x:id",                   0, "no " },
};
/* clang-format on */

static void check_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		struct rec_event_list l = list();
		struct rec_error error = {0};
		enum clew_err err = rec_events_parse(&l, r->text, &error);
		char names[512] = "";
		const struct perf_attr *a;

		CHECK_EQ(err, CLEW_OK, "'%s' is an event", r->text);
		if (err) {
			printf("# said: %s\n", error.text);
			continue;
		}
		vec_for_each (&l.events, e)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 *names ? " " : "", e->name);
		a = &l.events.data[0].attr;
		CHECK_STR(names, r->names, "'%s': names", r->text);
		CHECK(a->type == r->type && a->config == r->config && a->config1 == r->config1 &&
			      a->config2 == r->config2,
		      "'%s': type and config", r->text);
		CHECK_STR(l.events.data[0].cpus, r->cpus, "'%s': cpus", r->text);
		rec_events_done(&l);
	}
}

static void check_bads(void)
{
	for (size_t i = 0; i < sizeof(bads) / sizeof(*bads); i++) {
		struct rec_event_list l = list();
		struct rec_error error = {0};
		enum clew_err err = rec_events_parse(&l, bads[i].text, &error);
		bool says = strstr(error.text, bads[i].says);

		CHECK(err != CLEW_OK && !l.events.nr, "'%s' is refused", bads[i].text);
		CHECK_EQ(error.pos, bads[i].pos, "'%s': place", bads[i].text);
		CHECK(says, "'%s': %s", bads[i].text, bads[i].says);
		if (!says)
			printf("# said: %s\n", error.text);
		rec_events_done(&l);
	}
}

static void check_units(void)
{
	struct rec_event_list l = list();
	struct rec_error error;

	CHECK(rec_events_parse(&l, "uncore_imc_0/cas_read/,cas_read,uncore_imc_0/clockticks/",
			       &error) == CLEW_OK &&
		      l.events.nr == 3,
	      "events with units");
	for (size_t i = 0; i < l.events.nr && i < 2; i++)
		CHECK(fabs(l.events.data[i].scale - 6.103515625e-5) < 1e-12 &&
			      l.events.data[i].unit && !strcmp(l.events.data[i].unit, "MiB"),
		      "%s: scale and unit", l.events.data[i].name);
	CHECK(l.events.nr == 3 && !(l.events.data[2].scale > 0) && !l.events.data[2].unit,
	      "clockticks has none");
	rec_events_done(&l);
}

static void check_formats(void)
{
	static const struct {
		const char *text;
		bool is_ok;
		uint8_t config;
		uint64_t mask;
	} formats[] = {
		{"config:0-63",        true,  0, UINT64_MAX    },
		{"config1:0",          true,  1, 1             },
		{"config4:63",         true,  4, 1ull << 63    },
		{"config:0-7,32-35,9", true,  0, 0xf000002ffull},
		{"config5:0",          false, 0, 0             },
		{"config:64",          false, 0, 0             },
		{"config:7-0",         false, 0, 0             },
		{"config:",            false, 0, 0             },
		{"config:1,",          false, 0, 0             },
		{"config:1-",          false, 0, 0             },
		{"config",             false, 0, 0             },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct os_pmu_format f = {0};
		bool is_ok = os_pmu_format_parse(formats[i].text, &f);

		CHECK(is_ok == formats[i].is_ok && f.config == formats[i].config &&
			      f.mask == formats[i].mask,
		      "format '%s'", formats[i].text);
	}
}

static void check_filters(void)
{
	/* clang-format off */
	static const struct { const char *events, *filter, *says; } filters[] = {
		{ "sched:sched_switch", "prev_pid > 5 && prev_comm ~ \"x*\"", NULL },
		{ "sched:sched_switch", "prev_pid==1||name==\"a b == c\"", NULL },
		{ "sched:sched_switch", "!(common_pid & 1) && COMM == bash", NULL },
		{ "sched:sched_switch", "prev_pdi > 5", "did you mean 'prev_pid'?" },
		{ "sched:*",            "prev_pid > 5", "'sched:sched_wakeup' has no field 'prev_pid'" },
		{ "sched:sched_switch", "prev_pid > 5)", "parentheses" },
		{ "sched:sched_switch", "", "empty" },
		{ "sched:sched_switch", "prev_pid > ", "needs an operator" },
		{ "sched:sched_switch", "prev_pid", "needs an operator" },
		{ "sched:sched_switch", "(prev_pid == ) && next_pid == 1", "needs an operator" },
		{ "sched:sched_switch", "prev_comm == \"bash", "needs an operator" },
		{ "cs",                 "prev_pid > 5", "'cs' is neither" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct rec_event_list l = list();
		struct rec_error error = {0};
		enum clew_err err;
		bool is_right;

		rec_events_parse(&l, "cs", NULL);
		rec_events_parse(&l, filters[i].events, NULL);
		err = rec_events_filter(&l, filters[i].filter, &error);
		is_right = filters[i].says ? err && strstr(error.text, filters[i].says) : !err;
		CHECK(is_right, "--filter '%s' on %s", filters[i].filter, filters[i].events);
		if (!is_right)
			printf("# said: %s\n", error.text);
		if (!err)
			CHECK(!l.events.data[0].filter && l.events.data[l.events.nr - 1].filter,
			      "... is for the last -e alone");
		rec_events_done(&l);
	}
}

/* Events that act on a trace lead to it. */
static void check_aux_groups(void)
{
	/* clang-format off */
	static const struct { const char *events[2]; const char *leaders; } groups[] = {
		{ { "intel_pt/aux-action=start-paused/,cs,faults/aux-action=resume/,cs", NULL }, "0003" },
		{ { "intel_pt//", "cs/aux-action=pause/" }, "00" },
		{ { "{intel_pt//,cs/aux-output/},faults", NULL }, "002" },
		{ { "cs,intel_pt//,faults,{cs/aux-sample-size=8/,faults},cs", NULL }, "011115" },
		{ { "cs,faults/aux-action=pause/", NULL }, "01" },
		{ { "intel_pt//,cs", NULL }, "01" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct rec_event_list l = list();
		char leaders[16] = "";

		for (int k = 0; k < 2 && groups[i].events[k]; k++)
			rec_events_parse(&l, groups[i].events[k], NULL);
		vec_for_each (&l.events, e)
			snprintf(leaders + strlen(leaders), 8, "%u", e->leader);
		CHECK_STR(leaders, groups[i].leaders, "groups of '%s'", groups[i].events[0]);
		rec_events_done(&l);
	}
}

int main(void)
{
	test_dir_make("event-pmu");
	build();
	check_rows();
	check_bads();
	check_units();
	check_formats();
	check_filters();
	check_aux_groups();
	test_dir_remove();
	return tap_done();
}
