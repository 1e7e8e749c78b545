/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_feature_lists.h"

/* ret stands at the items; the count before them is read. */
static bool open_list(struct bytes in, bool swap, struct perf_list *ret)
{
	*ret = (struct perf_list){.at = in, .swap = swap};
	return bytes_u32(&ret->at, swap, &ret->left);
}

static bool open_feature(const struct perf_features *f, enum perf_feature feature,
			 struct perf_list *ret)
{
	return open_list(f->section[feature], f->swap, ret);
}

/* The list ends here: either all its items went by, or the next one is not whole. */
static bool close_list(struct perf_list *l)
{
	l->is_bad = l->left != 0;
	l->left = 0;
	return false;
}

static bool get_u32(struct perf_list *l, uint32_t *ret)
{
	return bytes_u32(&l->at, l->swap, ret);
}

static bool get_u64(struct perf_list *l, uint64_t *ret)
{
	return bytes_u64(&l->at, l->swap, ret);
}

static bool get_string(struct perf_list *l, const char **ret)
{
	return perf_features_read_string(&l->at, l->swap, ret);
}

/* What every _next does: stop at the end or at a part that does not fit. */
#define NEXT(l, parts)           \
 do {                            \
  if (!(l)->left || (l)->is_bad) \
   return false;                 \
  if (!(parts))                  \
   return close_list(l);         \
  (l)->left--;                   \
  return true;                   \
 } while (0)

bool perf_features_cmdline(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_CMDLINE, ret);
}

bool perf_string_next(struct perf_list *l, const char **ret)
{
	NEXT(l, get_string(l, ret));
}

bool perf_features_event_desc(const struct perf_features *f, struct perf_event_descs *ret)
{
	return open_feature(f, PERF_FEAT_EVENT_DESC, &ret->list) &&
	       get_u32(&ret->list, &ret->attr_size);
}

static bool get_ids(struct perf_list *l, uint32_t nr, const uint8_t **ret)
{
	struct bytes ids;

	if (!bytes_take(&l->at, 8 * (size_t)nr, &ids))
		return false;
	*ret = ids.pos;
	return true;
}

bool perf_event_desc_next(struct perf_event_descs *d, struct perf_event_desc *ret)
{
	struct perf_list *l = &d->list;

	NEXT(l, bytes_take(&l->at, d->attr_size, &ret->attr) && get_u32(l, &ret->nr_ids) &&
			get_string(l, &ret->name) && get_ids(l, ret->nr_ids, &ret->ids));
}

/* A list inside a section: read over it, so that what follows it can be read. */
static bool inner_list(struct perf_list *outer, struct perf_list *ret)
{
	struct perf_list l;
	const char *s;

	if (!open_list(outer->at, outer->swap, ret))
		return false;
	l = *ret;
	while (perf_string_next(&l, &s))
		;
	outer->at = l.at;
	return !l.is_bad;
}

static bool get_array(struct perf_list *l, uint64_t bytes, const uint8_t **ret)
{
	if (bytes_left(&l->at) < bytes)
		return false;
	*ret = l->at.pos;
	l->at.pos += bytes;
	return true;
}

bool perf_features_cpu_topology(const struct perf_features *f, struct perf_cpu_topology *ret)
{
	struct perf_list l = {.at = f->section[PERF_FEAT_CPU_TOPOLOGY], .swap = f->swap};
	uint32_t online, available = 0;

	*ret = (struct perf_cpu_topology){.swap = f->swap};
	if (!inner_list(&l, &ret->cores) || !inner_list(&l, &ret->threads))
		return false;
	perf_features_nr_cpus(f, &online, &available);
	if (!available || !get_array(&l, 8 * (uint64_t)available, &ret->core_and_socket))
		return true;
	ret->nr_cpus = available;
	ret->has_dies = inner_list(&l, &ret->dies) && ret->dies.left > 0 &&
			get_array(&l, 4 * (uint64_t)available, &ret->die);
	return true;
}

struct perf_cpu_place perf_cpu_topology_get(const struct perf_cpu_topology *t, uint32_t cpu)
{
	const uint8_t *p = t->core_and_socket + 8 * (size_t)cpu;

	return (struct perf_cpu_place){
		.core = load_u32(p, t->swap),
		.socket = load_u32(p + 4, t->swap),
		.die = t->has_dies ? load_u32(t->die + 4 * (size_t)cpu, t->swap) : UINT32_MAX,
	};
}

bool perf_features_numa(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_NUMA_TOPOLOGY, ret);
}

bool perf_numa_next(struct perf_list *l, struct perf_numa_node *ret)
{
	NEXT(l, get_u32(l, &ret->node) && get_u64(l, &ret->total_kib) &&
			get_u64(l, &ret->free_kib) && get_string(l, &ret->cpus));
}

bool perf_features_pmu_mappings(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_PMU_MAPPINGS, ret);
}

bool perf_pmu_mapping_next(struct perf_list *l, struct perf_pmu_mapping *ret)
{
	NEXT(l, get_u32(l, &ret->type) && get_string(l, &ret->name));
}

bool perf_features_groups(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_GROUP_DESC, ret);
}

bool perf_group_next(struct perf_list *l, struct perf_group_desc *ret)
{
	NEXT(l,
	     get_string(l, &ret->name) && get_u32(l, &ret->leader) && get_u32(l, &ret->nr_members));
}

bool perf_features_auxtrace(const struct perf_features *f, struct perf_list *ret)
{
	struct bytes in = f->section[PERF_FEAT_AUXTRACE];
	uint64_t nr;

	*ret = (struct perf_list){.at = in, .swap = f->swap};
	if (!in.pos)
		return false;
	nr = bytes_left(&in) / 16;
	/* An entry has 16 bytes, so 8 odd ones are the count. */
	if (bytes_left(&in) % 16 == 8 && !get_u64(ret, &nr))
		return false;
	ret->left = nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
	return true;
}

bool perf_auxtrace_index_next(struct perf_list *l, struct perf_auxtrace_index_entry *ret)
{
	NEXT(l, get_u64(l, &ret->offset) && get_u64(l, &ret->size));
}

bool perf_features_caches(const struct perf_features *f, struct perf_list *ret)
{
	struct bytes in = f->section[PERF_FEAT_CACHE];
	uint32_t version;

	return bytes_u32(&in, f->swap, &version) && version == 1 && open_list(in, f->swap, ret);
}

bool perf_cache_next(struct perf_list *l, struct perf_cache_level *ret)
{
	NEXT(l, get_u32(l, &ret->level) && get_u32(l, &ret->line_bytes) && get_u32(l, &ret->sets) &&
			get_u32(l, &ret->ways) && get_string(l, &ret->type) &&
			get_string(l, &ret->size) && get_string(l, &ret->cpus));
}

bool perf_features_mem_topology(const struct perf_features *f, uint64_t *ret_block_bytes,
				struct perf_list *ret)
{
	struct perf_list l = {.at = f->section[PERF_FEAT_MEM_TOPOLOGY], .swap = f->swap};
	uint64_t version, block, nr;

	if (!get_u64(&l, &version) || version != 1 || !get_u64(&l, &block) || !get_u64(&l, &nr))
		return false;
	l.left = nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
	*ret_block_bytes = block;
	*ret = l;
	return true;
}

static bool get_bitmap(struct perf_list *l, const uint8_t **ret)
{
	uint64_t nr_bits, words;

	if (!get_u64(l, &nr_bits))
		return false;
	words = nr_bits / 64 + (nr_bits % 64 != 0);
	return words <= bytes_left(&l->at) / 8 && get_array(l, 8 * words, ret);
}

bool perf_memory_node_next(struct perf_list *l, struct perf_memory_node *ret)
{
	NEXT(l, get_u64(l, &ret->node) && get_u64(l, &ret->nr_bits) && bytes_left(&l->at) >= 8 &&
			load_u64(l->at.pos, l->swap) >= ret->nr_bits &&
			get_bitmap(l, &ret->bitmap));
}

bool perf_features_bpf_progs(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_BPF_PROG_INFO, ret);
}

bool perf_bpf_prog_next(struct perf_list *l, struct perf_bpf_prog *ret)
{
	uint32_t info_size, data_size;

	NEXT(l, get_u32(l, &info_size) && get_u32(l, &data_size) && get_u64(l, &ret->arrays) &&
			bytes_take(&l->at, info_size, &ret->info) &&
			bytes_take(&l->at, data_size, &ret->data));
}

bool perf_features_bpf_btf(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_BPF_BTF, ret);
}

bool perf_bpf_btf_next(struct perf_list *l, struct perf_bpf_btf *ret)
{
	uint32_t size;

	NEXT(l, get_u32(l, &ret->id) && get_u32(l, &size) && bytes_take(&l->at, size, &ret->data));
}

bool perf_features_cpu_pmu_caps(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_CPU_PMU_CAPS, ret);
}

bool perf_pmu_cap_next(struct perf_list *l, struct perf_pmu_cap *ret)
{
	NEXT(l, get_string(l, &ret->name) && get_string(l, &ret->value));
}

bool perf_features_pmu_caps(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_PMU_CAPS, ret);
}

/* The name follows the capabilities. */
static bool get_pmu_caps(struct perf_list *l, struct perf_pmu_caps *ret)
{
	struct perf_list caps;
	struct perf_pmu_cap cap;

	if (!open_list(l->at, l->swap, &ret->caps))
		return false;
	caps = ret->caps;
	while (perf_pmu_cap_next(&caps, &cap))
		;
	l->at = caps.at;
	return !caps.is_bad && get_string(l, &ret->pmu);
}

bool perf_pmu_caps_next(struct perf_list *l, struct perf_pmu_caps *ret)
{
	NEXT(l, get_pmu_caps(l, ret));
}

bool perf_features_hybrid(const struct perf_features *f, struct perf_list *ret)
{
	return open_feature(f, PERF_FEAT_HYBRID_TOPOLOGY, ret);
}

bool perf_hybrid_next(struct perf_list *l, struct perf_hybrid_pmu *ret)
{
	NEXT(l, get_string(l, &ret->pmu) && get_string(l, &ret->cpus));
}

bool perf_features_cpu_domains(const struct perf_features *f, struct perf_cpu_domains *ret)
{
	struct perf_list *l = &ret->list;
	uint32_t available;

	*l = (struct perf_list){.at = f->section[PERF_FEAT_CPU_DOMAIN_INFO], .swap = f->swap};
	return perf_features_nr_cpus(f, &l->left, &available) &&
	       get_u32(l, &ret->schedstat_version) && get_u32(l, &ret->max_domains);
}

static bool get_cpu_domains(struct perf_cpu_domains *d, struct perf_cpu_domain_list *ret)
{
	struct perf_cpu_domain_list all;
	struct perf_cpu_domain one;

	ret->has_names = d->schedstat_version >= 17;
	if (!get_u32(&d->list, &ret->cpu) || !open_list(d->list.at, d->list.swap, &ret->domains))
		return false;
	all = *ret;
	while (perf_cpu_domain_next(&all, &one))
		;
	d->list.at = all.domains.at;
	return !all.domains.is_bad;
}

bool perf_cpu_domains_next(struct perf_cpu_domains *d, struct perf_cpu_domain_list *ret)
{
	NEXT(&d->list, get_cpu_domains(d, ret));
}

bool perf_cpu_domain_next(struct perf_cpu_domain_list *d, struct perf_cpu_domain *ret)
{
	struct perf_list *l = &d->domains;

	ret->name = NULL;
	NEXT(l, get_u32(l, &ret->domain) && (!d->has_names || get_string(l, &ret->name)) &&
			get_string(l, &ret->cpu_mask) && get_string(l, &ret->cpu_list));
}

/* perf before 2.6.36 wrote no pid before the id. The kernel's name is that of the first record, and
 * distinguishes the two.
 * Spec: Linux 6.12 tools/perf/util/header.c, perf_header__read_build_ids(). */
static bool has_no_pid(struct bytes records)
{
	static const char end_of_name[] = "nel.kallsyms]"; /* after four bytes of it */
	enum { NAME_AT = 36 };

	return bytes_left(&records) >= NAME_AT + sizeof(end_of_name) &&
	       !memcmp(records.pos + NAME_AT, end_of_name, sizeof(end_of_name) - 1);
}

bool perf_features_build_ids(const struct perf_features *f, struct perf_list *ret)
{
	struct bytes section = f->section[PERF_FEAT_BUILD_ID];

	*ret = (struct perf_list){.at = section, .swap = f->swap, .left = UINT32_MAX};
	ret->has_no_pid = section.pos && has_no_pid(section);
	return ret->at.pos != NULL;
}

static enum clew_err parse_build_id(const struct perf_list *l, const struct perf_record *r,
				    struct perf_build_id_record *ret)
{
	return l->has_no_pid ? perf_build_id_parse_old(r, ret) : perf_build_id_parse(r, ret);
}

static bool get_build_id(struct perf_list *l, struct perf_build_id_record *ret, uint16_t *ret_misc)
{
	struct perf_record r = {.data = l->at.pos, .type = PERF_RECORD_HEADER_BUILD_ID};

	if (bytes_left(&l->at) < sizeof(struct perf_event_header))
		return false;
	r.misc = load_u16(r.data + 4, l->swap);
	r.size = load_u16(r.data + 6, l->swap);
	r.swap = l->swap;
	if (r.size < sizeof(struct perf_event_header) || !bytes_skip(&l->at, r.size) ||
	    parse_build_id(l, &r, ret) != CLEW_OK)
		return false;
	*ret_misc = r.misc;
	return true;
}

bool perf_build_id_next(struct perf_list *l, struct perf_build_id_record *ret, uint16_t *ret_misc)
{
	if (!bytes_left(&l->at))
		return false;
	NEXT(l, get_build_id(l, ret, ret_misc));
}
