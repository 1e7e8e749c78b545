/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_features.h"

const char *perf_feature_name(unsigned int feature)
{
	static const char *const names[PERF_FEAT_MAX] = {
		[PERF_FEAT_TRACING_DATA] = "TRACING_DATA",
		[PERF_FEAT_BUILD_ID] = "BUILD_ID",
		[PERF_FEAT_HOSTNAME] = "HOSTNAME",
		[PERF_FEAT_OSRELEASE] = "OSRELEASE",
		[PERF_FEAT_VERSION] = "VERSION",
		[PERF_FEAT_ARCH] = "ARCH",
		[PERF_FEAT_NRCPUS] = "NRCPUS",
		[PERF_FEAT_CPUDESC] = "CPUDESC",
		[PERF_FEAT_CPUID] = "CPUID",
		[PERF_FEAT_TOTAL_MEM] = "TOTAL_MEM",
		[PERF_FEAT_CMDLINE] = "CMDLINE",
		[PERF_FEAT_EVENT_DESC] = "EVENT_DESC",
		[PERF_FEAT_CPU_TOPOLOGY] = "CPU_TOPOLOGY",
		[PERF_FEAT_NUMA_TOPOLOGY] = "NUMA_TOPOLOGY",
		[PERF_FEAT_BRANCH_STACK] = "BRANCH_STACK",
		[PERF_FEAT_PMU_MAPPINGS] = "PMU_MAPPINGS",
		[PERF_FEAT_GROUP_DESC] = "GROUP_DESC",
		[PERF_FEAT_AUXTRACE] = "AUXTRACE",
		[PERF_FEAT_STAT] = "STAT",
		[PERF_FEAT_CACHE] = "CACHE",
		[PERF_FEAT_SAMPLE_TIME] = "SAMPLE_TIME",
		[PERF_FEAT_MEM_TOPOLOGY] = "MEM_TOPOLOGY",
		[PERF_FEAT_CLOCKID] = "CLOCKID",
		[PERF_FEAT_DIR_FORMAT] = "DIR_FORMAT",
		[PERF_FEAT_BPF_PROG_INFO] = "BPF_PROG_INFO",
		[PERF_FEAT_BPF_BTF] = "BPF_BTF",
		[PERF_FEAT_COMPRESSED] = "COMPRESSED",
		[PERF_FEAT_CPU_PMU_CAPS] = "CPU_PMU_CAPS",
		[PERF_FEAT_CLOCK_DATA] = "CLOCK_DATA",
		[PERF_FEAT_HYBRID_TOPOLOGY] = "HYBRID_TOPOLOGY",
		[PERF_FEAT_PMU_CAPS] = "PMU_CAPS",
		[PERF_FEAT_CPU_DOMAIN_INFO] = "CPU_DOMAIN_INFO",
		[PERF_FEAT_E_MACHINE] = "E_MACHINE",
		[PERF_FEAT_CLN_SIZE] = "CLN_SIZE",
	};

	return feature < PERF_FEAT_MAX ? names[feature] : NULL;
}

bool perf_features_read_string(struct bytes *b, bool swap, const char **ret)
{
	struct bytes in = *b, text;
	uint32_t size;

	if (!bytes_u32(&in, swap, &size) || !bytes_take(&in, size, &text))
		return false;
	if (!size || !memchr(text.pos, 0, size))
		return false;
	*ret = (const char *)text.pos;
	*b = in;
	return true;
}

/* An empty cursor where the feature is missing, so that every read of it fails. */
static struct bytes section_of(const struct perf_features *f, enum perf_feature feature)
{
	return f->section[feature];
}

const char *perf_features_string(const struct perf_features *f, enum perf_feature feature)
{
	struct bytes b = section_of(f, feature);
	const char *s;

	return perf_features_read_string(&b, f->swap, &s) ? s : NULL;
}

static bool read_two_u32(const struct perf_features *f, enum perf_feature feature,
			 uint32_t *ret_first, uint32_t *ret_second)
{
	struct bytes b = section_of(f, feature);
	uint32_t first, second;

	if (!bytes_u32(&b, f->swap, &first) || !bytes_u32(&b, f->swap, &second))
		return false;
	*ret_first = first;
	*ret_second = second;
	return true;
}

bool perf_features_nr_cpus(const struct perf_features *f, uint32_t *ret_online,
			   uint32_t *ret_available)
{
	return read_two_u32(f, PERF_FEAT_NRCPUS, ret_available, ret_online);
}

bool perf_features_e_machine(const struct perf_features *f, uint32_t *ret_machine,
			     uint32_t *ret_flags)
{
	return read_two_u32(f, PERF_FEAT_E_MACHINE, ret_machine, ret_flags);
}

bool perf_features_cache_line(const struct perf_features *f, uint32_t *ret)
{
	struct bytes b = section_of(f, PERF_FEAT_CLN_SIZE);

	return bytes_u32(&b, f->swap, ret);
}

bool perf_features_u64(const struct perf_features *f, enum perf_feature feature, uint64_t *ret)
{
	struct bytes b = section_of(f, feature);

	return bytes_u64(&b, f->swap, ret);
}

bool perf_features_sample_time(const struct perf_features *f, uint64_t *ret_first,
			       uint64_t *ret_last)
{
	struct bytes b = section_of(f, PERF_FEAT_SAMPLE_TIME);
	uint64_t first, last;

	if (!bytes_u64(&b, f->swap, &first) || !bytes_u64(&b, f->swap, &last))
		return false;
	*ret_first = first;
	*ret_last = last;
	return true;
}

bool perf_features_next_arg(const struct perf_features *f, struct bytes *at, uint32_t *left,
			    const char **ret)
{
	if (*left == UINT32_MAX && !bytes_u32(at, f->swap, left))
		return false;
	if (!*left || !perf_features_read_string(at, f->swap, ret))
		return false;
	--*left;
	return true;
}

bool perf_features_compressed(const struct perf_features *f, struct perf_compressed *ret)
{
	struct bytes b = section_of(f, PERF_FEAT_COMPRESSED);
	struct perf_compressed c;

	if (!bytes_u32(&b, f->swap, &c.version) || !bytes_u32(&b, f->swap, &c.type) ||
	    !bytes_u32(&b, f->swap, &c.level) || !bytes_u32(&b, f->swap, &c.ratio) ||
	    !bytes_u32(&b, f->swap, &c.mmap_len))
		return false;
	*ret = c;
	return true;
}

bool perf_features_clock_data(const struct perf_features *f, struct perf_clock_data *ret)
{
	struct bytes b = section_of(f, PERF_FEAT_CLOCK_DATA);
	struct perf_clock_data c;

	if (!bytes_u32(&b, f->swap, &c.version) || !bytes_u32(&b, f->swap, &c.clockid) ||
	    !bytes_u64(&b, f->swap, &c.wall_clock_ns) || !bytes_u64(&b, f->swap, &c.clockid_ns))
		return false;
	*ret = c;
	return true;
}
