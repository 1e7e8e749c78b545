/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_MERGE_READ_H
#define MERGE_MERGE_READ_H

#include "base/map_u64.h"
#include "merge/fit_edges.h"
#include "merge/merge_clock.h"
#include "perfdata/perf_file.h"

/* One pass over a recording: the switches that the fit is made from, in ns. */

struct merge_vmm {
	uint32_t pid;
	struct fit_host host;
};

enum { MERGE_CUT_EDGES = 32 << 20 }; /* of one recording: the rest is not compared */

struct merge_scan {
	struct perf_time_conv conv; /* of the counter */
	bool has_conv, has_base;
	bool is_cut;   /* more edges than MERGE_CUT_EDGES */
	uint64_t base; /* ns of the first switch: the fit's 0 */
	uint64_t nr_edges, nr_switches;
	struct {
		VEC(struct merge_vmm);
	} vmms;                 /* of a host */
	struct map_u64 threads; /* of a host: tid of a vcpu's thread -> vmm << 32 | lane */
	struct map_u64 cpus;    /* of a guest: cpu -> lane */
	uint64_t max_edges;
	struct map_u64 last;    /* of a host: cpu -> time of its last record */
	struct fit_guest guest; /* of a guest */
};

/** @p host: vcpus' threads are looked for; else CPUs and their idle tasks.
 * @return as perf_file_open(), and CLEW_UNSUPPORTED: no times or CPUs in its records. */
enum clew_err merge_scan_host(const struct perf_input *in, struct merge_scan *ret,
			      struct clew_diag *diag);
enum clew_err merge_scan_guest(const struct perf_input *in, struct merge_scan *ret,
			       struct clew_diag *diag);
/** While the thread @p tid of a host ran a guest, its trace had @p id in CONTEXTIDR_EL1: threads
 * without guests are ignored. In any order, then merge_scan_sort_ids(). @return false: no memory.
 */
bool merge_scan_add_id(struct merge_scan *s, uint32_t tid, uint64_t ns, uint32_t id);
void merge_scan_sort_ids(struct merge_scan *s);
void merge_scan_done(struct merge_scan *s);

/** All events carry a thread, a time and a CPU, in all records. NULL: yes; else what is missing. */
const char *merge_missing(const struct perf_evlist *l, bool needs_cpu);

/** The lists in ticks. @return false: out of memory. */
bool merge_host_in(const struct merge_clock *ns, const struct merge_clock *to,
		   const struct fit_host *of, struct fit_host *ret);
bool merge_guest_in(const struct merge_clock *ns, const struct merge_clock *to,
		    const struct fit_guest *of, struct fit_guest *ret);

#endif
