/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/host_topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "os/proc.h"
#include "perfdata/perf_features_write.h"
#include "record/open/target.h"

#define CPU_DIR "/sys/devices/system/cpu"

enum { TEXT_LIMIT = 1 << 20, MAX_CACHE_INDEX = 16, MAX_CACHES = 4096 };

static bool cpu_list(const char *name, struct rec_ints *ret)
{
	char path[128], text[4096];
	struct rec_error error;

	snprintf(path, sizeof(path), CPU_DIR "/%s", name);
	return os_read_first_line(path, text, sizeof(text)) &&
	       rec_cpus_parse(text, ret, &error) == CLEW_OK;
}

void rec_put_nr_cpus(struct buf *b)
{
	struct rec_ints present = {0}, online = {0};

	if (cpu_list("present", &present) && cpu_list("online", &online)) {
		buf_u32(b, (uint32_t)present.nr);
		buf_u32(b, (uint32_t)online.nr);
	}
	vec_done(&present);
	vec_done(&online);
}

/* The different texts that @p name has over all CPUs: u32 count, then each. */
static void put_distinct(struct buf *b, const struct rec_ints *cpus, const char *name)
{
	struct arena memory = {0};
	struct {
		VEC(const char *);
	} seen = {0};

	for (size_t i = 0; i < cpus->nr; i++) {
		char text[1024];
		size_t j = 0;

		if (!os_topology_text(cpus->data[i], name, text, sizeof(text)))
			continue;
		while (j < seen.nr && strcmp(seen.data[j], text) != 0)
			j++;
		if (j == seen.nr && !vec_push(&seen, arena_strndup(&memory, text, strlen(text))))
			b->is_failed = true;
	}
	buf_u32(b, (uint32_t)seen.nr);
	for (size_t i = 0; i < seen.nr; i++)
		perf_put_string(b, seen.data[i]);
	vec_done(&seen);
	arena_done(&memory);
}

static uint32_t topology_number(int cpu, const char *name)
{
	char text[32];

	/* -1 where it does not apply, as the kernel says itself. */
	return os_topology_text(cpu, name, text, sizeof(text)) ? (uint32_t)strtol(text, NULL, 10)
							       : UINT32_MAX;
}

void rec_put_cpu_topology(struct buf *b)
{
	struct rec_ints cpus = {0};
	char text[32];

	/*
	 * Without dies (arm64) their list is empty, and there: perf would read one in the padding
	 * of a record in a pipe, and reject the recording.
	 */
	if (cpu_list("present", &cpus) && os_topology_text(cpus.data[0], "core_id", text, 32)) {
		put_distinct(b, &cpus, "core_siblings_list");
		put_distinct(b, &cpus, "thread_siblings_list");
		for (size_t i = 0; i < cpus.nr; i++) {
			buf_u32(b, topology_number(cpus.data[i], "core_id"));
			buf_u32(b, topology_number(cpus.data[i], "physical_package_id"));
		}
		put_distinct(b, &cpus, "die_cpus_list");
		for (size_t i = 0; i < cpus.nr; i++)
			buf_u32(b, topology_number(cpus.data[i], "die_id"));
	}
	vec_done(&cpus);
}

static uint64_t meminfo_kib(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void put_node(struct buf *b, int node)
{
	struct buf text = {0};
	char path[128], cpus[1024] = "";

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	os_read_into(path, TEXT_LIMIT, &text);
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	os_read_first_line(path, cpus, sizeof(cpus));
	buf_u32(b, (uint32_t)node);
	buf_u64(b, meminfo_kib(buf_cstr(&text), "MemTotal:"));
	buf_u64(b, meminfo_kib(buf_cstr(&text), "MemFree:"));
	perf_put_string(b, cpus);
	buf_done(&text);
}

void rec_put_numa_topology(struct buf *b)
{
	struct rec_ints nodes = {0};
	struct rec_error error;
	char text[1024];

	if (os_read_first_line("/sys/devices/system/node/online", text, sizeof(text)) &&
	    rec_cpus_parse(text, &nodes, &error) == CLEW_OK) {
		buf_u32(b, (uint32_t)nodes.nr);
		for (size_t i = 0; i < nodes.nr; i++)
			put_node(b, nodes.data[i]);
	}
	vec_done(&nodes);
}

struct caches {
	struct arena memory;
	struct {
		VEC(struct perf_cache_level);
	} list;
};

static const char *cache_text(struct caches *c, int cpu, int index, const char *name)
{
	char path[128], text[1024];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%d/cache/index%d/%s", cpu, index, name);
	return os_read_first_line(path, text, sizeof(text))
		     ? arena_strndup(&c->memory, text, strlen(text))
		     : NULL;
}

static uint32_t cache_number(struct caches *c, int cpu, int index, const char *name)
{
	const char *text = cache_text(c, cpu, index, name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static bool is_known(const struct caches *c, const struct perf_cache_level *n)
{
	vec_for_each (&c->list, k)
		if (k->level == n->level && !strcmp(k->type, n->type) && !strcmp(k->cpus, n->cpus))
			return true;
	return false;
}

static bool add_cache(struct caches *c, int cpu, int index)
{
	struct perf_cache_level n = {
		.type = cache_text(c, cpu, index, "type"),
		.size = cache_text(c, cpu, index, "size"),
		.cpus = cache_text(c, cpu, index, "shared_cpu_list"),
	};

	if (!n.type || !n.size || !n.cpus)
		return false;
	n.level = cache_number(c, cpu, index, "level");
	if (is_known(c, &n))
		return true;
	n.line_bytes = cache_number(c, cpu, index, "coherency_line_size");
	n.sets = cache_number(c, cpu, index, "number_of_sets");
	n.ways = cache_number(c, cpu, index, "ways_of_associativity");
	return c->list.nr < MAX_CACHES && vec_push(&c->list, n);
}

void rec_put_cache(struct buf *b)
{
	struct rec_ints cpus = {0};
	struct caches c = {0};

	if (cpu_list("online", &cpus)) {
		for (size_t i = 0; i < cpus.nr; i++)
			for (int index = 0; index < MAX_CACHE_INDEX; index++)
				if (!add_cache(&c, cpus.data[i], index))
					break;
	}
	if (c.list.nr)
		perf_put_cache(b, c.list.data, (uint32_t)c.list.nr);
	vec_done(&cpus);
	vec_done(&c.list);
	arena_done(&c.memory);
}
