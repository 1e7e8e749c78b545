/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: etm_bench SNAPSHOT [ROUNDS [threads]]            a snapshot directory
 *        etm_bench made INSNS FUNCTIONS [ROUNDS [threads]] a made-up trace of so many million
 *                                                          instructions
 * threads: only one thread against two.
 *
 * Decode with etm_flow, as batches of ranges and as counts with all edges reported, and with
 * libopencsd through its C API, with a callback that only counts; in turn, each with nothing kept
 * from before. The best round of each, in CPU time of this thread, as the machine may be busy.
 * Then etm_flow in one thread and in two, in turn, in wall-clock time: this is right only on an
 * idle machine. CPU time is that of all threads. */
#include <opencsd/c_api/opencsd_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "etm_make.h"
#include "flow/etm/etm_flow.h"
#include "os/file.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/trace_decode.h"

struct result {
	double best_ms, cpu_ms;
	uint64_t nr_ranges, nr_insns, nr_edges;
};

struct input {
	const char *dir; /* NULL: made */
	struct etm_made made;
	struct etm_config config;
	struct code_source code;
	struct trace_input *trace;
	unsigned int nr_threads;
};

static double ms_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return ms_of(CLOCK_THREAD_CPUTIME_ID);
}

static void die(const char *what)
{
	fprintf(stderr, "etm_bench: %s\n", what);
	exit(1);
}

/* --- clew --- */

static bool count_edge(void *ctx, const struct flow_edge *e)
{
	(void)e;
	((struct result *)ctx)->nr_edges++;
	return true;
}

static enum clew_err take_batch(void *ctx, const struct flow_batch *b)
{
	((struct result *)ctx)->nr_edges += b->nr;
	return CLEW_OK;
}

static enum clew_err take_unit_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	(void)unit;
	return take_batch(ctx, b);
}

static enum clew_err end_unit(void *ctx, size_t unit, struct flow *flow)
{
	struct result *r = ctx;

	(void)unit;
	r->nr_ranges += flow_totals(flow)->nr_ranges;
	r->nr_insns += flow_totals(flow)->nr_insns;
	return flow_edges(flow, count_edge, r) ? CLEW_OK : CLEW_NO_MEMORY;
}

static void decode_made(const struct input *in, bool is_counting, struct result *r)
{
	const struct etm_flow_opts o = {.config = &in->config,
					.flow.code = &in->code,
					.flow.batch = is_counting ? NULL : take_batch,
					.flow.ctx = r,
					.flow.nr_threads = in->nr_threads};
	struct flow *f = etm_flow_new(&o);

	if (!f || flow_feed(f, bytes_of(in->made.trace, in->made.trace_bytes)) || flow_finish(f) ||
	    end_unit(r, 0, f))
		die("out of memory");
	flow_free(f);
}

static void decode_clew(const struct input *in, bool is_counting, struct result *r)
{
	const struct trace_decode_opts o = {.nr_threads = in->nr_threads,
					    .batch = is_counting ? NULL : take_unit_batch,
					    .unit_end = end_unit,
					    .ctx = r};

	if (!in->dir)
		decode_made(in, is_counting, r);
	else if (trace_decode(in->trace, &o, NULL))
		die("cannot decode");
}

/* --- OpenCSD --- */

static ocsd_datapath_resp_t take_element(const void *ctx, const ocsd_trc_index_t index,
					 const uint8_t id, const ocsd_generic_trace_elem *e)
{
	struct result *r = (struct result *)(uintptr_t)ctx;

	(void)index;
	(void)id;
	if (e->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
		r->nr_ranges++;
		r->nr_insns += e->num_instr_range;
	}
	return OCSD_RESP_CONT;
}

static void add_decoder(dcd_tree_handle_t tree, const struct etm_config *c)
{
	ocsd_etmv4_cfg v4 = {.reg_idr0 = c->regs.idr0,
			     .reg_idr1 = c->regs.idr1,
			     .reg_idr2 = c->regs.idr2,
			     .reg_idr8 = c->regs.idr8,
			     .reg_configr = c->regs.configr,
			     .reg_traceidr = c->regs.traceidr,
			     .arch_ver = ARCH_AA64,
			     .core_prof = profile_CortexA};
	uint8_t id;

	if (c->is_ete || ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I,
						OCSD_CREATE_FLG_FULL_DECODER, &v4, &id))
		die("OpenCSD does not take the configuration");
}

enum { MAX_REGIONS = 64, LOW_BYTES = 16 << 20 };

static struct code_region regions[MAX_REGIONS];
static unsigned int nr_regions;

/** The code of a snapshot of one program that is not relocated: in the first 16 MiB. */
static void find_code(const struct code_source *code)
{
	const struct code_key key = {
		.context = {.arch = CODE_ARM, .arm.security = ARM_NONSECURE}
        };
	uint32_t space = code->space(code->ctx, &key);
	struct code_region *r = regions;

	for (uint64_t at = 0; at < LOW_BYTES && nr_regions < MAX_REGIONS; at += 4) {
		if (!code->find(code->ctx, space, at, r))
			continue;
		at = r->end;
		r = &regions[++nr_regions];
	}
}

static void feed_opencsd(dcd_tree_handle_t tree, const uint8_t *data, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		uint32_t used = 0;
		size_t n = bytes - at < 64 << 10 ? bytes - at : 64 << 10;

		if (ocsd_dt_process_data(tree, OCSD_OP_DATA, (ocsd_trc_index_t)at, (uint32_t)n,
					 data + at, &used) >= OCSD_RESP_FATAL_NOT_INIT)
			die("OpenCSD stops");
		at += used;
	}
	ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
}

static struct os_map frames; /* of a snapshot */

static dcd_tree_handle_t opencsd_new(const struct input *in, struct result *r)
{
	dcd_tree_handle_t tree = in->dir ? ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED,
								OCSD_DFRMTR_FRAME_MEM_ALIGN)
					 : ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);

	if (!tree)
		die("OpenCSD does not begin");
	if (!in->dir) {
		add_decoder(tree, &in->config);
		ocsd_dt_add_buffer_mem_acc(tree, ETM_MADE_BASE, OCSD_MEM_SPACE_ANY, in->made.code,
					   (uint32_t)in->made.code_bytes);
	}
	for (size_t i = 0; in->dir && i < in->trace->nr_units; i++)
		add_decoder(tree, in->trace->units[i].config);
	for (unsigned int i = 0; i < nr_regions; i++)
		ocsd_dt_add_buffer_mem_acc(tree, regions[i].start, OCSD_MEM_SPACE_ANY,
					   regions[i].bytes,
					   (uint32_t)(regions[i].end - regions[i].start));
	ocsd_dt_set_gen_elem_outfn(tree, take_element, r);
	return tree;
}

/** Its set-up is not timed. */
static double opencsd(const struct input *in, struct result *r)
{
	dcd_tree_handle_t tree = opencsd_new(in, r);
	double start = now_ms(), took;

	if (in->dir)
		feed_opencsd(tree, frames.data, frames.size);
	else
		feed_opencsd(tree, in->made.trace, in->made.trace_bytes);
	took = now_ms() - start;
	ocsd_destroy_dcd_tree(tree);
	return took;
}

/* --- */

static double clew(const struct input *in, bool is_counting, struct result *r)
{
	double start = now_ms();

	decode_clew(in, is_counting, r);
	return now_ms() - start;
}

static void measure(const struct input *in, int rounds)
{
	static const char *const names[] = {"OpenCSD, C API", "clew, ranges",
					    "clew, counts and edges"};
	struct result best[3] = {0};
	struct rusage use;

	for (int i = 0; i < 3 * rounds; i++) {
		struct result r = {0};
		int what = i % 3;

		r.best_ms = what ? clew(in, what == 2, &r) : opencsd(in, &r);
		if (!best[what].best_ms || r.best_ms < best[what].best_ms)
			best[what] = r;
	}
	for (int i = 0; i < 3; i++)
		printf("  %-24s %9.2f ms  %11llu instructions  %10llu ranges  %6.1f x OpenCSD\n",
		       names[i], best[i].best_ms, (unsigned long long)best[i].nr_insns,
		       (unsigned long long)best[i].nr_ranges, best[0].best_ms / best[i].best_ms);
	getrusage(RUSAGE_SELF, &use);
	printf("  peak resident size of all three %ld MiB\n", use.ru_maxrss >> 10);
}

/** Round @p i of @p in: one thread or two, ranges or counts. */
static struct result round_of(struct input *in, int i)
{
	struct result r = {0};
	double wall = ms_of(CLOCK_MONOTONIC), cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);

	in->nr_threads = 1 + (i & 1);
	decode_clew(in, i & 2, &r);
	r.best_ms = ms_of(CLOCK_MONOTONIC) - wall;
	r.cpu_ms = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	return r;
}

static void compare_threads(struct input *in, int rounds)
{
	static const char *const names[] = {"ranges", "counts and edges"};
	struct result best[4] = {0};

	for (int i = 0; i < 4 * rounds; i++) {
		struct result r = round_of(in, i % 4);

		if (!best[i % 4].best_ms || r.best_ms < best[i % 4].best_ms)
			best[i % 4] = r;
	}
	for (int i = 0; i < 4; i += 2) {
		if (best[i].nr_insns != best[i + 1].nr_insns)
			die("two threads count other instructions than one");
		printf("  clew, %-18s one thread %8.2f ms, two %8.2f ms of wall clock: %.2f x "
		       "(CPU %.2f and %.2f ms)\n",
		       names[i / 2], best[i].best_ms, best[i + 1].best_ms,
		       best[i].best_ms / best[i + 1].best_ms, best[i].cpu_ms, best[i + 1].cpu_ms);
	}
	in->nr_threads = 1;
}

static uint32_t only_space(void *ctx, const struct code_key *key)
{
	(void)ctx;
	(void)key;
	return 0;
}

static bool find_made(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct etm_made *m = ctx;

	(void)space;
	*ret = (struct code_region){ETM_MADE_BASE, ETM_MADE_BASE + m->code_bytes, m->code};
	return addr >= ret->start && addr < ret->end;
}

static void make(struct input *in, const char *insns, const char *functions)
{
	const struct etm_regs regs = {.configr = 1,
				      .traceidr = 0x10,
				      .idr0 = 0x28000ea1,
				      .idr1 = 0x4100f403,
				      .idr2 = 0x488};

	if (!etm_make(&in->made, (unsigned int)strtoul(functions, NULL, 0),
		      strtoull(insns, NULL, 0) * 1000000) ||
	    etm_config_init(&in->config, &regs, NULL))
		die("cannot make the trace");
	in->code = (struct code_source){.space = only_space, .find = find_made, .ctx = &in->made};
	printf("made: %llu instructions, %zu KiB of trace, %zu KiB of code\n",
	       (unsigned long long)in->made.nr_insns, in->made.trace_bytes >> 10,
	       in->made.code_bytes >> 10);
}

static void open_snapshot(struct input *in, const char *dir)
{
	char path[4096];

	in->dir = dir;
	snprintf(path, sizeof(path), "%s/cstrace.bin", dir);
	if (cs_snapshot_open(&in->trace, dir, NULL) || os_map_file(path, &frames, NULL))
		die("cannot open the snapshot, or its cstrace.bin");
	find_code(in->trace->units[0].code);
	printf("%s: %zu KiB of frames\n", dir, frames.size >> 10);
}

int main(int argc, char **argv)
{
	struct input in = {.nr_threads = 1};
	bool is_made = argc > 3 && !strcmp(argv[1], "made");
	int at = is_made ? 4 : 2; /* of ROUNDS */
	int rounds = argc > at ? atoi(argv[at]) : is_made ? 3 : 10;

	if (argc < 2)
		die("which snapshot?");
	if (is_made)
		make(&in, argv[2], argv[3]);
	else
		open_snapshot(&in, argv[1]);
	if (argc <= at + 1)
		measure(&in, rounds);
	compare_threads(&in, rounds);
	trace_input_free(in.trace);
	free(in.made.code);
	free(in.made.trace);
	return 0;
}
