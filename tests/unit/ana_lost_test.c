/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many records were lost: LOST records and the recorder's totals count the same ones. */
#include "analyze/analyze.h"
#include "make/perf_build.h"
#include "unit/tap.h"

enum { NONE = 0, MAX_RECORDS = 4 };

struct record {
	uint32_t type;
	uint64_t time, lost; /* time 0: none, as the recorder writes its totals */
	uint16_t misc;
};

static enum clew_err ignore(void *ctx, const struct ana_batch *b)
{
	(void)ctx;
	(void)b;
	return CLEW_OK;
}

struct sums {
	uint64_t lost, filtered;
};

static struct sums sums_of(const struct record *records)
{
	struct perf_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct perf_input in = {0};
	struct perf_build b = {0};
	struct clew_diag diag = {0};
	struct analyze *a;
	struct bytes file;
	struct sums ret = {UINT64_MAX - 1, 0};

	perf_build_event(&b, &attr, "cycles", (uint64_t[]){1}, 1);
	for (size_t i = 0; i < MAX_RECORDS && records[i].type != NONE; i++) {
		const struct perf_sample_id id = {.time = records[i].time, .id = 1};
		const union perf_view v = {
			.lost = {1, records[i].lost}
                };

		perf_build_view(&b, records[i].type, records[i].misc, &v, &id);
	}
	file = perf_build_finish(&b);
	in.data = file.pos;
	in.size = bytes_left(&file);
	if (analyze_open(&a, &in, &(struct ana_opts){.symbols.no_host_kernel = true}, &diag) ==
	    CLEW_OK) {
		if (analyze_run(a, &(struct ana_consumer){ignore, NULL}, &diag) == CLEW_OK)
			ret = (struct sums){analyze_summary(a)->nr_lost,
					    analyze_summary(a)->nr_bpf_filtered};
		analyze_free(a);
	}
	perf_build_done(&b);
	return ret;
}

int main(void)
{
	static const struct {
		struct record records[MAX_RECORDS];
		uint64_t lost;
		const char *what;
		uint64_t filtered;
	} cases[] = {
		{{{PERF_RECORD_LOST, 5, 3}, {PERF_RECORD_LOST, 9, 4}},
		 7,								       "before Linux 6.0: LOST alone"                                        },
		{{{PERF_RECORD_LOST, 5, 3},
		  {PERF_RECORD_LOST, 9, 4},
		  {PERF_RECORD_LOST_SAMPLES, 0, 7}},
		 7,								       "the total counts the same ones"                                      },
		{{{PERF_RECORD_LOST, 5, 3},
		  {PERF_RECORD_LOST_SAMPLES, 0, 4},
		  {PERF_RECORD_LOST_SAMPLES, 0, 6}},
		 10,								      "totals of two CPUs, with what was lost last"                         },
		{{{PERF_RECORD_LOST, 5, 3}, {PERF_RECORD_LOST_SAMPLES, 7, 2}},
		 5,								       "with a time: samples that the PMU dropped, which LOST does not count"},
		{{{PERF_RECORD_LOST, 5, UINT64_MAX}, {PERF_RECORD_LOST, 9, 2}},
		 UINT64_MAX,							      "a sum has an end"						    },
		{{{PERF_RECORD_LOST, 5, 3},
		  {PERF_RECORD_LOST_SAMPLES, 0, 4, .misc = PERF_RECORD_MISC_LOST_SAMPLES_BPF},
		  {PERF_RECORD_LOST_SAMPLES, 7, 5, .misc = PERF_RECORD_MISC_LOST_SAMPLES_BPF}},
		 3,								       "samples that a BPF filter did not want are not lost",
		 9},
		{{{PERF_RECORD_LOST, 5, 3, .misc = PERF_RECORD_MISC_LOST_SAMPLES_BPF}},
		 3, "of LOST the bit is another"																	      },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sums s = sums_of(cases[i].records);

		CHECK(s.lost == cases[i].lost && s.filtered == cases[i].filtered, "%s",
		      cases[i].what);
	}
	return tap_done();
}
