/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: pt_bench [threads] TRACE REPEATS ROUNDS FILE:OFFSET:ADDRESS:BYTES...
 * threads: only one thread against two.
 *
 * Decode a file of Intel PT bytes, REPEATS times in a row as one trace, with ipt_flow, as batches
 * of edges and as counts with all edges reported, and with libipt's block decoder, in turn, each
 * with nothing kept from before. The best round of each, in CPU time of this thread. Then ipt_flow
 * in one thread and in two, in wall-clock time: this is right only on an idle machine. */
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "flow/pt/ipt_flow.h"
#include "isa/x86/x86_lengths.h"
#include "os/file.h"

enum { MAX_SECTIONS = 4096, CLEW_BATCHES = 1, CLEW_COUNTS = 2, NR_WAYS = 3 };

struct section {
	const char *path;
	uint64_t offset, address, bytes;
	struct os_map file;
};

struct input {
	uint8_t *trace;
	size_t bytes;
	struct section sections[MAX_SECTIONS];
	unsigned int nr_sections, nr_threads;
	struct ipt_config config;
	struct code_source code;
};

struct result {
	double ms, cpu_ms;
	uint64_t nr_insns, nr_edges;
};

static double ms_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "pt_bench: %s\n", what);
	exit(1);
}

/* --- clew --- */

static uint32_t only_space(void *ctx, const struct code_key *key)
{
	(void)ctx, (void)key;
	return 0;
}

static bool find_code(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct input *in = ctx;

	(void)space;
	for (unsigned int i = 0; i < in->nr_sections; i++) {
		const struct section *s = &in->sections[i];

		if (addr < s->address || addr - s->address >= s->bytes)
			continue;
		*ret = (struct code_region){s->address, s->address + s->bytes,
					    s->file.data + s->offset};
		return true;
	}
	return false;
}

/** Each block is at most one edge: what a consumer has to look at. */
static enum clew_err take_batch(void *ctx, const struct flow_batch *b)
{
	((struct result *)ctx)->nr_edges += b->nr;
	return CLEW_OK;
}

static bool count_edge(void *ctx, const struct flow_edge *e)
{
	(void)e;
	((struct result *)ctx)->nr_edges++;
	return true;
}

static void decode_clew(struct input *in, bool is_counting, struct result *r)
{
	const struct ipt_flow_opts o = {.config = &in->config,
					.flow.code = &in->code,
					.flow.batch = is_counting ? NULL : take_batch,
					.flow.ctx = r,
					.flow.nr_threads = in->nr_threads};
	struct flow *f = ipt_flow_new(&o);

	for (size_t i = 0; i < 1 << X86_LENGTHS_BITS; i++)
		atomic_store_explicit(&x86_lengths[i], 0, memory_order_relaxed);
	if (!f || flow_feed(f, bytes_of(in->trace, in->bytes)) || flow_finish(f) ||
	    !flow_edges(f, count_edge, r))
		die("out of memory");
	r->nr_insns = flow_totals(f)->nr_insns;
	flow_free(f);
}

/* --- libipt --- */

static void run_blocks(struct pt_block_decoder *d, struct result *r)
{
	int status = pt_blk_sync_forward(d);

	while (status >= 0) {
		struct pt_block b;
		struct pt_event event;

		while (status & pts_event_pending && status >= 0)
			status = pt_blk_event(d, &event, sizeof(event));
		if (status < 0)
			break;
		status = pt_blk_next(d, &b, sizeof(b));
		r->nr_insns += b.ninsn;
		r->nr_edges++;
		if (status < 0 && status != -pte_eos)
			status = pt_blk_sync_forward(d);
	}
}

/**
 * A section cache that keeps all sections mapped, with the blocks that libipt found in them: its
 * fastest way to code. Without one it maps, and looks for blocks, again whenever execution goes to
 * another section, or trace is lost. By libipt 2.0.5, of qemu.data, mruby.data, unzip.data: by
 * pt_image_add_file() alone 2346, 25.5 and 3.3 ms, by pt_image_set_callback() 434, 238 and 9.0 ms,
 * so 105, 26.6 and 3.4 ms.
 */
static struct pt_image_section_cache *add_code(struct input *in, struct pt_image *image)
{
	struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);

	pt_iscache_set_limit(cache, UINT64_MAX);
	for (unsigned int i = 0; i < in->nr_sections; i++) {
		const struct section *s = &in->sections[i];
		int id = pt_iscache_add_file(cache, s->path, s->offset, s->bytes, s->address);

		if (id < 0 || pt_image_add_cached(image, cache, id, NULL) < 0)
			die("libipt does not take a section");
	}
	return cache;
}

static void decode_libipt(struct input *in, struct result *r)
{
	struct pt_image *image = pt_image_alloc(NULL);
	struct pt_image_section_cache *cache = add_code(in, image);
	struct pt_block_decoder *d;
	struct pt_config c;

	pt_config_init(&c);
	c.begin = in->trace;
	c.end = in->trace + in->bytes;
	d = pt_blk_alloc_decoder(&c);
	if (!d)
		die("libipt does not begin");
	pt_blk_set_image(d, image);
	run_blocks(d, r);
	pt_blk_free_decoder(d);
	pt_image_free(image);
	pt_iscache_free(cache);
}

/* --- */

static struct result round_of(struct input *in, int way)
{
	struct result r = {0};
	double wall = ms_of(CLOCK_MONOTONIC), cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);

	if (way)
		decode_clew(in, way == CLEW_COUNTS, &r);
	else
		decode_libipt(in, &r);
	r.ms = ms_of(CLOCK_MONOTONIC) - wall;
	r.cpu_ms = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	return r;
}

static void keep_best(struct result *best, const struct result *r)
{
	if (!best->cpu_ms || r->cpu_ms < best->cpu_ms) {
		double ms = best->ms;

		*best = *r;
		best->ms = ms && ms < r->ms ? ms : r->ms;
	} else if (r->ms < best->ms) {
		best->ms = r->ms;
	}
}

static void measure(struct input *in, int rounds)
{
	static const char *const names[NR_WAYS] = {"libipt, blocks", "clew, every edge",
						   "clew, counts and edges"};
	struct result best[NR_WAYS] = {0};
	struct rusage use;

	for (int i = 0; i < NR_WAYS * rounds; i++) {
		struct result r = round_of(in, i % NR_WAYS);

		keep_best(&best[i % NR_WAYS], &r);
	}
	for (int i = 0; i < NR_WAYS; i++)
		printf("  %-24s %9.2f ms  %12llu instructions  %8.1f MB/s  %6.1f x libipt\n",
		       names[i], best[i].cpu_ms, (unsigned long long)best[i].nr_insns,
		       (double)in->bytes / 1e3 / best[i].cpu_ms, best[0].cpu_ms / best[i].cpu_ms);
	getrusage(RUSAGE_SELF, &use);
	printf("  peak resident size of all %ld MiB, of which %zu MiB are the trace\n",
	       use.ru_maxrss >> 10, in->bytes >> 20);
}

static void compare_threads(struct input *in, int rounds)
{
	static const char *const names[] = {"every edge", "counts and edges"};
	struct result best[2][2] = {0};

	for (int i = 0; i < 4 * rounds; i++) {
		int way = i & 1, more = i >> 1 & 1;
		struct result r;

		in->nr_threads = more ? 2 : 1;
		r = round_of(in, way ? CLEW_COUNTS : CLEW_BATCHES);
		keep_best(&best[way][more], &r);
	}
	for (int i = 0; i < 2; i++)
		printf("  clew, %-18s one thread %8.2f ms, two %8.2f ms of wall clock: %.2f x (CPU "
		       "%.2f and %.2f ms)\n",
		       names[i], best[i][0].ms, best[i][1].ms, best[i][0].ms / best[i][1].ms,
		       best[i][0].cpu_ms, best[i][1].cpu_ms);
}

/** Sections that continue each other are one, for both. */
static void join_section(struct input *in)
{
	struct section *s = &in->sections[in->nr_sections - 1], *before = s - 1;

	if (in->nr_sections < 2 || strcmp(before->path, s->path) ||
	    before->offset + before->bytes != s->offset ||
	    before->address + before->bytes != s->address)
		return;
	os_map_done(&s->file);
	before->bytes += s->bytes;
	in->nr_sections--;
}

static void add_section(struct input *in, char *text)
{
	struct section *s = &in->sections[in->nr_sections++];
	char *offset = strchr(text, ':'), *address = offset ? strchr(offset + 1, ':') : NULL;
	char *bytes = address ? strchr(address + 1, ':') : NULL;

	if (!bytes || in->nr_sections == MAX_SECTIONS)
		die("a section is FILE:OFFSET:ADDRESS:BYTES, and there are at most 4095");
	*offset++ = '\0';
	s->path = text;
	s->offset = strtoull(offset, NULL, 0);
	s->address = strtoull(address + 1, NULL, 0);
	s->bytes = strtoull(bytes + 1, NULL, 0);
	if (os_map_file(text, &s->file, NULL) || s->offset > s->file.size ||
	    s->bytes > s->file.size - s->offset)
		die("cannot read a section");
	join_section(in);
}

static void read_trace(struct input *in, const char *path, size_t repeats)
{
	struct os_map file;

	if (os_map_file(path, &file, NULL) || !file.size)
		die("cannot read the trace");
	in->bytes = file.size * repeats;
	in->trace = malloc(in->bytes);
	for (size_t i = 0; in->trace && i < repeats; i++)
		memcpy(in->trace + i * file.size, file.data, file.size);
	if (!in->trace)
		die("out of memory");
}

int main(int argc, char **argv)
{
	static struct input in = {.nr_threads = 1};
	bool is_threads = argc > 1 && !strcmp(argv[1], "threads");
	int rounds;

	argc -= is_threads;
	argv += is_threads;
	if (argc < 5)
		die("usage: pt_bench [threads] TRACE REPEATS ROUNDS FILE:OFFSET:ADDRESS:BYTES...");
	read_trace(&in, argv[1], strtoull(argv[2], NULL, 0));
	rounds = atoi(argv[3]);
	for (int i = 4; i < argc; i++)
		add_section(&in, argv[i]);
	in.code = (struct code_source){.space = only_space, .find = find_code, .ctx = &in};
	if (!is_threads)
		measure(&in, rounds);
	compare_threads(&in, rounds);
	free(in.trace);
	return 0;
}
