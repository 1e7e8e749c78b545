/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_KERNEL_PROBES_H
#define RECORD_PLAN_KERNEL_PROBES_H

#include <stdbool.h>

#include "perfdata/perf_abi.h"

/**
 * What this kernel's perf_event_open() takes, found by opening dummy events: version numbers say
 * nothing about distributions' kernels.
 */
struct rec_features {
	bool can_open;        /* a dummy event of one's own opens */
	int open_errno;       /* else why not */
	uint32_t attr_bytes;  /* the kernel's struct perf_event_attr; 0: it does not say */
	uint64_t flags;       /* PERF_ATTR_ bits known */
	uint64_t sample_type; /* PERF_SAMPLE_ bits known */
	uint64_t read_format; /* PERF_FORMAT_ bits known */
	uint32_t clockids;    /* 1 << CLOCK_..., as attr.clockid takes them */
	bool has_aux_action;  /* attr.aux_action is understood */
};

/** Opens and closes about 40 events: some 100 us. Does not fail: what cannot be found out counts
 * as known, so that the kernel has the last word. */
void rec_probe_features(struct rec_features *ret);

/** Take out of @p attr what the kernel does not know and a recording can do without (build_id,
 * cgroup, text_poke, ksymbol, bpf_event, mmap2, comm_exec, namespaces, LOST, ...).
 * @return whether anything was taken out. */
bool rec_features_fit(const struct rec_features *f, struct perf_attr *attr);

struct rec_feature_name {
	uint64_t bit;
	const char *name;  /* "build_id" */
	const char *since; /* the Linux that brought it: "5.12" */
	bool is_optional;  /* rec_features_fit() may take it out */
};

/* Each ends with a NULL name. */
extern const struct rec_feature_name rec_flag_names[], rec_sample_names[], rec_read_names[];

#endif
