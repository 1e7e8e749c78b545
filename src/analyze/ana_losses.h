/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_LOSSES_H
#define ANALYZE_ANA_LOSSES_H

#include "analyze/analyze.h"
#include "base/map_u64.h"
#include "base/vec.h"

/*
 * What the recording says was lost, and when. The kernel writes LOST as soon as a ring has room
 * again, so what is missing came after the ring's record before. Rings are known by CPU, or where
 * records have none, by thread. Zeroed: nothing.
 */
struct ana_losses {
	/* Sums of what LOST records say, of the recorder's totals, of samples that the PMU
	 * dropped, and of those that a BPF filter did not want. */
	uint64_t noted, totals, dropped, bpf_filtered;
	struct {
		VEC(uint64_t);
	} of_cpu;                 /* time of the newest sample or loss; 0: none */
	struct map_u64 of_thread; /* the same, where the CPU is unknown */
	struct {
		VEC(struct ana_loss);
	} all;
	struct ana_loss_sums sums;
};

/** A sample, in order of time. @return false: no memory. */
bool ana_losses_sample(struct ana_losses *x, uint32_t cpu, uint32_t tid, uint64_t time);

/** LOST or LOST_SAMPLES. @p time: none: it has no place in time. CLEW_OK; CLEW_BAD_FILE;
 * CLEW_NO_MEMORY. */
enum clew_err ana_losses_take(struct ana_losses *x, const struct perf_record *r,
			      const struct perf_sample_id *id, struct clew_perf_ns time);

uint64_t ana_losses_nr(const struct ana_losses *x);
void ana_losses_done(struct ana_losses *x);

#endif
