/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "base/escape.h"
#include "format/header/header_impl.h"
#include "perfdata/perf_feature_lists.h"

static const struct perf_features *features_of(const struct header_facts *h)
{
	return perf_file_features(h->file);
}

bool header_is_big_endian(const struct perf_file *f)
{
	return perf_file_is_swapped(f) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void header_local_time(struct buf *out, uint64_t wall_clock_ns)
{
	time_t seconds = (time_t)(wall_clock_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%F %T", &tm)) {
		buf_str(out, "<error>");
		return;
	}
	buf_printf(out, "%s.%06llu", text, (unsigned long long)(wall_clock_ns % 1000000000 / 1000));
}

static void add_siblings(struct buf *out, const char *what, struct perf_list l)
{
	const char *s;

	while (perf_string_next(&l, &s))
		escape_printf(out, "# sibling %s : %s\n", what, s);
}

static void add_cpu(struct buf *out, const struct perf_cpu_topology *t, uint32_t cpu)
{
	struct perf_cpu_place p = perf_cpu_topology_get(t, cpu);

	if (p.core == UINT32_MAX) /* offline */
		return;
	buf_printf(out, "# CPU %u: Core ID %d, ", cpu, (int)p.core);
	if (t->has_dies)
		buf_printf(out, "Die ID %d, ", (int)p.die);
	buf_printf(out, "Socket ID %d\n", (int)p.socket);
}

void header_print_cpu_topology(struct buf *out, const struct header_facts *h)
{
	struct perf_cpu_topology t;

	if (!perf_features_cpu_topology(features_of(h), &t))
		return;
	add_siblings(out, "sockets", t.cores);
	if (t.has_dies)
		add_siblings(out, "dies   ", t.dies);
	add_siblings(out, "threads", t.threads);
	if (!t.nr_cpus)
		buf_str(out, "# Core ID and Socket ID information is not available\n");
	for (uint32_t cpu = 0; cpu < t.nr_cpus; cpu++)
		add_cpu(out, &t, cpu);
}

void header_print_numa(struct buf *out, const struct header_facts *h)
{
	struct perf_numa_node n;
	struct perf_list l;

	if (!perf_features_numa(features_of(h), &l))
		return;
	while (perf_numa_next(&l, &n)) {
		buf_printf(out, "# node%u meminfo  : total = %llu kB, free = %llu kB\n", n.node,
			   (unsigned long long)n.total_kib, (unsigned long long)n.free_kib);
		escape_printf(out, "# node%u cpu list : %s\n", n.node, n.cpus);
	}
}

void header_print_caches(struct buf *out, const struct header_facts *h)
{
	struct perf_cache_level c;
	struct perf_list l;

	if (!perf_features_caches(features_of(h), &l))
		return;
	buf_str(out, "# CPU cache info:\n");
	while (perf_cache_next(&l, &c))
		escape_printf(out, "#  L%u %-15s %8s [%s]\n", c.level, c.type, c.size, c.cpus);
}

static bool is_set(const uint8_t *bitmap, uint64_t bit, bool swap)
{
	return load_u64(bitmap + bit / 64 * 8, swap) >> bit % 64 & 1;
}

void header_add_ranges(struct buf *out, const uint8_t *bitmap, uint64_t nr_bits, bool swap)
{
	const char *separator = "";
	uint64_t first;

	for (uint64_t bit = 0; bit < nr_bits; bit++) {
		if (!is_set(bitmap, bit, swap))
			continue;
		first = bit;
		while (bit + 1 < nr_bits && is_set(bitmap, bit + 1, swap))
			bit++;
		buf_str(out, separator);
		buf_dec(out, first, 0, ' ');
		if (bit > first) {
			buf_char(out, '-');
			buf_dec(out, bit, 0, ' ');
		}
		separator = ",";
	}
}

/* perf's way to shorten sizes: down by 1024 while more than one is left. */
static void add_size(struct buf *out, uint64_t bytes)
{
	static const char units[] = "BKMG";
	unsigned int unit = 0;

	for (; bytes / 1024 > 1 && unit < 3; unit++)
		bytes /= 1024;
	buf_dec(out, bytes, 0, ' ');
	buf_char(out, units[unit]);
}

void header_print_memory(struct buf *out, const struct header_facts *h)
{
	struct perf_memory_node n;
	struct perf_list l;
	uint64_t block, nr;

	if (!perf_features_mem_topology(features_of(h), &block, &l))
		return;
	buf_printf(out, "# memory nodes (nr %u, block size 0x%llx):\n", l.left,
		   (unsigned long long)block);
	while (perf_memory_node_next(&l, &n)) {
		nr = 0;
		for (uint64_t bit = 0; bit < n.nr_bits; bit++)
			nr += is_set(n.bitmap, bit, l.swap);
		buf_printf(out, "#  %3llu [", (unsigned long long)n.node);
		add_size(out, nr * block);
		buf_str(out, "]: ");
		header_add_ranges(out, n.bitmap, n.nr_bits, l.swap);
		buf_char(out, '\n');
	}
}

void header_print_hybrid(struct buf *out, const struct header_facts *h)
{
	struct perf_hybrid_pmu p;
	struct perf_list l;

	if (!perf_features_hybrid(features_of(h), &l))
		return;
	buf_str(out, "# hybrid cpu system:\n");
	while (perf_hybrid_next(&l, &p))
		escape_printf(out, "# %s cpu list : %s\n", p.pmu, p.cpus);
}

static void add_domain(struct buf *out, const struct perf_cpu_domain *d)
{
	buf_printf(out, "# Domain\t\t: %u\n", d->domain);
	if (d->name)
		escape_printf(out, "# Domain name      : %s\n", d->name);
	escape_printf(out, "# Domain cpu map   : %s\n", d->cpu_mask);
	escape_printf(out, "# Domain cpu list  : %s\n", d->cpu_list);
}

void header_print_cpu_domains(struct buf *out, const struct header_facts *h)
{
	struct perf_cpu_domains all;
	struct perf_cpu_domain_list of_cpu;
	struct perf_cpu_domain d;

	if (!perf_features_cpu_domains(features_of(h), &all))
		return;
	buf_printf(out, "# schedstat version\t: %u\n# Maximum sched domains\t: %u\n",
		   all.schedstat_version, all.max_domains);
	while (perf_cpu_domains_next(&all, &of_cpu)) {
		buf_printf(out, "# cpu\t\t: %u\n# nr_domains\t: %u\n", of_cpu.cpu,
			   of_cpu.domains.left);
		while (perf_cpu_domain_next(&of_cpu, &d))
			add_domain(out, &d);
	}
}

/* The parts of struct bpf_prog_info that are printed: offsets of linux/bpf.h, fixed by its ABI. */
enum { INFO_ID = 4, INFO_TAG = 8, INFO_NAME = 64, INFO_NAME_BYTES = 16, INFO_NR_KSYMS = 104 };

static void add_prog_name(struct buf *out, const uint8_t *info)
{
	const char *name = (const char *)info + INFO_NAME;

	buf_str(out, "bpf_prog_");
	for (unsigned int i = 0; i < 8; i++)
		buf_hex(out, info[INFO_TAG + i], 2, '0');
	if (*name) {
		buf_char(out, '_');
		escape_add(out, name, strnlen(name, INFO_NAME_BYTES));
	}
}

void header_print_bpf_progs(struct buf *out, const struct header_facts *h)
{
	struct perf_bpf_prog p;
	struct perf_list l;

	if (!perf_features_bpf_progs(features_of(h), &l))
		return;
	while (perf_bpf_prog_next(&l, &p)) {
		if (bytes_left(&p.info) < INFO_NR_KSYMS)
			continue;
		buf_printf(out, "# bpf_prog_info %u: ", load_u32(p.info.pos + INFO_ID, l.swap));
		add_prog_name(out, p.info.pos);
		buf_char(out, '\n');
	}
}

void header_print_bpf_btf(struct buf *out, const struct header_facts *h)
{
	struct perf_bpf_btf b;
	struct perf_list l;

	if (!perf_features_bpf_btf(features_of(h), &l))
		return;
	while (perf_bpf_btf_next(&l, &b))
		buf_printf(out, "# btf info of id %u\n", b.id);
}
