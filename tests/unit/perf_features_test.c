/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_features.h"

#include "make/perf_features_make.h"
#include "perfdata/perf_attr.h"
#include "perfdata/perf_feature_lists.h"
#include "unit/tap.h"

/* Features as perf_make_feature() makes them: names end in the item's number i, numbers are 10 * i
 * and up. */
struct fixture {
	struct perf_random random;
	struct perf_put content[PERF_FEAT_MAX];
	struct perf_features f;
};

static void fixture_init(struct fixture *x, bool big)
{
	*x = (struct fixture){
		.random = {.state = 4, .big = big}
        };
	x->f.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	for (unsigned int i = 1; i < PERF_FEAT_MAX; i++) {
		x->content[i].big = big;
		perf_make_feature(&x->random, &x->content[i], i);
		x->f.section[i] = put_result(&x->content[i]);
		x->f.bits[i / 64] |= (uint64_t)1 << i % 64;
	}
}

static void fixture_done(struct fixture *x)
{
	for (unsigned int i = 1; i < PERF_FEAT_MAX; i++)
		buf_done(&x->content[i].buf);
	perf_random_done(&x->random);
}

static bool is(const char *got, const char *want)
{
	return got && !strcmp(got, want);
}

static void test_values(const struct perf_features *f)
{
	uint32_t online = 0, available = 0, machine = 0, flags = 0, line = 0;
	struct perf_compressed c;
	struct perf_clock_data clock;
	uint64_t v, first, last;

	CHECK_STR(perf_features_string(f, PERF_FEAT_ARCH), "text6", "ARCH is read");
	CHECK(perf_features_nr_cpus(f, &online, &available) && online == PERF_MAKE_CPUS,
	      "NRCPUS is read");
	CHECK(perf_features_u64(f, PERF_FEAT_TOTAL_MEM, &v) && v == 1, "TOTAL_MEM is read");
	CHECK(perf_features_sample_time(f, &first, &last) && first == 1 && last == 11,
	      "SAMPLE_TIME is read");
	CHECK(perf_features_compressed(f, &c) && c.version == 1 && c.type == 11 && c.level == 21 &&
		      c.ratio == 31 && c.mmap_len == 41,
	      "COMPRESSED is read");
	CHECK(perf_features_clock_data(f, &clock) && clock.version == 1 && clock.clockid == 11 &&
		      clock.wall_clock_ns == 1 && clock.clockid_ns == 11,
	      "CLOCK_DATA is read");
	CHECK(perf_features_e_machine(f, &machine, &flags) && machine == 1 && flags == 11,
	      "E_MACHINE is read");
	CHECK(perf_features_cache_line(f, &line) && line == 1, "CLN_SIZE is read");
}

static void test_cmdline(const struct perf_features *f)
{
	struct bytes at = f->section[PERF_FEAT_CMDLINE];
	uint32_t left = UINT32_MAX;
	struct perf_list l;
	const char *s;

	CHECK(perf_features_cmdline(f, &l) && perf_string_next(&l, &s) && is(s, "name0") &&
		      perf_string_next(&l, &s) && is(s, "name1") && !perf_string_next(&l, &s) &&
		      !l.is_bad,
	      "CMDLINE is read");
	CHECK(perf_features_next_arg(f, &at, &left, &s) && is(s, "name0") &&
		      perf_features_next_arg(f, &at, &left, &s) && is(s, "name1") &&
		      !perf_features_next_arg(f, &at, &left, &s),
	      "CMDLINE, the older way");
}

static void test_machine(const struct perf_features *f)
{
	struct perf_cpu_topology t;
	struct perf_cpu_place p;
	struct perf_numa_node node;
	struct perf_cache_level cache;
	struct perf_memory_node memory;
	struct perf_cpu_domains domains;
	struct perf_cpu_domain_list of_cpu;
	struct perf_cpu_domain d;
	struct perf_list l;
	const char *s;
	uint64_t block;

	CHECK(perf_features_cpu_topology(f, &t) && t.nr_cpus == PERF_MAKE_CPUS && t.has_dies &&
		      perf_string_next(&t.cores, &s) && is(s, "cores0") &&
		      perf_string_next(&t.threads, &s) && is(s, "threads0") &&
		      perf_string_next(&t.dies, &s) && is(s, "dies0"),
	      "CPU_TOPOLOGY is read");
	p = perf_cpu_topology_get(&t, 2);
	CHECK(p.core == 2 && p.socket == 0 && p.die == 20, "its CPU 2");
	CHECK(perf_features_numa(f, &l) && perf_numa_next(&l, &node) && perf_numa_next(&l, &node) &&
		      node.node == 10 && node.total_kib == 11 && node.free_kib == 12 &&
		      is(node.cpus, "2") && !perf_numa_next(&l, &node),
	      "NUMA_TOPOLOGY is read");
	CHECK(perf_features_caches(f, &l) && perf_cache_next(&l, &cache) &&
		      perf_cache_next(&l, &cache) && cache.level == 10 && cache.line_bytes == 11 &&
		      cache.sets == 12 && cache.ways == 13 && is(cache.cpus, "cpus1"),
	      "CACHE is read");
	CHECK(perf_features_mem_topology(f, &block, &l) && block == 0x8000000 &&
		      perf_memory_node_next(&l, &memory) && perf_memory_node_next(&l, &memory) &&
		      memory.node == 1 && memory.nr_bits == 70 &&
		      load_u64(memory.bitmap + 8, l.swap) == 0x21 &&
		      !perf_memory_node_next(&l, &memory) && !l.is_bad,
	      "MEM_TOPOLOGY is read");
	CHECK(perf_features_cpu_domains(f, &domains) && domains.schedstat_version == 17 &&
		      perf_cpu_domains_next(&domains, &of_cpu) &&
		      perf_cpu_domains_next(&domains, &of_cpu) && of_cpu.cpu == 1 &&
		      perf_cpu_domain_next(&of_cpu, &d) && d.domain == 10 &&
		      is(d.name, "domain1") && is(d.cpu_mask, "mask1") && is(d.cpu_list, "list1") &&
		      !perf_cpu_domain_next(&of_cpu, &d),
	      "CPU_DOMAIN_INFO is read");
}

static void test_events(const struct perf_features *f)
{
	struct perf_event_descs descs;
	struct perf_event_desc d;
	struct perf_pmu_mapping m;
	struct perf_group_desc g;
	struct perf_hybrid_pmu h;
	struct perf_pmu_caps caps;
	struct perf_pmu_cap cap;
	struct perf_attr attr;
	struct perf_list l;

	CHECK(perf_features_event_desc(f, &descs) && perf_event_desc_next(&descs, &d) &&
		      perf_event_desc_next(&descs, &d) && is(d.name, "event1") && d.nr_ids == 2 &&
		      load_u64(d.ids + 8, f->swap) == 101 &&
		      perf_attr_parse(d.attr, f->swap, &attr) == CLEW_OK && attr.size == 112,
	      "EVENT_DESC is read");
	CHECK(perf_features_pmu_mappings(f, &l) && perf_pmu_mapping_next(&l, &m) &&
		      perf_pmu_mapping_next(&l, &m) && m.type == 10 && is(m.name, "name1"),
	      "PMU_MAPPINGS is read");
	CHECK(perf_features_groups(f, &l) && perf_group_next(&l, &g) && perf_group_next(&l, &g) &&
		      g.leader == 10 && g.nr_members == 11 && is(g.name, "name1"),
	      "GROUP_DESC is read");
	CHECK(perf_features_hybrid(f, &l) && perf_hybrid_next(&l, &h) && perf_hybrid_next(&l, &h) &&
		      is(h.pmu, "name1") && is(h.cpus, "cpus1"),
	      "HYBRID_TOPOLOGY is read");
	CHECK(perf_features_cpu_pmu_caps(f, &l) && perf_pmu_cap_next(&l, &cap) &&
		      is(cap.name, "cap0") && is(cap.value, "value0"),
	      "CPU_PMU_CAPS is read");
	CHECK(perf_features_pmu_caps(f, &l) && perf_pmu_caps_next(&l, &caps) &&
		      perf_pmu_caps_next(&l, &caps) && is(caps.pmu, "pmu1") &&
		      perf_pmu_cap_next(&caps.caps, &cap) && perf_pmu_cap_next(&caps.caps, &cap) &&
		      is(cap.value, "value1") && !perf_pmu_cap_next(&caps.caps, &cap),
	      "PMU_CAPS is read");
}

static void test_blobs(const struct perf_features *f)
{
	struct perf_features simpleperf = *f;
	struct perf_auxtrace_index_entry e;
	struct perf_build_id_record id;
	struct perf_bpf_prog prog;
	struct perf_bpf_btf btf;
	struct perf_list l;
	uint16_t misc;

	CHECK(perf_features_auxtrace(f, &l) && perf_auxtrace_index_next(&l, &e) && e.offset == 1 &&
		      e.size == 11 && !perf_auxtrace_index_next(&l, &e) && !l.is_bad,
	      "AUXTRACE is read");
	simpleperf.section[PERF_FEAT_AUXTRACE].pos += 8;
	CHECK(perf_features_auxtrace(&simpleperf, &l) && perf_auxtrace_index_next(&l, &e) &&
		      e.offset == 1 && e.size == 11 && !perf_auxtrace_index_next(&l, &e),
	      "AUXTRACE as simpleperf writes it, without the count");
	CHECK(perf_features_build_ids(f, &l) && perf_build_id_next(&l, &id, &misc) &&
		      is(id.filename, "[kernel.kallsyms]") && misc == PERF_RECORD_MISC_KERNEL &&
		      perf_build_id_next(&l, &id, &misc) && id.build_id[1] == 1 &&
		      is(id.filename, "/bin/true") && !perf_build_id_next(&l, &id, &misc) &&
		      !l.is_bad,
	      "BUILD_ID is read");
	CHECK(perf_features_bpf_progs(f, &l) && perf_bpf_prog_next(&l, &prog) &&
		      perf_bpf_prog_next(&l, &prog) && bytes_left(&prog.info) == 112 &&
		      bytes_left(&prog.data) == 9 && prog.arrays == 3,
	      "BPF_PROG_INFO is read");
	CHECK(perf_features_bpf_btf(f, &l) && perf_bpf_btf_next(&l, &btf) &&
		      perf_bpf_btf_next(&l, &btf) && btf.id == 1 && bytes_left(&btf.data) == 9,
	      "BPF_BTF is read");
}

/* Without the parts that came with later versions of perf. */
static void test_old_topology(struct fixture *x)
{
	struct perf_features f = x->f;
	struct perf_cpu_topology t;
	size_t names = 3 * (4 + 64) + 8, ids = 8 * (size_t)PERF_MAKE_CPUS;
	uint8_t no_dies[512] = {0};

	f.section[PERF_FEAT_CPU_TOPOLOGY].end = f.section[PERF_FEAT_CPU_TOPOLOGY].pos + names + ids;
	CHECK(perf_features_cpu_topology(&f, &t) && t.nr_cpus == PERF_MAKE_CPUS && !t.has_dies &&
		      perf_cpu_topology_get(&t, 1).die == UINT32_MAX,
	      "CPU_TOPOLOGY before the dies");
	memcpy(no_dies, f.section[PERF_FEAT_CPU_TOPOLOGY].pos, names + ids);
	f.section[PERF_FEAT_CPU_TOPOLOGY] = (struct bytes){no_dies, no_dies + sizeof(no_dies)};
	CHECK(perf_features_cpu_topology(&f, &t) && t.nr_cpus == PERF_MAKE_CPUS && !t.has_dies,
	      "CPU_TOPOLOGY of a machine without dies");
	f.section[PERF_FEAT_CPU_TOPOLOGY] = x->f.section[PERF_FEAT_CPU_TOPOLOGY];
	f.section[PERF_FEAT_CPU_TOPOLOGY].end = f.section[PERF_FEAT_CPU_TOPOLOGY].pos + names + ids;
	f.section[PERF_FEAT_CPU_TOPOLOGY].end -= ids;
	CHECK(perf_features_cpu_topology(&f, &t) && t.nr_cpus == 0 && t.cores.left == 2,
	      "CPU_TOPOLOGY before the ids");
	f.section[PERF_FEAT_NRCPUS] = (struct bytes){0};
	f.section[PERF_FEAT_CPU_TOPOLOGY] = x->f.section[PERF_FEAT_CPU_TOPOLOGY];
	CHECK(perf_features_cpu_topology(&f, &t) && t.nr_cpus == 0,
	      "CPU_TOPOLOGY without knowing how many CPUs");
}

static void test_cut_lists(const struct perf_features *whole)
{
	struct perf_features f = *whole;
	struct perf_numa_node node;
	struct perf_list l;
	uint32_t huge[2] = {UINT32_MAX, 0};
	struct perf_pmu_mapping m;

	f.section[PERF_FEAT_NUMA_TOPOLOGY].end -= 1;
	CHECK(perf_features_numa(&f, &l) && perf_numa_next(&l, &node) &&
		      !perf_numa_next(&l, &node) && l.is_bad && !perf_numa_next(&l, &node),
	      "a cut list gives what is whole, then says it is bad");
	f.section[PERF_FEAT_PMU_MAPPINGS] = bytes_of(huge, sizeof(huge));
	CHECK(perf_features_pmu_mappings(&f, &l) && !perf_pmu_mapping_next(&l, &m) && l.is_bad,
	      "a count without items");
}

static void test_strings(void)
{
	static const uint8_t no_nul[] = {4, 0, 0, 0, 'a', 'b', 'c', 'd'};
	static const uint8_t empty[] = {0, 0, 0, 0}, wraps[] = {255, 255, 255, 255, 0};
	struct bytes b = bytes_of(no_nul, sizeof(no_nul));
	const char *s = NULL;

	CHECK(!perf_features_read_string(&b, false, &s) && b.pos == no_nul,
	      "a string without NUL is none, the cursor stays");
	b = bytes_of(empty, sizeof(empty));
	CHECK(!perf_features_read_string(&b, false, &s), "a string of no bytes");
	b = bytes_of(wraps, sizeof(wraps));
	CHECK(!perf_features_read_string(&b, false, &s), "a string of 4 GiB");
}

static void test_missing(void)
{
	struct perf_features none = {0};
	struct perf_cpu_topology t;
	struct perf_list l;
	uint64_t v;

	CHECK(!perf_features_string(&none, PERF_FEAT_ARCH) &&
		      !perf_features_u64(&none, PERF_FEAT_TOTAL_MEM, &v) &&
		      !perf_features_auxtrace(&none, &l) && !perf_features_build_ids(&none, &l) &&
		      !perf_features_cpu_topology(&none, &t) && !perf_features_numa(&none, &l),
	      "a missing one is not found");
	CHECK(perf_feature_name(0) == NULL && perf_feature_name(35) == NULL &&
		      is(perf_feature_name(34), "CLN_SIZE"),
	      "names end with the last feature");
}

int main(void)
{
	for (int big = 0; big < 2; big++) {
		struct fixture x;

		fixture_init(&x, big);
		test_values(&x.f);
		test_cmdline(&x.f);
		test_machine(&x.f);
		test_events(&x.f);
		test_blobs(&x.f);
		test_old_topology(&x);
		test_cut_lists(&x.f);
		fixture_done(&x);
	}
	test_strings();
	test_missing();
	return tap_done();
}
