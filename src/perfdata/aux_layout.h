/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_AUX_LAYOUT_H
#define PERFDATA_AUX_LAYOUT_H

#include <stdint.h>

/*
 * The words of AUXTRACE_INFO, 64 bits each, in the file's byte order. Blocks of CPUs are
 *
 *   magic, CPU, number of words that follow, words
 */

/** attr.type of soft_pt, the software trace source of clew record: numbers of real PMUs are small.
 * It is described as intel_pt, and its triggers act on the thread that hits them. */
#define AUX_SOFT_PT_TYPE 0x74706673u /* "sfpt" */

/*
 * cs_etm:
 *
 *   0  version of this layout      1  PMU type << 32 | number of blocks      2  snapshot mode
 *   then a block for each CPU; in version 0 without the number of words
 *
 * Spec: Linux 7.3 tools/perf/util/cs-etm.h, include/linux/coresight-pmu.h.
 */
#define AUX_ETM3_MAGIC 0x3030303030303030u
#define AUX_ETM4_MAGIC 0x4040404040404040u
#define AUX_ETE_MAGIC  0x5050505050505050u

enum { AUX_ETM_NEWEST = 2 /* trace IDs are in AUX_OUTPUT_HW_ID */ };

/** ETE has its DEVARCH where ETMv4 has the time source. */
enum aux_etm4_word {
	AUX_ETM4_CONFIGR,
	AUX_ETM4_TRACEIDR,
	AUX_ETM4_IDR0,
	AUX_ETM4_IDR1,
	AUX_ETM4_IDR2,
	AUX_ETM4_IDR8,
	AUX_ETM4_AUTHSTATUS,
	AUX_ETM4_TS_SOURCE,
	AUX_ETM4_WORDS,
	AUX_ETE_DEVARCH = AUX_ETM4_TS_SOURCE,
	AUX_ETE_TS_SOURCE,
	AUX_ETE_WORDS
};

enum aux_etm3_word { AUX_ETM3_CR, AUX_ETM3_TRACEIDR, AUX_ETM3_CCER, AUX_ETM3_IDR, AUX_ETM3_WORDS };

/*
 * arm_spe:
 *
 *   version 1, known by its 16 bytes:  0 PMU type, 1 rings of CPUs
 *   version 2:  0 version, 1 number of header words (4), 2 PMU type, 3 number of CPUs
 *               then a block for each CPU
 *
 * Spec: Linux 7.3 tools/perf/arch/arm64/util/arm-spe.c, util/arm-spe.h.
 */
#define AUX_SPE_MAGIC 0x1010101010101010u

enum { AUX_SPE_V1_WORDS = 2, AUX_SPE_NEWEST = 2, AUX_SPE_HEADER_WORDS = 4 };

/** PMU type: all ones where the CPU has no SPE. */
enum aux_spe_word {
	AUX_SPE_MIDR,
	AUX_SPE_PMU_TYPE,
	AUX_SPE_MIN_INTERVAL,
	AUX_SPE_EVENT_FILTER,
	AUX_SPE_WORDS
};

/*
 * intel_pt. A bit or mask is where it is in attr.config. The filter has FILTER_BYTES bytes without
 * its NUL, padded with zeros to whole words; the word after it is caps/event_trace.
 *
 * Spec: Linux 7.3 tools/perf/util/intel-pt.h.
 */
enum aux_pt_word {
	AUX_PT_PMU_TYPE,
	AUX_PT_TIME_SHIFT,
	AUX_PT_TIME_MULT,
	AUX_PT_TIME_ZERO,
	AUX_PT_CAP_USER_TIME_ZERO,
	AUX_PT_TSC_BIT,
	AUX_PT_NORETCOMP_BIT,
	AUX_PT_SWITCHES, /* enum aux_pt_switches */
	AUX_PT_SNAPSHOT,
	AUX_PT_PER_CPU,
	AUX_PT_MTC_BIT,
	AUX_PT_MTC_PERIOD_MASK,
	AUX_PT_TSC_CTC_NUMERATOR,
	AUX_PT_TSC_CTC_DENOMINATOR,
	AUX_PT_CYC_BIT,
	AUX_PT_MAX_NONTURBO_RATIO,
	AUX_PT_FILTER_BYTES,
	AUX_PT_FILTER
};

/** Bits of attr.config of intel_pt, as the driver has had them since it exists. */
#define AUX_PT_CONFIG_PT        (UINT64_C(1) << 0)
#define AUX_PT_CONFIG_POWER     (UINT64_C(1) << 4)
#define AUX_PT_CONFIG_TSC       (UINT64_C(1) << 10)
#define AUX_PT_CONFIG_NORETCOMP (UINT64_C(1) << 11)
#define AUX_PT_CONFIG_BRANCH    (UINT64_C(1) << 13)
#define AUX_PT_CONFIG_EVENT     (UINT64_C(1) << 31)
#define AUX_PT_CONFIG_NO_TNT    (UINT64_C(1) << 55)

/** What the recording says about switches of threads. */
enum aux_pt_switches {
	AUX_PT_NO_SWITCHES,
	AUX_PT_SCHED_SWITCH,      /* the tracepoint */
	AUX_PT_OWN_SWITCHES,      /* of the recorded tasks */
	AUX_PT_CPU_WIDE_SWITCHES, /* of all */
};

#endif
