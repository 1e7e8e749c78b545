/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_SCRIPT_RECORDING_H
#define TESTS_UNIT_SCRIPT_RECORDING_H

#include "analyze/analyze.h"
#include "make/perf_build.h"

/*
 * A small recording for the writers' tests: two events, one with call chains, a thread with a name
 * that needs escaping in JSON, a JIT-free map, and side records.
 */
enum {
	SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		 PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER
};

static inline void script_recording(struct perf_build *b)
{
	static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1010, 0x1fff, 0x9000};
	struct perf_attr clock = {.type = PERF_TYPE_SOFTWARE,
				  .sample_type = SAMPLE,
				  .sample_period = 1,
				  .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct perf_attr faults = clock;
	struct perf_sample_id id = {.time = 1000, .id = 7, .pid = 10, .tid = 11, .cpu = 1};
	struct perf_sample s = {.misc = PERF_RECORD_MISC_USER,
				.ip = 0x1010,
				.time = 1000002000,
				.pid = 10,
				.tid = 11,
				.cpu = 1,
				.id = 7,
				.period = 250000};
	union perf_view v = {
		.comm = {.pid = 10, .tid = 11, .comm = "a\"\xff b"}
        };

	faults.config = PERF_COUNT_SW_PAGE_FAULTS;
	faults.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ADDR;
	perf_build_event(b, &clock, "cpu-clock", (uint64_t[]){7}, 1);
	perf_build_event(b, &faults, "page-faults", (uint64_t[]){8}, 1);
	perf_build_feature_string(b, PERF_FEAT_ARCH, "x86_64");
	perf_build_event_desc(b);
	perf_build_view(b, PERF_RECORD_COMM, 0, &v, &id);
	v = (union perf_view){
		.mmap = {.pid = 10,
			 .tid = 11,
			 .start = 0x1000,
			 .len = 0x1000,
			 .pgoff = 0x400,
			 .filename = "/no/such/file",
			 .is_mmap2 = true,
			 .prot = 5}
        };
	perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, &id);
	perf_build_sample(b, 0, &s);
	s.id = 8;
	s.time += 1500;
	s.addr = 0x1800;
	s.period = 1;
	s.callchain = (struct perf_words){.data = (const uint8_t *)chain, .nr = 4};
	perf_build_sample(b, 1, &s);
}

/** Run @p batch over the recording. */
static inline enum clew_err script_run(struct bytes file, struct analyze **ret,
				       const struct ana_opts *wishes)
{
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct ana_opts opts = *wishes;

	opts.symbols.no_host_kernel = true;
	return analyze_open(ret, &in, &opts, NULL);
}

/** A sink that keeps all in a buf. */
static inline enum clew_err script_keep(void *ctx, const void *data, size_t size)
{
	buf_add(ctx, data, size);
	return CLEW_OK;
}

#endif
