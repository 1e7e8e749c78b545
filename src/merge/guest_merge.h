/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_GUEST_MERGE_H
#define MERGE_GUEST_MERGE_H

#include "merge/guest_match.h"
#include "perfdata/perf_writer.h"

/*
 * Writes a host's recording with those of its guests in it, by time, in the form of `perf inject
 * --guest-data`: a guest's events have ids of their own, one for each virtual CPU, for which
 * ID_INDEX names the machine; its records are of the guest's cpumode, on the host's CPU and clock.
 * docs/spec/perf-data.md
 */
#define GUEST_MERGE_PHASE "merging guests"

struct guest_merge_in {
	const char *path;
	const struct perf_input *in;
	const struct merge_scan *scan;
	const struct guest_match *match; /* of the process that is its monitor */
};

struct guest_merge_counts {
	uint64_t nr_host, nr_guest; /* records written */
	uint64_t nr_skipped;        /* of guests: trace, and others that have no place */
	uint64_t aux_bytes;         /* of guests' trace */
	uint64_t nr_bad;            /* damaged, or too large with their ids */
	uint64_t nr_off_cpu;        /* of guests, at times at which no CPU is known */
	bool drops_stack_infos;     /* PERF_FEAT_CLEW_STACKS counts samples */
};

/** @return CLEW_OK; as perf_file_open(); CLEW_NO_MEMORY; of @p out. */
enum clew_err guest_merge(const struct perf_input *host, const struct merge_scan *host_scan,
			  const struct guest_merge_in *guests, size_t nr,
			  const struct perf_writer_out *out, struct guest_merge_counts *ret,
			  struct clew_diag *diag);

/* --- parts, for guest_merge.c --- */

/** Append the content of PERF_FEAT_CLEW_GUESTS. @return false: no memory. */
bool guest_merge_put_info(struct buf *b, const struct guest_merge_in *guests, size_t nr);

/** Append the entries of a guest's BUILD_ID feature as those of its machine. */
void guest_merge_put_build_ids(struct buf *b, struct bytes section, uint32_t machine);

#endif
