/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_FEATURE_LISTS_H
#define PERFDATA_PERF_FEATURE_LISTS_H

#include "perfdata/perf_features.h"
#include "perfdata/perf_record.h"

/*
 * The header features that are lists. Each opener fills a perf_list that stands before the first
 * item and returns whether the section is there and has its fixed part; each _next returns the next
 * item, or false at the end. A list that ends early, because the section is cut or an item runs
 * over its end, has is_bad set: what came before it is good.
 *
 * Nothing is allocated or copied: strings and arrays point into the section and live as long as the
 * perf_features. Every item takes at least four bytes, so a list is no longer than its section.
 *
 * Spec: Linux 7.3 tools/perf/Documentation/perf.data-file-format.txt.
 */
struct perf_list {
	struct bytes at;
	uint32_t left; /* items the section still claims */
	bool swap, is_bad;
	bool has_no_pid; /* build ids of perf before 2.6.36 */
};

/** A list of bare strings: CMDLINE, and the sibling lists of CPU_TOPOLOGY. */
bool perf_features_cmdline(const struct perf_features *f, struct perf_list *ret);
bool perf_string_next(struct perf_list *l, const char **ret);

struct perf_event_desc {
	struct bytes attr; /* for perf_attr_parse() */
	const char *name;
	const uint8_t *ids; /* nr_ids words, load_u64() */
	uint32_t nr_ids;
};
struct perf_event_descs {
	struct perf_list list;
	uint32_t attr_size;
};
bool perf_features_event_desc(const struct perf_features *f, struct perf_event_descs *ret);
bool perf_event_desc_next(struct perf_event_descs *l, struct perf_event_desc *ret);

/** CPU_TOPOLOGY. Files before 4.x lack the core and socket ids, those before 5.x the dies. */
struct perf_cpu_topology {
	struct perf_list cores, threads, dies; /* sibling lists such as "0-3" */
	uint32_t nr_cpus;                      /* of the ids below; 0: not recorded */
	bool has_dies;
	bool swap;
	const uint8_t *core_and_socket; /* two u32 a CPU */
	const uint8_t *die;             /* one u32 a CPU, with has_dies */
};
struct perf_cpu_place {
	uint32_t core, socket, die; /* all ones: unknown */
};
bool perf_features_cpu_topology(const struct perf_features *f, struct perf_cpu_topology *ret);
/** @p cpu < nr_cpus. */
struct perf_cpu_place perf_cpu_topology_get(const struct perf_cpu_topology *t, uint32_t cpu);

struct perf_numa_node {
	uint32_t node;
	uint64_t total_kib, free_kib;
	const char *cpus; /* "0-3,8" */
};
bool perf_features_numa(const struct perf_features *f, struct perf_list *ret);
bool perf_numa_next(struct perf_list *l, struct perf_numa_node *ret);

struct perf_pmu_mapping {
	uint32_t type; /* attr.type */
	const char *name;
};
bool perf_features_pmu_mappings(const struct perf_features *f, struct perf_list *ret);
bool perf_pmu_mapping_next(struct perf_list *l, struct perf_pmu_mapping *ret);

struct perf_group_desc {
	const char *name; /* "{anon_group}" without a name of its own */
	uint32_t leader;  /* index of the event */
	uint32_t nr_members;
};
bool perf_features_groups(const struct perf_features *f, struct perf_list *ret);
bool perf_group_next(struct perf_list *l, struct perf_group_desc *ret);

/** AUXTRACE: where the AUXTRACE records stand. perf writes a count first, simpleperf does not. */
struct perf_auxtrace_index_entry {
	uint64_t offset, size; /* in the file; of the record and its trace bytes */
};
bool perf_features_auxtrace(const struct perf_features *f, struct perf_list *ret);
bool perf_auxtrace_index_next(struct perf_list *l, struct perf_auxtrace_index_entry *ret);

struct perf_cache_level {
	uint32_t level, line_bytes, sets, ways;
	const char *type, *size, *cpus; /* "Data", "32K", "0-1" */
};
bool perf_features_caches(const struct perf_features *f, struct perf_list *ret);
bool perf_cache_next(struct perf_list *l, struct perf_cache_level *ret);

struct perf_memory_node {
	uint64_t node, nr_bits;
	const uint8_t *bitmap; /* words of 64 blocks each, load_u64() */
};
bool perf_features_mem_topology(const struct perf_features *f, uint64_t *ret_block_bytes,
				struct perf_list *ret);
bool perf_memory_node_next(struct perf_list *l, struct perf_memory_node *ret);

/** BPF_PROG_INFO: one loaded program. @p info is a struct bpf_prog_info of its writer's kernel. */
struct perf_bpf_prog {
	struct bytes info, data;
	uint64_t arrays; /* which arrays data holds */
};
bool perf_features_bpf_progs(const struct perf_features *f, struct perf_list *ret);
bool perf_bpf_prog_next(struct perf_list *l, struct perf_bpf_prog *ret);

struct perf_bpf_btf {
	uint32_t id;
	struct bytes data;
};
bool perf_features_bpf_btf(const struct perf_features *f, struct perf_list *ret);
bool perf_bpf_btf_next(struct perf_list *l, struct perf_bpf_btf *ret);

struct perf_pmu_cap {
	const char *name, *value;
};
/** CPU_PMU_CAPS. */
bool perf_features_cpu_pmu_caps(const struct perf_features *f, struct perf_list *ret);
bool perf_pmu_cap_next(struct perf_list *l, struct perf_pmu_cap *ret);

/** PMU_CAPS: the capabilities of each PMU. */
struct perf_pmu_caps {
	struct perf_list caps; /* perf_pmu_cap_next() */
	const char *pmu;
};
bool perf_features_pmu_caps(const struct perf_features *f, struct perf_list *ret);
bool perf_pmu_caps_next(struct perf_list *l, struct perf_pmu_caps *ret);

struct perf_hybrid_pmu {
	const char *pmu, *cpus;
};
bool perf_features_hybrid(const struct perf_features *f, struct perf_list *ret);
bool perf_hybrid_next(struct perf_list *l, struct perf_hybrid_pmu *ret);

/** CPU_DOMAIN_INFO: the scheduler domains of each online CPU; needs NRCPUS. */
struct perf_cpu_domains {
	struct perf_list list;
	uint32_t schedstat_version, max_domains;
};
struct perf_cpu_domain_list {
	uint32_t cpu;
	struct perf_list domains; /* perf_cpu_domain_next() */
	bool has_names;
};
struct perf_cpu_domain {
	uint32_t domain;
	const char *name; /* NULL before schedstat version 17 */
	const char *cpu_mask, *cpu_list;
};
bool perf_features_cpu_domains(const struct perf_features *f, struct perf_cpu_domains *ret);
bool perf_cpu_domains_next(struct perf_cpu_domains *l, struct perf_cpu_domain_list *ret);
bool perf_cpu_domain_next(struct perf_cpu_domain_list *l, struct perf_cpu_domain *ret);

/** BUILD_ID: a run of records as HEADER_BUILD_ID; misc in @p ret_misc distinguishes kernel from
 * user. */
bool perf_features_build_ids(const struct perf_features *f, struct perf_list *ret);
bool perf_build_id_next(struct perf_list *l, struct perf_build_id_record *ret, uint16_t *ret_misc);

#endif
