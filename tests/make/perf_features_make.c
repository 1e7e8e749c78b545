/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/perf_features_make.h"

#include <stdio.h>

/*
 * Item i of every list has names that end in i and numbers that are 10 * i and some more, so that
 * tests can say what they expect.
 */
static void put_item_name(struct perf_put *p, const char *what, unsigned int i)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%u", what, i);
	put_name(p, name);
}

static void make_event_desc(struct perf_random *r, struct perf_put *p)
{
	put_u32(p, PERF_MAKE_ITEMS);
	put_u32(p, PERF_ATTR_SIZE_VER5);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		struct perf_attr attr;

		perf_random_attr(r, &attr);
		attr.size = PERF_ATTR_SIZE_VER5;
		perf_encode_attr(p, &attr, PERF_ATTR_SIZE_VER5);
		put_u32(p, i + 1);
		put_item_name(p, "event", i);
		for (unsigned int id = 0; id <= i; id++)
			put_u64(p, 100 * i + id);
	}
}

static void make_cpu_topology(struct perf_put *p)
{
	put_u32(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++)
		put_item_name(p, "cores", i);
	put_u32(p, 1);
	put_item_name(p, "threads", 0);
	for (unsigned int cpu = 0; cpu < PERF_MAKE_CPUS; cpu++) {
		put_u32(p, cpu); /* perf takes no core or socket above the number of CPUs */
		put_u32(p, 2 - cpu);
	}
	put_u32(p, 1);
	put_item_name(p, "dies", 0);
	for (unsigned int cpu = 0; cpu < PERF_MAKE_CPUS; cpu++)
		put_u32(p, 10 * cpu);
}

static void make_mem_topology(struct perf_put *p)
{
	put_u64(p, 1); /* version */
	put_u64(p, 0x8000000);
	put_u64(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		put_u64(p, i);
		put_u64(p, 70); /* bits: two words */
		put_u64(p, 70);
		put_u64(p, 0xf0f);
		put_u64(p, 0x20 + i);
	}
}

static void make_cache(struct perf_put *p)
{
	put_u32(p, 1); /* version */
	put_u32(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		for (unsigned int k = 0; k < 4; k++) /* level, line, sets, ways */
			put_u32(p, 10 * i + k);
		put_item_name(p, "type", i);
		put_item_name(p, "size", i);
		put_item_name(p, "cpus", i);
	}
}

static void make_caps(struct perf_put *p)
{
	put_u32(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		put_item_name(p, "cap", i);
		put_item_name(p, "value", i);
	}
}

static void make_bpf(struct perf_random *r, struct perf_put *p, bool is_btf)
{
	put_u32(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		put_u32(p, is_btf ? i : 112); /* id, or size of the info */
		put_u32(p, 8 + i);
		if (!is_btf) {
			put_u64(p, 0x3);
			for (unsigned int at = 0; at < 112; at++)
				put_u8(p, (uint8_t)perf_random_u64(r));
		}
		for (unsigned int at = 0; at < 8 + i; at++)
			put_u8(p, (uint8_t)at);
	}
}

static void make_cpu_domains(struct perf_put *p)
{
	put_u32(p, 17); /* schedstat version */
	put_u32(p, 4);
	for (unsigned int cpu = 0; cpu < PERF_MAKE_CPUS; cpu++) {
		put_u32(p, cpu);
		put_u32(p, 1);
		put_u32(p, 10 * cpu);
		put_item_name(p, "domain", cpu);
		put_item_name(p, "mask", cpu);
		put_item_name(p, "list", cpu);
	}
}

static void make_build_ids(struct perf_put *p)
{
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		union perf_view v = {
			.build_id = {.pid = UINT32_MAX,
				     .build_id = {0xab, (uint8_t)i},
				     .build_id_bytes = 20,
				     .filename = i ? "/bin/true" : "[kernel.kallsyms]"}
                };

		perf_encode_record(p, PERF_RECORD_HEADER_BUILD_ID,
				   i ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL, &v, NULL,
				   NULL);
	}
}

static void make_numbers(struct perf_put *p, unsigned int nr, unsigned int bytes)
{
	for (unsigned int i = 0; i < nr; i++)
		put_number(p, 10 * i + 1, bytes);
}

/* Lists with items of a name and some numbers before or after. */
static void make_names(struct perf_put *p, enum perf_feature feature)
{
	put_u32(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		if (feature == PERF_FEAT_NUMA_TOPOLOGY) {
			put_u32(p, 10 * i);
			put_u64(p, 10 * i + 1);
			put_u64(p, 10 * i + 2);
		}
		if (feature == PERF_FEAT_PMU_MAPPINGS)
			put_u32(p, 10 * i);
		if (feature == PERF_FEAT_NUMA_TOPOLOGY)
			put_name(p, i ? "2" : "0-1"); /* perf parses this one */
		else
			put_item_name(p, "name", i);
		if (feature == PERF_FEAT_HYBRID_TOPOLOGY)
			put_item_name(p, "cpus", i);
		if (feature == PERF_FEAT_GROUP_DESC) {
			put_u32(p, 10 * i);
			put_u32(p, 10 * i + 1);
		}
	}
}

static void make_pmu_caps(struct perf_put *p)
{
	put_u32(p, PERF_MAKE_ITEMS);
	for (unsigned int i = 0; i < PERF_MAKE_ITEMS; i++) {
		make_caps(p);
		put_item_name(p, "pmu", i);
	}
}

void perf_make_feature(struct perf_random *r, struct perf_put *p, enum perf_feature feature)
{
	/* clang-format off */
	switch (feature) {
	case PERF_FEAT_TRACING_DATA:    put_name(p, "not really"); break;
	case PERF_FEAT_BUILD_ID:        make_build_ids(p); break;
	case PERF_FEAT_HOSTNAME:
	case PERF_FEAT_OSRELEASE:
	case PERF_FEAT_VERSION:
	case PERF_FEAT_ARCH:
	case PERF_FEAT_CPUDESC:
	case PERF_FEAT_CPUID:           put_item_name(p, "text", feature); break;
	case PERF_FEAT_NRCPUS:          put_u32(p, PERF_MAKE_CPUS); put_u32(p, PERF_MAKE_CPUS); break;
	case PERF_FEAT_TOTAL_MEM:
	case PERF_FEAT_CLOCKID:
	case PERF_FEAT_DIR_FORMAT:      make_numbers(p, 1, 8); break;
	case PERF_FEAT_CMDLINE:
	case PERF_FEAT_NUMA_TOPOLOGY:
	case PERF_FEAT_PMU_MAPPINGS:
	case PERF_FEAT_GROUP_DESC:
	case PERF_FEAT_HYBRID_TOPOLOGY: make_names(p, feature); break;
	case PERF_FEAT_EVENT_DESC:      make_event_desc(r, p); break;
	case PERF_FEAT_CPU_TOPOLOGY:    make_cpu_topology(p); break;
	case PERF_FEAT_BRANCH_STACK:
	case PERF_FEAT_STAT:            break;
	case PERF_FEAT_AUXTRACE:        put_u64(p, 1); make_numbers(p, 2, 8); break;
	case PERF_FEAT_CACHE:           make_cache(p); break;
	case PERF_FEAT_SAMPLE_TIME:     make_numbers(p, 2, 8); break;
	case PERF_FEAT_MEM_TOPOLOGY:    make_mem_topology(p); break;
	case PERF_FEAT_BPF_PROG_INFO:   make_bpf(r, p, false); break;
	case PERF_FEAT_BPF_BTF:         make_bpf(r, p, true); break;
	case PERF_FEAT_COMPRESSED:      make_numbers(p, 5, 4); break;
	case PERF_FEAT_CPU_PMU_CAPS:    make_caps(p); break;
	case PERF_FEAT_CLOCK_DATA:      make_numbers(p, 2, 4); make_numbers(p, 2, 8); break;
	case PERF_FEAT_PMU_CAPS:        make_pmu_caps(p); break;
	case PERF_FEAT_CPU_DOMAIN_INFO: make_cpu_domains(p); break;
	case PERF_FEAT_E_MACHINE:       make_numbers(p, 2, 4); break;
	case PERF_FEAT_CLN_SIZE:        make_numbers(p, 1, 4); break;
	case PERF_FEAT_CLEW_STACKS:
	case PERF_FEAT_CLEW_MAPS:
	case PERF_FEAT_CLEW_GUESTS:
	case PERF_FEAT_MAX:
	case PERF_FEAT_BITS:            break;
	}
	/* clang-format on */
}
