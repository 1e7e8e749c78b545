/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/header/header_text.h"

#include <time.h>

#include "base/escape.h"
#include "format/header/attr_text.h"
#include "format/header/header_impl.h"
#include "perfdata/perf_feature_lists.h"

/* What is printed of one feature; after perf's text, which tools parse. */
struct feature_printer {
	enum perf_feature feature;
	void (*print)(struct buf *out, const struct header_facts *h);
	bool is_long; /* only with is_full, else a line that says so */
};

static const struct perf_features *features_of(const struct header_facts *h)
{
	return perf_file_features(h->file);
}

static void add_string(struct buf *out, const struct header_facts *h, const char *key,
		       enum perf_feature feature)
{
	const char *s = perf_features_string(features_of(h), feature);

	escape_printf(out, "# %s : %s\n", key, s ? s : "");
}

static void print_hostname(struct buf *out, const struct header_facts *h)
{
	add_string(out, h, "hostname", PERF_FEAT_HOSTNAME);
}

static void print_osrelease(struct buf *out, const struct header_facts *h)
{
	add_string(out, h, "os release", PERF_FEAT_OSRELEASE);
}

static void print_version(struct buf *out, const struct header_facts *h)
{
	add_string(out, h, "perf version", PERF_FEAT_VERSION);
}

static void print_arch(struct buf *out, const struct header_facts *h)
{
	add_string(out, h, "arch", PERF_FEAT_ARCH);
}

static void print_nr_cpus(struct buf *out, const struct header_facts *h)
{
	uint32_t online, available;

	if (perf_features_nr_cpus(features_of(h), &online, &available))
		buf_printf(out, "# nrcpus online : %u\n# nrcpus avail : %u\n", online, available);
}

static void print_cpudesc(struct buf *out, const struct header_facts *h)
{
	add_string(out, h, "cpudesc", PERF_FEAT_CPUDESC);
}

static void print_cpuid(struct buf *out, const struct header_facts *h)
{
	add_string(out, h, "cpuid", PERF_FEAT_CPUID);
}

static void print_total_mem(struct buf *out, const struct header_facts *h)
{
	uint64_t kib;

	if (perf_features_u64(features_of(h), PERF_FEAT_TOTAL_MEM, &kib))
		buf_printf(out, "# total memory : %llu kB\n", (unsigned long long)kib);
}

static void print_cmdline(struct buf *out, const struct header_facts *h)
{
	struct perf_list args;
	const char *arg;
	size_t from;

	buf_str(out, "# cmdline : ");
	from = out->nr;
	if (perf_features_cmdline(features_of(h), &args)) {
		while (perf_string_next(&args, &arg)) {
			for (; *arg; arg++) {
				if (*arg == '\'')
					buf_char(out, '\\');
				buf_char(out, *arg);
			}
			buf_char(out, ' ');
		}
	}
	escape_since(out, from);
	buf_char(out, '\n');
}

static void add_ids(struct buf *out, const struct perf_event_desc *d, bool swap)
{
	buf_str(out, ", id = {");
	for (uint32_t i = 0; i < d->nr_ids; i++) {
		if (i)
			buf_char(out, ',');
		buf_char(out, ' ');
		buf_dec(out, load_u64(d->ids + 8 * (size_t)i, swap), 0, ' ');
	}
	buf_str(out, " }");
}

static void print_events(struct buf *out, const struct header_facts *h)
{
	struct perf_event_descs descs;
	struct perf_event_desc d;
	struct perf_attr attr;

	if (!perf_features_event_desc(features_of(h), &descs))
		return;
	while (perf_event_desc_next(&descs, &d)) {
		if (perf_attr_parse(d.attr, descs.list.swap, &attr) != CLEW_OK)
			continue;
		buf_str(out, "# event : name = ");
		escape_str(out, d.name);
		buf_str(out, ", ");
		if (d.nr_ids)
			add_ids(out, &d, descs.list.swap);
		buf_str(out, ", ");
		attr_text(out, &attr, " = ");
		buf_char(out, '\n');
	}
}

static void print_branch_stack(struct buf *out, const struct header_facts *h)
{
	(void)h;
	buf_str(out, "# contains samples with branch stack\n");
}

static void print_auxtrace(struct buf *out, const struct header_facts *h)
{
	(void)h;
	buf_str(out, "# contains AUX area data (e.g. instruction trace)\n");
}

static void print_stat(struct buf *out, const struct header_facts *h)
{
	(void)h;
	buf_str(out, "# contains stat data\n");
}

static void print_pmu_mappings(struct buf *out, const struct header_facts *h)
{
	const char *separator = "# pmu mappings: ";
	struct perf_pmu_mapping m;
	struct perf_list l;

	if (!perf_features_pmu_mappings(features_of(h), &l))
		return;
	if (!l.left) {
		buf_str(out, "# pmu mappings: not available\n");
		return;
	}
	for (; perf_pmu_mapping_next(&l, &m); separator = ", ")
		escape_printf(out, "%s%s = %u", separator, m.name, m.type);
	buf_char(out, '\n');
}

static void print_groups(struct buf *out, const struct header_facts *h)
{
	const struct perf_evlist *evlist = perf_file_evlist(h->file);
	struct perf_group_desc g;
	struct perf_list l;

	if (!perf_features_groups(features_of(h), &l))
		return;
	while (perf_group_next(&l, &g)) {
		if (g.leader >= evlist->evsels.nr || g.nr_members > evlist->evsels.nr - g.leader ||
		    g.nr_members < 2)
			continue;
		escape_printf(out, "# group: %s{", strcmp(g.name, "{anon_group}") ? g.name : "");
		for (uint32_t i = 0; i < g.nr_members; i++)
			escape_printf(out, "%s%s", i ? "," : "",
				      evlist->evsels.data[g.leader + i]->name);
		buf_str(out, "}\n");
	}
}

static void add_time(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%llu.%06llu", (unsigned long long)(ns / 1000000000),
		   (unsigned long long)(ns % 1000000000 / 1000));
}

static void print_sample_time(struct buf *out, const struct header_facts *h)
{
	uint64_t first, last;

	if (!perf_features_sample_time(features_of(h), &first, &last))
		return;
	buf_str(out, "# time of first sample : ");
	add_time(out, first);
	buf_str(out, "\n# time of last sample : ");
	add_time(out, last);
	buf_printf(out, "\n# sample duration : %10.3f ms\n", (double)(last - first) / 1e6);
}

static void print_clockid(struct buf *out, const struct header_facts *h)
{
	uint64_t resolution;

	if (perf_features_u64(features_of(h), PERF_FEAT_CLOCKID, &resolution))
		buf_printf(out, "# clockid frequency: %llu MHz\n",
			   (unsigned long long)resolution * 1000);
}

static void print_dir_format(struct buf *out, const struct header_facts *h)
{
	uint64_t version;

	if (perf_features_u64(features_of(h), PERF_FEAT_DIR_FORMAT, &version))
		buf_printf(out, "# directory data version : %llu\n", (unsigned long long)version);
}

static void print_compressed(struct buf *out, const struct header_facts *h)
{
	struct perf_compressed c;

	if (perf_features_compressed(features_of(h), &c))
		buf_printf(out, "# compressed : %s, level = %u, ratio = %u\n",
			   c.type == 1 ? "Zstd" : "Unknown", c.level, c.ratio);
}

static void add_caps(struct buf *out, const char *pmu, struct perf_list caps)
{
	struct perf_pmu_cap cap;
	const char *separator = "";

	escape_printf(out, "# %s pmu capabilities: ", pmu);
	if (!caps.left)
		buf_str(out, "not available");
	for (; perf_pmu_cap_next(&caps, &cap); separator = ", ")
		escape_printf(out, "%s%s=%s", separator, cap.name, cap.value);
	buf_char(out, '\n');
}

static void print_cpu_pmu_caps(struct buf *out, const struct header_facts *h)
{
	struct perf_list l;

	if (perf_features_cpu_pmu_caps(features_of(h), &l))
		add_caps(out, "cpu", l);
}

static void print_pmu_caps(struct buf *out, const struct header_facts *h)
{
	struct perf_pmu_caps caps;
	struct perf_list l;

	if (!perf_features_pmu_caps(features_of(h), &l))
		return;
	while (perf_pmu_caps_next(&l, &caps))
		add_caps(out, caps.pmu, caps.caps);
}

static const char *clock_name(uint32_t clockid)
{
	static const char *const names[] = {
		[CLOCK_REALTIME] = "realtime",
		[CLOCK_MONOTONIC] = "monotonic",
		[CLOCK_PROCESS_CPUTIME_ID] = "process_cputime",
		[CLOCK_THREAD_CPUTIME_ID] = "thread_cputime",
		[CLOCK_MONOTONIC_RAW] = "monotonic_raw",
		[CLOCK_REALTIME_COARSE] = "realtime_coarse",
		[CLOCK_MONOTONIC_COARSE] = "monotonic_coarse",
		[CLOCK_BOOTTIME] = "boottime",
		[CLOCK_TAI] = "tai",
	};

	return clockid < sizeof(names) / sizeof(*names) && names[clockid] ? names[clockid]
									  : "(not found)";
}

static void print_clock_data(struct buf *out, const struct header_facts *h)
{
	struct perf_clock_data c;
	const char *name;

	if (!perf_features_clock_data(features_of(h), &c))
		return;
	name = clock_name(c.clockid);
	buf_printf(out, "# clockid: %s (%u)\n# reference time: ", name, c.clockid);
	header_local_time(out, c.wall_clock_ns);
	buf_str(out, " = ");
	add_time(out, c.wall_clock_ns);
	buf_str(out, " (TOD) = ");
	buf_seconds(out, c.clockid_ns);
	buf_printf(out, " (%s)\n", name);
}

static void print_e_machine(struct buf *out, const struct header_facts *h)
{
	uint32_t machine, flags;

	if (perf_features_e_machine(features_of(h), &machine, &flags))
		buf_printf(out, "# e_machine : %u\n#   e_flags : %u\n", machine, flags);
}

static void print_cache_line(struct buf *out, const struct header_facts *h)
{
	uint32_t bytes;

	if (perf_features_cache_line(features_of(h), &bytes))
		buf_printf(out, "# cacheline size: %u\n", bytes);
}

/* In the order of their numbers, as perf goes through them. */
static const struct feature_printer printers[] = {
	{PERF_FEAT_HOSTNAME,        print_hostname,            false},
	{PERF_FEAT_OSRELEASE,       print_osrelease,           false},
	{PERF_FEAT_VERSION,         print_version,             false},
	{PERF_FEAT_ARCH,            print_arch,                false},
	{PERF_FEAT_NRCPUS,          print_nr_cpus,             false},
	{PERF_FEAT_CPUDESC,         print_cpudesc,             false},
	{PERF_FEAT_CPUID,           print_cpuid,               false},
	{PERF_FEAT_TOTAL_MEM,       print_total_mem,           false},
	{PERF_FEAT_CMDLINE,         print_cmdline,             false},
	{PERF_FEAT_EVENT_DESC,      print_events,              false},
	{PERF_FEAT_CPU_TOPOLOGY,    header_print_cpu_topology, true },
	{PERF_FEAT_NUMA_TOPOLOGY,   header_print_numa,         true },
	{PERF_FEAT_BRANCH_STACK,    print_branch_stack,        false},
	{PERF_FEAT_PMU_MAPPINGS,    print_pmu_mappings,        false},
	{PERF_FEAT_GROUP_DESC,      print_groups,              false},
	{PERF_FEAT_AUXTRACE,        print_auxtrace,            false},
	{PERF_FEAT_STAT,            print_stat,                false},
	{PERF_FEAT_CACHE,           header_print_caches,       true },
	{PERF_FEAT_SAMPLE_TIME,     print_sample_time,         false},
	{PERF_FEAT_MEM_TOPOLOGY,    header_print_memory,       true },
	{PERF_FEAT_CLOCKID,         print_clockid,             false},
	{PERF_FEAT_DIR_FORMAT,      print_dir_format,          false},
	{PERF_FEAT_BPF_PROG_INFO,   header_print_bpf_progs,    false},
	{PERF_FEAT_BPF_BTF,         header_print_bpf_btf,      false},
	{PERF_FEAT_COMPRESSED,      print_compressed,          false},
	{PERF_FEAT_CPU_PMU_CAPS,    print_cpu_pmu_caps,        false},
	{PERF_FEAT_CLOCK_DATA,      print_clock_data,          false},
	{PERF_FEAT_HYBRID_TOPOLOGY, header_print_hybrid,       true },
	{PERF_FEAT_PMU_CAPS,        print_pmu_caps,            false},
	{PERF_FEAT_CPU_DOMAIN_INFO, header_print_cpu_domains,  true },
	{PERF_FEAT_E_MACHINE,       print_e_machine,           false},
	{PERF_FEAT_CLN_SIZE,        print_cache_line,          false},
};

/* A feature that is present but empty counts. */
static bool is_there(const struct perf_features *f, unsigned int feature)
{
	return perf_features_has(f, feature) || f->bits[feature / 64] >> feature % 64 & 1;
}

static void add_missing(struct buf *out, const struct perf_features *f)
{
	buf_str(out, "# missing features: ");
	/* Up to the last that perf 6 knows: hardly any file has later ones. */
	for (unsigned int i = PERF_FEAT_TRACING_DATA; i <= PERF_FEAT_PMU_CAPS; i++) {
		if (!is_there(f, i))
			buf_printf(out, "%s ", perf_feature_name(i));
	}
	buf_char(out, '\n');
}

void header_text(struct buf *out, const struct header_facts *h)
{
	struct perf_file_section data = perf_file_data(h->file);
	const struct perf_features *f = features_of(h);
	bool is_pipe = perf_file_is_pipe(h->file);

	buf_str(out, "# ========\n");
	if (h->captured_on)
		buf_printf(out, "# captured on    : %s\n", h->captured_on);
	buf_printf(out,
		   "# header version : %u\n# data offset    : %llu\n# data size      : %llu\n"
		   "# feat offset    : %llu\n",
		   perf_file_version(h->file) - 1, /* as perf counts them */
		   (unsigned long long)data.offset, (unsigned long long)data.size,
		   (unsigned long long)(data.offset + data.size));
	if (is_pipe)
		buf_str(out, "# ========\n#\n");
	for (size_t i = 0; i < sizeof(printers) / sizeof(*printers); i++) {
		const struct feature_printer *p = &printers[i];

		if (!is_there(f, p->feature))
			continue;
		if (p->is_long && !h->is_full)
			buf_printf(out, "# %s info available, use -I to display\n",
				   perf_feature_name(p->feature));
		else
			p->print(out, h);
	}
	header_print_who(out, h);
	header_print_guests(out, h);
	if (is_pipe)
		return;
	add_missing(out, f);
	buf_str(out, "# ========\n#\n");
}

const char *header_state(const struct header_facts *h)
{
	if (!h->has_records)
		return "unknown";
	if (h->end == CLEW_TRUNCATED)
		return "truncated";
	if (h->end != CLEW_END)
		return "damaged";
	return perf_file_is_unfinished(h->file) ? "unfinished" : "complete";
}

static void add_state(struct buf *out, const struct header_facts *h)
{
	buf_printf(out, "# state : %s", header_state(h));
	if (h->end != CLEW_END)
		buf_printf(out, " (%s, at offset 0x%llx)",
			   h->diag.what ? h->diag.what : clew_err_name(h->end),
			   (unsigned long long)h->diag.offset);
	else if (perf_file_is_unfinished(h->file))
		buf_str(out, " (its writer was stopped before it could complete the header)");
	buf_char(out, '\n');
}

void header_text_records(struct buf *out, const struct header_facts *h)
{
	const struct perf_file_counts *c = perf_file_counts(h->file);

	buf_printf(out, "# form : %s, %s-endian\n", perf_file_is_pipe(h->file) ? "pipe" : "file",
		   header_is_big_endian(h->file) ? "big" : "little");
	add_state(out, h);
	header_print_who_records(out, h);
	buf_printf(out, "# records : %llu\n", (unsigned long long)c->nr_records);
	for (uint32_t type = 0; type < PERF_RECORD_HEADER_END; type++) {
		if (c->by_type[type])
			buf_printf(out, "#   %-18s : %llu\n", perf_record_type_name(type),
				   (unsigned long long)c->by_type[type]);
	}
	if (c->nr_unknown)
		buf_printf(out, "#   %-18s : %llu\n", "(unknown types)",
			   (unsigned long long)c->nr_unknown);
	if (c->compressed_bytes)
		buf_printf(out, "# compressed records : %llu bytes hold %llu\n",
			   (unsigned long long)c->compressed_bytes,
			   (unsigned long long)c->decompressed_bytes);
}
