/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AUXTRACE_INFO, written from a tree of sysfs: read back, and equal to that of recordings made on
 * such machines. Argument: where recordings are. */
#include "record/aux/aux_info.h"

#include "os/file.h"
#include "perfdata/perf_file.h"
#include "trace/perf/units_etm_meta.h"
#include "trace/perf/units_spe_meta.h"
#include "unit/test_dir.h"

#define PMU "bus/event_source/devices/"

static void put_cpu(const char *pmu, int cpu, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s/cpu%d/%s", PMU, pmu, cpu, file);
	test_dir_put(path, text);
}

static void build_intel_pt(void)
{
	test_dir_put(PMU "intel_pt/type", "6\n");
	test_dir_put(PMU "intel_pt/format/pt", "config:0\n");
	test_dir_put(PMU "intel_pt/format/cyc", "config:1\n");
	test_dir_put(PMU "intel_pt/format/mtc", "config:9\n");
	test_dir_put(PMU "intel_pt/format/tsc", "config:10\n");
	test_dir_put(PMU "intel_pt/format/noretcomp", "config:11\n");
	test_dir_put(PMU "intel_pt/format/branch", "config:13\n");
	test_dir_put(PMU "intel_pt/format/mtc_period", "config:14-17\n");
	test_dir_put(PMU "intel_pt/format/psb_period", "config:24-27\n");
	test_dir_put(PMU "intel_pt/caps/mtc", "1\n");
	test_dir_put(PMU "intel_pt/caps/mtc_periods", "249\n");
	test_dir_put(PMU "intel_pt/caps/psb_cyc", "1\n");
	test_dir_put(PMU "intel_pt/caps/psb_periods", "3f\n");
	test_dir_put(PMU "intel_pt/max_nonturbo_ratio", "12\n");
	test_dir_put(PMU "intel_pt/tsc_art_ratio", "100:2\n");
}

/* What softaux of ../shared/spikes shows the kernel's users: no ratios, another number. */
static void make_softaux(void)
{
	test_dir_put(PMU "intel_pt/type", "11\n");
	test_dir_put(PMU "intel_pt/max_nonturbo_ratio", "0\n");
	test_dir_put(PMU "intel_pt/tsc_art_ratio", "0:0\n");
}

static void build_cs_etm(void)
{
	test_dir_put(PMU "cs_etm/type", "8\n");
	test_dir_put(PMU "cs_etm/format/branch_broadcast", "config:8\n");
	test_dir_put(PMU "cs_etm/format/cycacc", "config:12\n");
	test_dir_put(PMU "cs_etm/format/contextid", "config:14\n");
	test_dir_put(PMU "cs_etm/format/contextid1", "config:14\n");
	test_dir_put(PMU "cs_etm/format/contextid2", "config:15\n");
	test_dir_put(PMU "cs_etm/format/timestamp", "config:28\n");
	test_dir_put(PMU "cs_etm/format/retstack", "config:29\n");
	for (int cpu = 0; cpu < 8; cpu++) { /* of the Pixel that simpleperf recorded */
		put_cpu("cs_etm", cpu, "trcidr/trcidr0", "0x28000ea1\n");
		put_cpu("cs_etm", cpu, "trcidr/trcidr1", cpu < 6 ? "0x4100f422\n" : "0x4100f423\n");
		put_cpu("cs_etm", cpu, "trcidr/trcidr2", "0x20001088\n");
		put_cpu("cs_etm", cpu, "trcidr/trcidr8", "0x0\n");
		put_cpu("cs_etm", cpu, "mgmt/trcauthstatus", "0x8c\n");
	}
	put_cpu("cs_etm", 8, "trcidr/trcidr0", "0x28000ea1\n");
	put_cpu("cs_etm", 8, "trcidr/trcidr1", "0x4100fff0\n");
	put_cpu("cs_etm", 8, "trcidr/trcidr2", "0x20001088\n");
	put_cpu("cs_etm", 8, "trcidr/trcidr8", "0x7\n");
	put_cpu("cs_etm", 8, "mgmt/trcauthstatus", "0xcc\n");
	put_cpu("cs_etm", 8, "mgmt/trcdevarch", "0x47705a13\n");
	put_cpu("cs_etm", 8, "ts_source", "1\n");
	put_cpu("cs_etm", 9, "mgmt/etmccer", "0x34c01ac2\n");
	put_cpu("cs_etm", 9, "mgmt/etmidr", "0x411cf312\n");
	put_cpu("cs_etm", 10, "trcidr/trcidr0", "0x28000ea1\n"); /* and nothing else */
	put_cpu("cs_etm", 12, "trcidr/trcidr0", "0x28000ea1\n");
	put_cpu("cs_etm", 12, "trcidr/trcidr1", "0x4100f422\n");
	put_cpu("cs_etm", 12, "trcidr/trcidr2", "0x20001088\n");
	put_cpu("cs_etm", 12, "trcidr/trcidr8", "0x0\n");
	put_cpu("cs_etm", 12, "mgmt/trcauthstatus", "0x8c\n");
	put_cpu("cs_etm", 12, "mgmt/trcdevarch", "0x47704a13\n"); /* ETMv4 */
	put_cpu("cs_etm", 12, "ts_source", "-1\n");
}

static void build_arm_spe(void)
{
	test_dir_put(PMU "arm_spe_0/type", "9\n");
	test_dir_put(PMU "arm_spe_0/cpumask", "0-1\n");
	test_dir_put(PMU "arm_spe_0/caps/min_interval", "1024\n");
	test_dir_put(PMU "arm_spe_0/caps/event_filter", "0x8000ffff0ffbff3e\n");
	test_dir_put(PMU "arm_spe_1/type", "12\n");
	test_dir_put(PMU "arm_spe_1/cpumask", "3\n");
	test_dir_put(PMU "arm_spe_1/caps/min_interval", "256\n");
	test_dir_put("devices/system/cpu/cpu0/regs/identification/midr_el1",
		     "0x00000000410fd4f0\n");
	test_dir_put("devices/system/cpu/cpu3/regs/identification/midr_el1",
		     "0x00000000410fd490\n");
}

/* The parts of an aux_info_from that live as long as it. */
struct tree {
	struct os_pmus pmus;
	struct rec_ints cpus;
	struct aux_info_from from;
};

static void open_tree(struct tree *t, const char *pmu, uint32_t info, const char *cpus)
{
	*t = (struct tree){0};
	CHECK_EQ(os_pmus_read(test_dir, &t->pmus, NULL), CLEW_OK, "%s: the tree is read", pmu);
	CHECK_EQ(rec_cpus_parse(cpus, &t->cpus, NULL), CLEW_OK, "%s: CPUs %s", pmu, cpus);
	t->from = (struct aux_info_from){.pmus = &t->pmus,
					 .pmu = os_pmus_find(&t->pmus, pmu, strlen(pmu)),
					 .info = info,
					 .cpus = &t->cpus,
					 .is_per_cpu = true};
	os_pmu_load(&t->pmus, t->from.pmu);
}

static void close_tree(struct tree *t)
{
	os_pmus_done(&t->pmus);
	vec_done(&t->cpus);
}

static struct perf_record record_of(const struct buf *b)
{
	return (struct perf_record){.data = (const uint8_t *)b->data,
				    .size = (uint16_t)b->nr,
				    .type = PERF_RECORD_AUXTRACE_INFO};
}

/* @return what was written, or NULL with a failed check. */
static const uint64_t *words_of(const struct buf *b, struct perf_auxtrace_info *info)
{
	struct perf_record r = record_of(b);

	CHECK_EQ(perf_auxtrace_info_parse(&r, info), CLEW_OK, "it is an AUXTRACE_INFO");
	return (const uint64_t *)(const void *)(b->data + 16);
}

/* --- Intel PT --- */

static void check_intel_pt(void)
{
	struct tree t;
	struct buf b = {0};
	struct perf_auxtrace_info info;
	const uint64_t *w;

	open_tree(&t, "intel_pt", PERF_AUXTRACE_INTEL_PT, "0-3");
	t.from.switches = AUX_PT_OWN_SWITCHES;
	t.from.is_snapshot = true;
	t.from.filter = "filter 0x10/0x20@/x";
	test_dir_put(PMU "intel_pt/caps/event_trace", "1\n");
	CHECK_EQ(aux_info_put(&t.from, &b, NULL), CLEW_OK, "intel_pt is described");
	w = words_of(&b, &info);
	CHECK_EQ(info.type, PERF_AUXTRACE_INTEL_PT, "the type");
	CHECK_EQ(info.nr_priv, AUX_PT_FILTER + 3 + 1, "a filter of 19 bytes takes three words");
	CHECK_EQ(w[AUX_PT_CAP_USER_TIME_ZERO], 0, "no clock: no conversion");
	CHECK_EQ(w[AUX_PT_SWITCHES], AUX_PT_OWN_SWITCHES, "switches");
	CHECK_EQ(w[AUX_PT_SNAPSHOT], 1, "snapshot");
	CHECK_EQ(w[AUX_PT_FILTER_BYTES], 19, "the filter's length");
	CHECK(!memcmp(&w[AUX_PT_FILTER], "filter 0x10/0x20@/x\0\0\0\0\0", 24), "the filter");
	CHECK_EQ(w[info.nr_priv - 1], 1, "caps/event_trace comes last");
	test_dir_drop(PMU "intel_pt/caps/event_trace");
	buf_done(&b);
	close_tree(&t);
}

/* --- CoreSight --- */

static void check_cs_etm(void)
{
	struct tree t;
	struct buf b = {0};
	struct perf_auxtrace_info info;
	struct etm_meta m = {0};
	struct perf_record r;
	const struct etm_cpu *c;

	open_tree(&t, "cs_etm", PERF_AUXTRACE_CS_ETM, "1,8-9,12");
	t.from.config = 1 << 8 | 1 << 12 | 1 << 14 | 1 << 15 | 1 << 28 | 1 << 29;
	CHECK_EQ(aux_info_put(&t.from, &b, NULL), CLEW_OK, "cs_etm is described");
	CHECK_EQ(words_of(&b, &info)[1], 8ull << 32 | 4, "PMU type and number of blocks");
	r = record_of(&b);
	CHECK_EQ(etm_meta_take_info(&m, &r, &info, NULL), CLEW_OK, "our reader takes it");
	CHECK_EQ(m.version, 2, "version");
	CHECK_EQ(m.cpus.nr, 4, "CPUs");
	c = etm_meta_cpu(&m, 1);
	CHECK_EQ(c->regs.configr, 0x98d8, "all terms in TRCCONFIGR");
	CHECK_EQ(c->regs.traceidr, 0x12, "a trace ID until the kernel reports one");
	CHECK(c->regs.idr0 == 0x28000ea1 && c->regs.idr1 == 0x4100f422 &&
		      c->regs.idr2 == 0x20001088 && c->regs.idr8 == 0,
	      "registers of ETMv4");
	CHECK_EQ(c->ts_source, -1, "no ts_source");
	c = etm_meta_cpu(&m, 8);
	CHECK(c->regs.is_ete && c->regs.devarch == 0x47705a13 && c->regs.idr8 == 7, "ETE");
	CHECK_EQ(c->ts_source, 1, "ts_source of ETE");
	CHECK(etm_meta_cpu(&m, 9)->is_etm3, "ETMv3");
	c = etm_meta_cpu(&m, 12);
	CHECK(!c->regs.is_ete && c->ts_source == -1, "ETMv4 with a DEVARCH is no ETE");
	vec_done(&m.cpus);
	buf_done(&b);
	close_tree(&t);
}

static void check_refusals(void)
{
	static const struct {
		const char *cpus;
		enum clew_err err;
		const char *says;
	} rows[] = {
		{"0,11", CLEW_NOT_FOUND, "'cs_etm': CPU 11 has no trace unit" },
		{"0,10", CLEW_OS,        "cpu10/trcidr/trcidr1 cannot be read"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tree t;
		struct buf b = {0};
		struct rec_error error = {0};

		open_tree(&t, "cs_etm", PERF_AUXTRACE_CS_ETM, rows[i].cpus);
		buf_str(&b, "before");
		CHECK_EQ(aux_info_put(&t.from, &b, &error), rows[i].err, "CPUs %s: refused",
			 rows[i].cpus);
		CHECK(strstr(error.text, rows[i].says), "it says: %s", error.text);
		CHECK_EQ(b.nr, 6, "nothing is written");
		buf_done(&b);
		close_tree(&t);
	}
}

/* A record ends at 64 KiB. */
static void check_too_many(void)
{
	struct tree t;
	struct buf b = {0};
	struct rec_error error = {0};

	open_tree(&t, "arm_spe_0", PERF_AUXTRACE_ARM_SPE, "0-1200");
	CHECK_EQ(aux_info_put(&t.from, &b, &error), CLEW_INVALID, "too many CPUs for a record");
	CHECK(strstr(error.text, "of 1201 CPUs"), "it says: %s", error.text);
	CHECK_EQ(b.nr, 0, "nothing is written");
	buf_done(&b);
	close_tree(&t);
}

/* --- Arm SPE --- */

static void check_arm_spe(void)
{
	struct tree t;
	struct buf b = {0};
	struct perf_auxtrace_info info;
	struct spe_meta m = {0};
	struct perf_record r;
	const uint64_t *w;

	open_tree(&t, "arm_spe_0", PERF_AUXTRACE_ARM_SPE, "0,2-3");
	CHECK_EQ(aux_info_put(&t.from, &b, NULL), CLEW_OK, "arm_spe is described");
	w = words_of(&b, &info);
	CHECK_EQ(info.nr_priv, 4 + 3 * 7, "header and blocks");
	CHECK_EQ(w[4 + 5], 1024, "min_interval of CPU 0");
	CHECK_EQ(w[4 + 7 + 4], UINT64_MAX, "CPU 2 has no SPE");
	r = record_of(&b);
	CHECK_EQ(spe_meta_take_info(&m, &r, &info, NULL), CLEW_OK, "our reader takes it");
	CHECK(m.version == 2 && m.pmu_type == 9, "version and PMU type");
	CHECK_EQ(m.cpus.nr, 2, "CPUs with SPE");
	CHECK(spe_meta_cpu(&m, 0)->midr == 0x410fd4f0 &&
		      spe_meta_cpu(&m, 0)->event_filter == 0x8000ffff0ffbff3e,
	      "CPU 0");
	CHECK(spe_meta_cpu(&m, 3)->midr == 0x410fd490 && !spe_meta_cpu(&m, 3)->event_filter,
	      "CPU 3, of the other kind");
	vec_done(&m.cpus);
	buf_done(&b);
	close_tree(&t);
}

/* --- Recordings --- */

struct capture {
	struct os_map file;
	struct perf_file *perf;
	struct perf_record info, time_conv;
	uint64_t config; /* of the first event */
};

static bool open_capture(struct capture *c, const char *dir, const char *name)
{
	char path[512];
	struct perf_record r;

	*c = (struct capture){0};
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (os_map_file(path, &c->file, NULL) ||
	    perf_file_open(&c->perf,
			   &(struct perf_input){.data = c->file.data, .size = c->file.size}, NULL))
		return false;
	c->config = perf_file_evlist(c->perf)->evsels.data[0]->attr.config;
	while (perf_file_next(c->perf, &r, NULL) == CLEW_OK) {
		if (r.type == PERF_RECORD_AUXTRACE_INFO)
			c->info = r;
		else if (r.type == PERF_RECORD_TIME_CONV)
			c->time_conv = r;
	}
	return c->info.data;
}

static void close_capture(struct capture *c)
{
	perf_file_free(c->perf);
	os_map_done(&c->file);
}

static void take_clock(struct aux_info_from *f, const struct capture *c)
{
	struct perf_time_conv conv;

	f->has_clock = c->time_conv.data && perf_time_conv_parse(&c->time_conv, &conv) == CLEW_OK;
	if (f->has_clock)
		f->clock = (struct os_ring_clock){
			.shift = conv.shift, .mult = conv.mult, .zero = conv.zero};
}

static void check_pt_capture(const char *dir, const char *name, bool is_snapshot,
			     const char *filter, bool has_event_trace)
{
	struct capture c;
	struct tree t;
	struct buf b = {0};
	struct rec_event_list l = {.sysfs = test_dir};

	if (!open_capture(&c, dir, name)) {
		SKIP("no such recording");
		close_capture(&c);
		return;
	}
	open_tree(&t, "intel_pt", PERF_AUXTRACE_INTEL_PT, "0-3");
	t.from.switches = AUX_PT_CPU_WIDE_SWITCHES;
	t.from.is_snapshot = is_snapshot;
	t.from.filter = filter;
	take_clock(&t.from, &c);
	CHECK_EQ(aux_info_put(&t.from, &b, NULL), CLEW_OK, "%s: described", name);
	CHECK_EQ(b.nr, c.info.size + 8 * !has_event_trace, "%s: the size", name);
	CHECK(!memcmp(b.data + 8, c.info.data + 8, c.info.size - 8), "%s: every byte is equal",
	      name);
	CHECK_EQ(rec_events_parse(&l, "intel_pt//", NULL), CLEW_OK, "intel_pt//");
	CHECK_EQ(l.events.data[0].attr.config, c.config, "%s: config is perf's default", name);
	rec_events_done(&l);
	buf_done(&b);
	close_tree(&t);
	close_capture(&c);
}

/* simpleperf writes version 1: no TS_SOURCE, and the count of words says so. */
static void check_etm_capture(const char *dir, const char *name)
{
	enum { HEAD = 16 + 3 * 8, OLD_BLOCK = (3 + 7) * 8, BLOCK = (3 + 8) * 8 };
	struct capture c;
	struct tree t;
	struct buf b = {0};

	if (!open_capture(&c, dir, name)) {
		SKIP("no such recording");
		close_capture(&c);
		return;
	}
	open_tree(&t, "cs_etm", PERF_AUXTRACE_CS_ETM, "0-7");
	t.from.config = c.config;
	CHECK_EQ(aux_info_put(&t.from, &b, NULL), CLEW_OK, "%s: described", name);
	CHECK_EQ(c.info.size, HEAD + 8 * OLD_BLOCK, "%s: eight blocks", name);
	CHECK(!memcmp(b.data + 24, c.info.data + 24, 16), "%s: type, CPUs, mode", name);
	for (size_t i = 0; i < 8; i++) {
		const char *ours = b.data + HEAD + i * BLOCK;
		const uint8_t *theirs = c.info.data + HEAD + i * OLD_BLOCK;

		CHECK(!memcmp(ours, theirs, 16) && !memcmp(ours + 24, theirs + 24, 7 * 8),
		      "%s: every register of CPU %zu", name, i);
	}
	buf_done(&b);
	close_tree(&t);
	close_capture(&c);
}

int main(int argc, char **argv)
{
	const char *data = getenv("CLEW_TEST_DATA");
	char softaux[512];

	if (!data)
		data = argc > 1 ? argv[1] : "../shared/data";
	snprintf(softaux, sizeof(softaux), "%s/../spikes/softaux/golden", data);
	test_dir_make("aux-info");
	build_intel_pt();
	build_cs_etm();
	build_arm_spe();
	check_intel_pt();
	check_cs_etm();
	check_refusals();
	check_too_many();
	check_arm_spe();
	check_pt_capture(data, "perfdata/perf.data.intel_pt-4.14", false, NULL, false);
	check_etm_capture(data, "simpleperf-etm/perf_etm.data");
	make_softaux();
	check_pt_capture(softaux, "full.data", false, NULL, true);
	check_pt_capture(softaux, "snap.data", true, NULL, true);
	check_pt_capture(softaux, "flt.data", false, "stop 0x1000/0x100@/init", true);
	test_dir_remove();
	return tap_done();
}
