/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/header/header_impl.h"
#include "format/json_put.h"
#include "perfdata/perf_feature_lists.h"

static void add_strings(struct json_put *j, const char *key, struct perf_list l)
{
	const char *s;

	json_key(j, key);
	json_open(j, '[');
	while (perf_string_next(&l, &s))
		json_string(j, s);
	json_close(j, ']');
}

static void add_identity(struct json_put *j, const struct perf_features *f)
{
	static const struct {
		enum perf_feature feature;
		const char *key;
	} strings[] = {
		{PERF_FEAT_HOSTNAME,  "hostname"    },
                {PERF_FEAT_OSRELEASE, "osrelease"   },
		{PERF_FEAT_VERSION,   "perf_version"},
                {PERF_FEAT_ARCH,      "arch"        },
		{PERF_FEAT_CPUDESC,   "cpudesc"     },
                {PERF_FEAT_CPUID,     "cpuid"       },
	};
	static const struct {
		enum perf_feature feature;
		const char *key;
	} numbers[] = {
		{PERF_FEAT_TOTAL_MEM,  "total_mem_kib"        },
		{PERF_FEAT_CLOCKID,    "clockid_resolution_ns"},
		{PERF_FEAT_DIR_FORMAT, "dir_format"           },
	};
	struct perf_list args;
	uint64_t v;

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		if (perf_features_string(f, strings[i].feature))
			json_put_string(j, strings[i].key,
					perf_features_string(f, strings[i].feature));
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (perf_features_u64(f, numbers[i].feature, &v))
			json_put_u64(j, numbers[i].key, v);
	}
	if (perf_features_cmdline(f, &args))
		add_strings(j, "cmdline", args);
}

static void add_values(struct json_put *j, const struct perf_features *f)
{
	struct perf_compressed packed;
	struct perf_clock_data clock;
	uint32_t online, available, machine, flags, line;
	uint64_t first, last;

	if (perf_features_nr_cpus(f, &online, &available)) {
		json_put_u64(j, "nrcpus_online", online);
		json_put_u64(j, "nrcpus_available", available);
	}
	if (perf_features_sample_time(f, &first, &last)) {
		json_put_u64(j, "first_sample_ns", first);
		json_put_u64(j, "last_sample_ns", last);
	}
	if (perf_features_compressed(f, &packed)) {
		json_key(j, "compressed");
		json_open(j, '{');
		json_put_string(j, "type", packed.type == 1 ? "zstd" : NULL);
		json_put_u64(j, "level", packed.level);
		json_put_u64(j, "ratio", packed.ratio);
		json_close(j, '}');
	}
	if (perf_features_clock_data(f, &clock)) {
		json_key(j, "clock_data");
		json_open(j, '{');
		json_put_u64(j, "clockid", clock.clockid);
		json_put_u64(j, "wall_clock_ns", clock.wall_clock_ns);
		json_put_u64(j, "clockid_ns", clock.clockid_ns);
		json_close(j, '}');
	}
	if (perf_features_e_machine(f, &machine, &flags)) {
		json_put_u64(j, "e_machine", machine);
		json_put_u64(j, "e_flags", flags);
	}
	if (perf_features_cache_line(f, &line))
		json_put_u64(j, "cache_line_bytes", line);
}

static void add_cpus(struct json_put *j, const struct perf_features *f)
{
	struct perf_cpu_topology t;

	if (!perf_features_cpu_topology(f, &t))
		return;
	json_key(j, "cpu_topology");
	json_open(j, '{');
	add_strings(j, "sockets", t.cores);
	if (t.has_dies)
		add_strings(j, "dies", t.dies);
	add_strings(j, "threads", t.threads);
	json_key(j, "cpus");
	json_open(j, '[');
	for (uint32_t cpu = 0; cpu < t.nr_cpus; cpu++) {
		struct perf_cpu_place p = perf_cpu_topology_get(&t, cpu);

		if (p.core == UINT32_MAX) /* offline */
			continue;
		json_open(j, '{');
		json_put_u64(j, "cpu", cpu);
		json_put_u64(j, "core", p.core);
		if (t.has_dies)
			json_put_u64(j, "die", p.die);
		json_put_u64(j, "socket", p.socket);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void add_caches(struct json_put *j, const struct perf_features *f)
{
	struct perf_cache_level c;
	struct perf_list l;

	if (!perf_features_caches(f, &l))
		return;
	json_key(j, "cache");
	json_open(j, '[');
	while (perf_cache_next(&l, &c)) {
		json_open(j, '{');
		json_put_u64(j, "level", c.level);
		json_put_string(j, "type", c.type);
		json_put_string(j, "size", c.size);
		json_put_u64(j, "line_bytes", c.line_bytes);
		json_put_u64(j, "sets", c.sets);
		json_put_u64(j, "ways", c.ways);
		json_put_string(j, "cpus", c.cpus);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void add_memory(struct json_put *j, const struct perf_features *f)
{
	struct perf_numa_node n;
	struct perf_memory_node m;
	struct perf_list l;
	struct buf ranges = {0};
	uint64_t block;

	if (perf_features_numa(f, &l)) {
		json_key(j, "numa_topology");
		json_open(j, '[');
		while (perf_numa_next(&l, &n)) {
			json_open(j, '{');
			json_put_u64(j, "node", n.node);
			json_put_u64(j, "total_kib", n.total_kib);
			json_put_u64(j, "free_kib", n.free_kib);
			json_put_string(j, "cpus", n.cpus);
			json_close(j, '}');
		}
		json_close(j, ']');
	}
	if (perf_features_mem_topology(f, &block, &l)) {
		json_key(j, "mem_topology");
		json_open(j, '[');
		while (perf_memory_node_next(&l, &m)) {
			buf_clear(&ranges);
			header_add_ranges(&ranges, m.bitmap, m.nr_bits, l.swap);
			json_open(j, '{');
			json_put_u64(j, "node", m.node);
			json_put_u64(j, "block_bytes", block);
			json_put_string(j, "blocks", buf_cstr(&ranges));
			json_close(j, '}');
		}
		json_close(j, ']');
	}
	buf_done(&ranges);
}

static void add_caps(struct json_put *j, struct perf_list caps)
{
	struct perf_pmu_cap c;

	json_open(j, '{');
	while (perf_pmu_cap_next(&caps, &c))
		json_put_string(j, c.name, c.value);
	json_close(j, '}');
}

static void add_pmus(struct json_put *j, const struct perf_features *f)
{
	struct perf_pmu_mapping m;
	struct perf_hybrid_pmu hybrid;
	struct perf_pmu_caps caps;
	struct perf_list l;

	if (perf_features_pmu_mappings(f, &l)) {
		json_key(j, "pmu_mappings");
		json_open(j, '{');
		while (perf_pmu_mapping_next(&l, &m))
			json_put_u64(j, m.name, m.type);
		json_close(j, '}');
	}
	if (perf_features_cpu_pmu_caps(f, &l)) {
		json_key(j, "cpu_pmu_caps");
		add_caps(j, l);
	}
	if (perf_features_pmu_caps(f, &l)) {
		json_key(j, "pmu_caps");
		json_open(j, '{');
		while (perf_pmu_caps_next(&l, &caps)) {
			json_key(j, caps.pmu);
			add_caps(j, caps.caps);
		}
		json_close(j, '}');
	}
	if (perf_features_hybrid(f, &l)) {
		json_key(j, "hybrid_topology");
		json_open(j, '{');
		while (perf_hybrid_next(&l, &hybrid))
			json_put_string(j, hybrid.pmu, hybrid.cpus);
		json_close(j, '}');
	}
}

static void add_build_ids(struct json_put *j, const struct perf_features *f)
{
	struct perf_build_id_record id;
	struct perf_list l;
	struct buf hex = {0};
	uint16_t misc;

	if (!perf_features_build_ids(f, &l))
		return;
	json_key(j, "build_ids");
	json_open(j, '[');
	while (perf_build_id_next(&l, &id, &misc)) {
		buf_clear(&hex);
		buf_hex_bytes(&hex, id.build_id, id.build_id_bytes);
		json_open(j, '{');
		json_put_string(j, "file", id.filename);
		json_put_string(j, "build_id", buf_cstr(&hex));
		json_close(j, '}');
	}
	json_close(j, ']');
	buf_done(&hex);
}

static void add_presence(struct json_put *j, const struct perf_features *f)
{
	json_key(j, "features");
	json_open(j, '[');
	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++) {
		if (f->bits[i / 64] >> i % 64 & 1 && perf_feature_name(i))
			json_string(j, perf_feature_name(i));
	}
	json_close(j, ']');
}

static void add_records(struct json_put *j, const struct header_facts *h)
{
	const struct perf_file_counts *c = perf_file_counts(h->file);

	json_put_string(j, "state", header_state(h));
	if (!h->has_records)
		return;
	if (h->end != CLEW_END) {
		json_put_string(j, "state_reason",
				h->diag.what ? h->diag.what : clew_err_name(h->end));
		json_put_u64(j, "state_offset", h->diag.offset);
	}
	json_key(j, "records");
	json_open(j, '{');
	for (uint32_t type = 0; type < PERF_RECORD_HEADER_END; type++) {
		if (c->by_type[type])
			json_put_u64(j, perf_record_type_name(type), c->by_type[type]);
	}
	json_close(j, '}');
	json_put_u64(j, "nr_records", c->nr_records);
	json_put_u64(j, "nr_unknown_records", c->nr_unknown);
	json_put_u64(j, "compressed_bytes", c->compressed_bytes);
	json_put_u64(j, "decompressed_bytes", c->decompressed_bytes);
}

void header_json(struct buf *out, const struct header_facts *h)
{
	const struct perf_features *f = perf_file_features(h->file);
	struct perf_file_section data = perf_file_data(h->file);
	struct json_put j = {.out = out};

	json_open(&j, '{');
	json_put_string(&j, "format", "clew-header");
	json_put_u64(&j, "version", 1);
	json_put_string(&j, "form", perf_file_is_pipe(h->file) ? "pipe" : "file");
	json_put_string(&j, "byte_order", header_is_big_endian(h->file) ? "big" : "little");
	if (h->captured_on)
		json_put_string(&j, "captured_on", h->captured_on);
	json_put_u64(&j, "data_offset", data.offset);
	json_put_u64(&j, "data_size", data.size);
	add_presence(&j, f);
	add_identity(&j, f);
	add_values(&j, f);
	add_cpus(&j, f);
	add_caches(&j, f);
	add_memory(&j, f);
	add_pmus(&j, f);
	add_build_ids(&j, f);
	header_json_who(&j, h);
	header_json_guests(&j, h);
	add_records(&j, h);
	json_close(&j, '}');
}
