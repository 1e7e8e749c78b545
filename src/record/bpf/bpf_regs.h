/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_REGS_H
#define RECORD_BPF_BPF_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unw_rule.h"

/*
 * What differs between machines in the registers of a task: one header for each machine, with the
 * same names. bpf_top_*.h has what differs in its code.
 */
#define CLEW_INLINE static inline __attribute__((always_inline))

CLEW_INLINE uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ul;
	return h ^ h >> 32;
}

#if defined(__TARGET_ARCH_arm64)
# include "record/bpf/bpf_regs_arm64.h"
#else
# include "record/bpf/bpf_regs_x86.h"
#endif

/* Of <linux/bpf_perf_event.h>. */
struct bpf_perf_event_data {
	struct clew_regs regs;
	uint64_t sample_period, addr;
};

#endif
