/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_FEATURES_H
#define PERFDATA_PERF_FEATURES_H

#include <clew/err.h>

#include "base/bytes.h"
#include "perfdata/perf_abi.h"

/**
 * The header features of a file, as raw sections by number and as typed views parsed when asked
 * for. All bytes are borrowed from the file (mapped) or from the reader's copy (pipe).
 */
struct perf_features {
	uint64_t bits[PERF_FEAT_BITS / 64];   /* as the file's header claims */
	struct bytes section[PERF_FEAT_BITS]; /* pos NULL: no such section */
	bool swap;
};

static inline bool perf_features_has(const struct perf_features *f, enum perf_feature feature)
{
	return f->section[feature].pos != NULL;
}

/** @return "HOSTNAME" and so on, or NULL. */
const char *perf_feature_name(unsigned int feature);

/* perf's string form: u32 length with padding, then the NUL-terminated text. */
bool perf_features_read_string(struct bytes *b, bool swap, const char **ret);

/** HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC, CPUID: the text, or NULL. */
const char *perf_features_string(const struct perf_features *f, enum perf_feature feature);

/** NRCPUS. */
bool perf_features_nr_cpus(const struct perf_features *f, uint32_t *ret_online,
			   uint32_t *ret_available);

/** TOTAL_MEM in KiB, CLOCKID resolution in ns, DIR_FORMAT version: the single u64 sections. */
bool perf_features_u64(const struct perf_features *f, enum perf_feature feature, uint64_t *ret);

/** SAMPLE_TIME. */
bool perf_features_sample_time(const struct perf_features *f, uint64_t *ret_first,
			       uint64_t *ret_last);

/** CMDLINE: iterate over the words; start with *at = section, *left = UINT32_MAX. */
bool perf_features_next_arg(const struct perf_features *f, struct bytes *at, uint32_t *left,
			    const char **ret);

struct perf_compressed {
	uint32_t version, type, level, ratio, mmap_len; /* type 1: zstd */
};
bool perf_features_compressed(const struct perf_features *f, struct perf_compressed *ret);

/** CLOCK_DATA: one instant on the recording's clock and on the wall clock. */
struct perf_clock_data {
	uint32_t version, clockid; /* clockid: CLOCK_MONOTONIC and so on */
	uint64_t wall_clock_ns, clockid_ns;
};
bool perf_features_clock_data(const struct perf_features *f, struct perf_clock_data *ret);

/** E_MACHINE: e_machine and e_flags of the ELF files the recording ran. */
bool perf_features_e_machine(const struct perf_features *f, uint32_t *ret_machine,
			     uint32_t *ret_flags);

/** CLN_SIZE: bytes of a cache line. */
bool perf_features_cache_line(const struct perf_features *f, uint32_t *ret);

#endif
