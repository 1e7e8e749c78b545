/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_ops.h"

#include "format/report/ops_text.h"
#include "unit/report_events.h"
#include "who/who_ran.h"

/* clang-format off */
static const struct made_event events[] = {
	{"a", 1, 1, 0, 1, "f"},
	{"a", 1, 1, 0, 1, "f"},
	{"a", 1, 1, 0, 1, "g"},
	{"b", 2, 2, 1, 1, "g"},
	{"b", 2, 2, 1, 1, "K"},
	{"b", 2, 2, 1, 1, "f"},
};
/* clang-format on */
enum { NR = sizeof(events) / sizeof(events[0]), LOAD = 2, STORE = 4 };
static const uint64_t line = 0x7f0000001040;

/* clang-format off */
static const struct ana_op ops[NR] = {
	{.has = ANA_OP_HAS_KIND | ANA_OP_HAS_SOURCE | ANA_OP_HAS_TOTAL | ANA_OP_HAS_ISSUE |
		ANA_OP_HAS_VA | ANA_OP_HAS_EVENTS,
	 .kind = ANA_OP_LOAD,
	 .data_src = LOAD,
	 .source = 13,
	 .source_name = "remote",
	 .events = ANA_OP_REMOTE | ANA_OP_HITM | ANA_OP_TLB_WALK,
	 .total = 300,
	 .issue = 10,
	 .va = line + 8,
	 .aux_offset = 64},
	{.aux_offset = 64}, /* the same operation's next event: set below */
	{.has = ANA_OP_HAS_KIND | ANA_OP_HAS_SOURCE | ANA_OP_HAS_TOTAL | ANA_OP_HAS_VA,
	 .kind = ANA_OP_LOAD,
	 .data_src = LOAD,
	 .source = 29,
	 .total = 20,
	 .va = line,
	 .aux_offset = 128},
	{.has = ANA_OP_HAS_KIND | ANA_OP_HAS_SOURCE | ANA_OP_HAS_VA,
	 .kind = ANA_OP_STORE,
	 .data_src = STORE,
	 .source = 29,
	 .va = line,
	 .aux_offset = 192},
	{.has = ANA_OP_HAS_KIND,
	 .kind = ANA_OP_BRANCH,
	 .events = ANA_OP_MISPREDICTED | ANA_OP_NOT_TAKEN,
	 .aux_offset = 256},
	{.has = ANA_OP_HAS_KIND, .kind = ANA_OP_OTHER, .aux_offset = 320},
};
/* clang-format on */

static void make(struct made *m, struct ana_op *of)
{
	made_init(m, events, NR, 0);
	memcpy(of, ops, sizeof(ops));
	of[1] = of[0];
	for (size_t i = 0; i < NR; i++)
		m->events[i].op = &of[i];
}

static void memory(void)
{
	const struct report_feed_opts opts = {.ops = REPORT_OPS_MEMORY};
	const struct report_ops *o;
	struct report_feed *f;
	struct ana_op of[NR];
	struct buf text = {0};
	struct made m;

	make(&m, of);
	f = made_report(&m, "sym", opts);
	o = report_feed_ops(f);
	CHECK_EQ(o->all.nr, 3, "an operation counts once, whatever its events");
	CHECK_EQ(o->all.nr_loads, 2, "loads are counted");
	CHECK_EQ(o->all.nr_stores, 1, "stores are counted");
	CHECK_EQ(o->all.nr_not_retired, 1, "those that report events without RETIRED");
	CHECK_EQ(o->sources.nr, 2, "loads and stores of one source are one row");
	ops_source_text(&text, &o->sources.data[o->source_order[0]]);
	buf_char(&text, ',');
	ops_source_text(&text, &o->sources.data[o->source_order[1]]);
	CHECK_STR(buf_cstr(&text), "remote,source 29 (unknown)", "most expensive first");
	CHECK_EQ(o->by_source[o->source_order[0]].nr_remote_hitm, 1, "remote HITM");
	CHECK_EQ(o->by_source[o->source_order[0]].latencies[REPORT_EXECUTE].sum, 290,
		 "execute is total less issue");
	CHECK_EQ(o->by_source[o->source_order[1]].latencies[REPORT_TOTAL].nr, 1,
		 "a latency that is not reported is not 0");
	CHECK_EQ(o->rows.nr, 2, "two functions");
	CHECK_EQ(o->rows.data[1].sum.nr, 2, "of two processes: one row");
	CHECK_EQ(o->lines.nr, 2, "user addresses are of a process");
	CHECK_EQ(o->lines.data[0].address, line, "the line with HITM first");
	CHECK_EQ(o->lines.data[0].nr_uses, 2, "two places in it");
	buf_clear(&text);
	ops_memory_text(&text, f, 0, NULL);
	CHECK(strstr(buf_cstr(&text), "0x7f0000001040  +0:fn_g +8:fn_f"), "text of a line");
	buf_clear(&text);
	ops_memory_text(&text, f, 0, ";");
	CHECK(strstr(buf_cstr(&text),
		     "# Share;Accesses;Remote;HITM;Walks;Latency;min;mean;50%;90%;"
		     "99%;max;Data source\n93.75%;1;100.00%;100.00%;100.00%;issue;"),
	      "a separator: titles and shares");
	CHECK(strstr(buf_cstr(&text),
		     "\n93.75%;1;100.00%;100.00%;100.00%;total;300;300.0;300;300;300;"
		     "300;remote\n"),
	      "a separator: a whole line for each latency");
	CHECK(strstr(buf_cstr(&text), ";0x7f0000001040;+0:fn_g +8:fn_f\n"),
	      "a separator in the table of lines");
	report_feed_free(f);
	buf_done(&text);
	made_done(&m);
}

static void branches(void)
{
	const struct report_feed_opts opts = {.ops = REPORT_OPS_BRANCHES};
	const struct report_ops *o;
	struct buf text = {0};
	struct report_feed *f;
	struct ana_op of[NR];
	struct made m;

	make(&m, of);
	f = made_report(&m, "dso,sym", opts);
	o = report_feed_ops(f);
	CHECK_EQ(o->rows.nr, 1, "branches alone");
	CHECK_EQ(o->rows.data[0].sum.nr_mispredicted, 1, "mispredicted branches are counted");
	CHECK_EQ(o->rows.data[0].sum.nr_not_taken, 1, "not taken");
	ops_branches_text(&text, f, 0, "|");
	CHECK(strstr(buf_cstr(&text), "# Mispredicted|Share|Not taken|Share|Total|mean|Address|"),
	      "a separator: titles");
	CHECK(strstr(buf_cstr(&text), "\n1|100.00%|1|100.00%|1|-|0x"), "a separator: a row");
	buf_done(&text);
	report_feed_free(f);
	made_done(&m);
}

/* perf mem: samples with weight and data_src. */
static void samples(void)
{
	enum { LVL_L1 = 8 << 5, HIT = 2 << 5, HITM = 0x10 << 19 };
	const struct report_feed_opts opts = {.ops = REPORT_OPS_MEMORY};
	const struct report_ops *o;
	struct report_feed *f;
	struct buf text = {0};
	struct made m;

	made_init(&m, events, NR, 0);
	for (size_t i = 0; i < 2; i++) {
		m.samples[i].sample_type =
			PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_ADDR;
		m.samples[i].data_src = LOAD | LVL_L1 | HIT | (i ? HITM : 0);
		m.samples[i].weight = 5 + i;
		m.samples[i].addr = line;
	}
	f = made_report(&m, "sym", opts);
	o = report_feed_ops(f);
	CHECK_EQ(o->all.nr, 2, "samples without a data source are none");
	CHECK_EQ(o->sources.nr, 1, "HITM is no source");
	ops_source_text(&text, &o->sources.data[0]);
	CHECK_STR(buf_cstr(&text), "L1 hit", "the level");
	CHECK_EQ(o->all.latencies[REPORT_TOTAL].sum, 11, "the weight is the latency");
	CHECK_EQ(o->lines.data[0].sum.nr_hitm, 1, "lines modified elsewhere are counted");
	report_feed_free(f);
	buf_done(&text);
	made_done(&m);
}

/* clang-format off */
static const struct who_answer answers[NR] = {
	{.kind = WHO_TASK, .has = WHO_A_LOCAL, .evidence = WHO_BY_SWITCH, .level = WHO_EL0, .security = ARM_NONSECURE},
	{.kind = WHO_IDLE, .evidence = WHO_BY_CONTEXT, .level = WHO_EL2, .security = ARM_NONSECURE},
	{.kind = WHO_OUTSIDE, .evidence = WHO_BY_CONTEXT, .level = WHO_EL0, .security = ARM_REALM},
	{.kind = WHO_IDLE_OR_OUTSIDE, .evidence = WHO_BY_SWITCH, .level = WHO_LEVEL_UNKNOWN, .security = ARM_NONSECURE},
	{.kind = WHO_UNKNOWN, .reason = WHO_LOST, .level = WHO_LEVEL_UNKNOWN, .security = ARM_NONSECURE},
	{.kind = WHO_TASK,
	 .has = WHO_A_GUEST | WHO_A_VCPU,
	 .machine = {77},
	 .vcpu = 3,
	 .evidence = WHO_BY_CONTEXT,
	 .level = WHO_EL1, .security = ARM_NONSECURE},
};
/* clang-format on */

/* The texts of all rows by one key. */
static void keys(const char *key, enum report_key k, const char *want)
{
	const struct report_table_opts t_opts = {0};
	const struct report_feed_opts opts = {0};
	struct report_table t;
	struct buf text = {0};
	struct report_feed *f;
	size_t event = 0;
	struct made m;

	made_init(&m, events, NR, 0);
	for (size_t i = 0; i < NR; i++) {
		m.events[i].who = &answers[i];
		m.events[i].tid = UINT32_MAX;
		m.events[i].comm = "one";
	}
	f = made_report(&m, key, opts);
	report_table_make(f, &event, 1, &t_opts, &t);
	for (size_t i = 0; i < t.nr_shown; i++) {
		report_feed_row_text(f, &t.rows.rows.data[i], k, &text);
		buf_char(&text, ';');
	}
	CHECK_STR(buf_cstr(&text), want, "rows by %s", key);
	report_table_done(&t);
	report_feed_free(f);
	buf_done(&text);
	made_done(&m);
}

int main(void)
{
	memory();
	branches();
	samples();
	keys("comm", REPORT_COMM, "one;[idle-or-outside];[idle];[outside];[unknown];");
	keys("machine", REPORT_MACHINE, "host;guest 77;");
	keys("vcpu", REPORT_VCPU, "-;3;");
	keys("level", REPORT_LEVEL, "EL0;EL0 realm;EL1;EL2;kernel;user;");
	keys("evidence", REPORT_EVIDENCE, "context;switch;lost;");
	keys("namespace", REPORT_NAMESPACE,
	     "[idle-or-outside];[idle];[not recorded];[outside];[unknown];guest 77;");
	return tap_done();
}
