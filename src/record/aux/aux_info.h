/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_INFO_H
#define RECORD_AUX_AUX_INFO_H

#include "base/buf.h"
#include "os/perf/pmu.h"
#include "os/perf/tsc_ratio.h"
#include "perfdata/aux_layout.h"
#include "record/open/counters.h"

/** What AUXTRACE_INFO is made of: the PMU in a tree of sysfs, and what no file there says. */
struct aux_info_from {
	struct os_pmus *pmus;        /* the tree */
	struct os_pmu *pmu;          /* of the trace; loaded */
	uint32_t info;               /* PERF_AUXTRACE_* */
	uint64_t config;             /* of the event's attr */
	const struct rec_ints *cpus; /* that may be traced */
	bool is_per_cpu;             /* each CPU has a ring */
	bool is_snapshot;            /* the area is overwritten, and read at a request */
	enum aux_pt_switches switches;
	bool has_clock;
	struct os_ring_clock clock; /* of the first ring, with has_clock */
	struct os_tsc_ratio ratio;  /* of this machine, where the tree has none */
	const char *filter;         /* addresses, as the kernel got them; NULL: none */
};

/**
 * Append the record: version 2 for cs_etm and arm_spe.
 * @return CLEW_OK; CLEW_UNSUPPORTED: of a PMU that we do not describe (record/plan/aux_pmu.h);
 *         CLEW_NOT_FOUND: a CPU has no trace unit; CLEW_OS: the tree lacks a file;
 *         CLEW_INVALID: more CPUs than a record holds; CLEW_NO_MEMORY. Each with a sentence, and
 *         @p ret is as it was.
 */
enum clew_err aux_info_put(const struct aux_info_from *f, struct buf *ret, struct rec_error *error);

/** The same of the trace event @p e, as it is open and mapped. */
enum clew_err rec_aux_info(const struct rec_counters *c, const struct rec_counter *e,
			   struct buf *records, struct rec_error *error);

#endif
