/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/perfdata_walk.h"

#include "base/hash.h"
#include "make/perf_encode.h"
#include "perfdata/perf_feature_lists.h"
#include "perfdata/perf_order.h"

/* Keeps the reads below from being optimised away. */
static volatile uint64_t sink;

static void touch(struct bytes b)
{
	for (const uint8_t *p = b.pos; p < b.end; p++)
		sink += *p;
}

static void touch_text(const char *s)
{
	sink += strlen(s);
}

static void touch_words(const struct perf_words *w)
{
	for (uint32_t i = 0; i < w->nr; i++)
		sink += perf_words_get(w, i);
}

static void walk_strings(struct perf_list l)
{
	const char *s;

	while (perf_string_next(&l, &s))
		touch_text(s);
}

static void walk_caps(struct perf_list l)
{
	struct perf_pmu_cap cap;

	while (perf_pmu_cap_next(&l, &cap)) {
		touch_text(cap.name);
		touch_text(cap.value);
	}
}

static void walk_machine(const struct perf_features *f)
{
	struct perf_cpu_topology t;
	struct perf_numa_node node;
	struct perf_cache_level cache;
	struct perf_memory_node memory;
	struct perf_cpu_domains domains;
	struct perf_cpu_domain_list of_cpu;
	struct perf_cpu_domain domain;
	struct perf_list l;
	uint64_t block;

	if (perf_features_cpu_topology(f, &t)) {
		walk_strings(t.cores);
		walk_strings(t.threads);
		walk_strings(t.dies);
		for (uint32_t cpu = 0; cpu < t.nr_cpus; cpu++)
			sink += perf_cpu_topology_get(&t, cpu).core;
	}
	if (perf_features_numa(f, &l))
		while (perf_numa_next(&l, &node))
			touch_text(node.cpus);
	if (perf_features_caches(f, &l))
		while (perf_cache_next(&l, &cache))
			touch_text(cache.cpus);
	if (perf_features_mem_topology(f, &block, &l))
		while (perf_memory_node_next(&l, &memory))
			touch(bytes_of(memory.bitmap, memory.nr_bits / 64 * 8));
	if (perf_features_cpu_domains(f, &domains))
		while (perf_cpu_domains_next(&domains, &of_cpu))
			while (perf_cpu_domain_next(&of_cpu, &domain))
				touch_text(domain.cpu_list);
}

static void walk_events(const struct perf_features *f)
{
	struct perf_event_descs descs;
	struct perf_event_desc desc;
	struct perf_pmu_mapping mapping;
	struct perf_group_desc group;
	struct perf_hybrid_pmu hybrid;
	struct perf_pmu_caps caps;
	struct perf_list l;

	if (perf_features_event_desc(f, &descs)) {
		while (perf_event_desc_next(&descs, &desc)) {
			touch(desc.attr);
			touch(bytes_of(desc.ids, 8 * (size_t)desc.nr_ids));
			touch_text(desc.name);
		}
	}
	if (perf_features_pmu_mappings(f, &l))
		while (perf_pmu_mapping_next(&l, &mapping))
			touch_text(mapping.name);
	if (perf_features_groups(f, &l))
		while (perf_group_next(&l, &group))
			touch_text(group.name);
	if (perf_features_hybrid(f, &l))
		while (perf_hybrid_next(&l, &hybrid))
			touch_text(hybrid.cpus);
	if (perf_features_cpu_pmu_caps(f, &l))
		walk_caps(l);
	if (perf_features_pmu_caps(f, &l)) {
		while (perf_pmu_caps_next(&l, &caps)) {
			walk_caps(caps.caps);
			touch_text(caps.pmu);
		}
	}
}

static void walk_blobs(const struct perf_features *f)
{
	struct perf_auxtrace_index_entry entry;
	struct perf_build_id_record id;
	struct perf_bpf_prog prog;
	struct perf_bpf_btf btf;
	struct perf_list l;
	uint16_t misc;

	if (perf_features_auxtrace(f, &l))
		while (perf_auxtrace_index_next(&l, &entry))
			sink += entry.offset;
	if (perf_features_build_ids(f, &l))
		while (perf_build_id_next(&l, &id, &misc))
			touch_text(id.filename);
	if (perf_features_bpf_progs(f, &l)) {
		while (perf_bpf_prog_next(&l, &prog)) {
			touch(prog.info);
			touch(prog.data);
		}
	}
	if (perf_features_bpf_btf(f, &l))
		while (perf_bpf_btf_next(&l, &btf))
			touch(btf.data);
}

static void walk_values(const struct perf_features *f)
{
	struct perf_compressed packed;
	struct perf_clock_data clock;
	struct perf_list args;
	uint64_t a, b;
	uint32_t x, y;

	for (unsigned int i = 0; i < PERF_FEAT_BITS; i++) {
		if (perf_feature_name(i) && perf_features_string(f, i))
			touch_text(perf_features_string(f, i));
		if (perf_feature_name(i) && perf_features_u64(f, i, &a))
			sink += a;
	}
	if (perf_features_cmdline(f, &args))
		walk_strings(args);
	sink += perf_features_nr_cpus(f, &x, &y);
	sink += perf_features_e_machine(f, &x, &y);
	sink += perf_features_cache_line(f, &x);
	sink += perf_features_sample_time(f, &a, &b);
	sink += perf_features_compressed(f, &packed);
	sink += perf_features_clock_data(f, &clock);
}

uint64_t perf_walk_features(const struct perf_features *f)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++)
		nr += perf_features_has(f, i);
	walk_values(f);
	walk_machine(f);
	walk_events(f);
	walk_blobs(f);
	return nr;
}

static void walk_sample(struct perf_walk *w, const struct perf_record *r,
			const struct perf_attr *attr, uint64_t *time)
{
	struct perf_sample s;

	if (perf_sample_parse(perf_record_body(r), r->misc, r->swap, attr, &s) != CLEW_OK) {
		w->nr_bad++;
		return;
	}
	w->nr_samples++;
	*time = s.time;
	touch_words(&s.callchain);
	touch_words(&s.branches.counters);
	touch_words(&s.regs_user.words);
	touch_words(&s.regs_intr.words);
	touch(s.raw);
	touch(s.aux);
	touch(s.stack_user.data);
	for (uint64_t i = 0; i < s.branches.nr; i++)
		sink += perf_branch_get(&s, i).flags;
	if (attr->sample_type & PERF_SAMPLE_READ)
		for (uint64_t i = 0; i < s.read.nr; i++)
			sink += perf_read_get(&s.read, i).value;
}

static void walk_view(struct perf_walk *w, const struct perf_record *r)
{
	union perf_view v;
	enum clew_err err = perf_view_parse(r, &v);

	if (err == CLEW_UNSUPPORTED) {
		touch(v.raw);
		return;
	}
	if (err != CLEW_OK) {
		w->nr_bad++;
		return;
	}
	if (r->type == PERF_RECORD_ID_INDEX)
		for (uint64_t i = 0; i < v.id_index.nr; i++)
			sink += perf_id_index_get(&v.id_index, i).tid;
	if (r->type == PERF_RECORD_TEXT_POKE)
		touch(bytes_of(v.text_poke.bytes,
			       (size_t)v.text_poke.old_len + v.text_poke.new_len));
	if (r->type == PERF_RECORD_CALLCHAIN_DEFERRED)
		touch(bytes_of(v.deferred.ips, 8 * v.deferred.nr));
	if (r->type == PERF_RECORD_NAMESPACES)
		touch(v.namespaces.links);
	if (r->type == PERF_RECORD_AUXTRACE_INFO)
		touch(bytes_of(v.auxtrace_info.priv, 8 * v.auxtrace_info.nr_priv));
}

static void pop_ready(struct perf_walk *w, struct perf_order *order)
{
	struct perf_record r;
	uint64_t time;

	while (perf_order_pop(order, &r, &time)) {
		touch(bytes_of(r.data, r.size));
		perf_block_release(r.block);
		w->nr_popped++;
	}
}

static void walk_record(struct perf_walk *w, struct perf_file *f, struct perf_order *order,
			const struct perf_record *r)
{
	struct perf_evsel *e =
		perf_evlist_of_record(perf_file_evlist(f), r->type, perf_record_body(r), r->swap);
	struct perf_sample_id id = {.time = UINT64_MAX};
	struct perf_read_record read;
	uint64_t time = UINT64_MAX;

	w->nr_records++;
	w->hash = hash_two(w->hash, hash_bytes(r->data, r->size));
	w->hash = hash_two(w->hash, hash_bytes(r->payload.pos, bytes_left(&r->payload)));
	if (e && r->type == PERF_RECORD_SAMPLE) {
		walk_sample(w, r, &e->attr, &time);
	} else {
		walk_view(w, r);
		if (e && r->type == PERF_RECORD_READ &&
		    perf_read_parse(perf_record_body(r), r->swap, &e->attr, &read) == CLEW_OK)
			for (uint64_t i = 0; i < read.read.nr; i++)
				sink += perf_read_get(&read.read, i).value;
		if (e && r->type < PERF_RECORD_HEADER_ATTR &&
		    perf_sample_id_parse(perf_record_body(r), r->swap, &e->attr, &id) == CLEW_OK)
			time = id.time;
	}
	if (time != UINT64_MAX && perf_order_push(order, r, time) != CLEW_OK)
		w->nr_bad++;
	if (r->type == PERF_RECORD_FINISHED_ROUND)
		perf_order_round(order);
	pop_ready(w, order);
}

static void walk_open(struct perf_walk *w, struct perf_file *f, uint64_t budget)
{
	struct perf_order *order = perf_order_new(64 << 10);
	struct perf_record r;

	if (!order) {
		w->end = CLEW_NO_MEMORY;
		return;
	}
	while ((w->end = perf_file_next(f, &r, &w->diag)) == CLEW_OK) {
		walk_record(w, f, order, &r);
		if (w->nr_records > budget) {
			w->is_over_budget = true;
			break;
		}
	}
	perf_order_finish(order);
	pop_ready(w, order);
	w->nr_late = perf_order_counts(order)->nr_late;
	perf_order_free(order);
	w->nr_features = perf_walk_features(perf_file_features(f));
	vec_for_each (&perf_file_evlist(f)->evsels, e)
		touch_text((*e)->name);
}

struct reader {
	struct bytes left;
	size_t chunk;
};

static long read_chunk(void *ctx, void *buf, size_t size)
{
	struct reader *r = ctx;
	size_t n = bytes_left(&r->left);

	n = n < size ? n : size;
	n = n < r->chunk ? n : r->chunk;
	if (n)
		memcpy(buf, r->left.pos, n);
	r->left.pos += n;
	return (long)n;
}

void perf_walk(struct bytes file, size_t chunk, struct perf_walk *ret)
{
	struct reader reader = {file, chunk};
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct perf_file *f = NULL;
	/* zstd does not pack records of 8 bytes more than about this */
	uint64_t budget = 4096 + bytes_left(&file) * 4096;

	*ret = (struct perf_walk){0};
	if (chunk)
		in = (struct perf_input){.read = read_chunk, .ctx = &reader};
	ret->open_err = perf_file_open(&f, &in, &ret->diag);
	if (ret->open_err != CLEW_OK)
		return;
	walk_open(ret, f, budget);
	perf_file_free(f);
}
