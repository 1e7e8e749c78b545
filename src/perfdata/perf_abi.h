/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_ABI_H
#define PERFDATA_PERF_ABI_H

#include <stdint.h>

/*
 * Numbers and layouts of the perf_event_open interface and of the perf.data format, complete up to
 * Linux 7.3, under their own names. No file includes <linux/perf_event.h>: the installed one is
 * always too old.
 *
 * Spec: Linux 7.3 include/uapi/linux/perf_event.h;
 * tools/perf/Documentation/perf.data-file-format.txt; tools/lib/perf/include/perf/event.h.
 */

/* attr.type */
enum perf_type {
	PERF_TYPE_HARDWARE = 0,
	PERF_TYPE_SOFTWARE = 1,
	PERF_TYPE_TRACEPOINT = 2,
	PERF_TYPE_HW_CACHE = 3,
	PERF_TYPE_RAW = 4,
	PERF_TYPE_BREAKPOINT = 5,
	PERF_TYPE_MAX_STATIC = 6, /* from here on: numbers of sysfs PMUs */
};

/* attr.type of events that perf makes of a trace; config: enum ana_note_kind.
 * Spec: tools/perf/util/event.h (Linux 6.1). */
#define PERF_TYPE_SYNTH UINT32_C(0x80000000)

enum perf_hw_id {
	PERF_COUNT_HW_CPU_CYCLES = 0,
	PERF_COUNT_HW_INSTRUCTIONS = 1,
	PERF_COUNT_HW_CACHE_REFERENCES = 2,
	PERF_COUNT_HW_CACHE_MISSES = 3,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS = 4,
	PERF_COUNT_HW_BRANCH_MISSES = 5,
	PERF_COUNT_HW_BUS_CYCLES = 6,
	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND = 7,
	PERF_COUNT_HW_STALLED_CYCLES_BACKEND = 8,
	PERF_COUNT_HW_REF_CPU_CYCLES = 9,
	PERF_COUNT_HW_MAX = 10,
};

enum perf_hw_cache_id { /* config = id | op << 8 | result << 16 */
			PERF_COUNT_HW_CACHE_L1D = 0,
			PERF_COUNT_HW_CACHE_L1I = 1,
			PERF_COUNT_HW_CACHE_LL = 2,
			PERF_COUNT_HW_CACHE_DTLB = 3,
			PERF_COUNT_HW_CACHE_ITLB = 4,
			PERF_COUNT_HW_CACHE_BPU = 5,
			PERF_COUNT_HW_CACHE_NODE = 6,
			PERF_COUNT_HW_CACHE_MAX = 7,
};

enum perf_sw_id {
	PERF_COUNT_SW_CPU_CLOCK = 0,
	PERF_COUNT_SW_TASK_CLOCK = 1,
	PERF_COUNT_SW_PAGE_FAULTS = 2,
	PERF_COUNT_SW_CONTEXT_SWITCHES = 3,
	PERF_COUNT_SW_CPU_MIGRATIONS = 4,
	PERF_COUNT_SW_PAGE_FAULTS_MIN = 5,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ = 6,
	PERF_COUNT_SW_ALIGNMENT_FAULTS = 7,
	PERF_COUNT_SW_EMULATION_FAULTS = 8,
	PERF_COUNT_SW_DUMMY = 9,
	PERF_COUNT_SW_BPF_OUTPUT = 10,
	PERF_COUNT_SW_CGROUP_SWITCHES = 11,
	PERF_COUNT_SW_MAX = 12,
};

/* attr.sample_type; perf_sample.h has the order of the fields in a sample */
#define PERF_SAMPLE_IP             (1ull << 0)
#define PERF_SAMPLE_TID            (1ull << 1)
#define PERF_SAMPLE_TIME           (1ull << 2)
#define PERF_SAMPLE_ADDR           (1ull << 3)
#define PERF_SAMPLE_READ           (1ull << 4)
#define PERF_SAMPLE_CALLCHAIN      (1ull << 5)
#define PERF_SAMPLE_ID             (1ull << 6)
#define PERF_SAMPLE_CPU            (1ull << 7)
#define PERF_SAMPLE_PERIOD         (1ull << 8)
#define PERF_SAMPLE_STREAM_ID      (1ull << 9)
#define PERF_SAMPLE_RAW            (1ull << 10)
#define PERF_SAMPLE_BRANCH_STACK   (1ull << 11)
#define PERF_SAMPLE_REGS_USER      (1ull << 12)
#define PERF_SAMPLE_STACK_USER     (1ull << 13)
#define PERF_SAMPLE_WEIGHT         (1ull << 14)
#define PERF_SAMPLE_DATA_SRC       (1ull << 15)
#define PERF_SAMPLE_IDENTIFIER     (1ull << 16)
#define PERF_SAMPLE_TRANSACTION    (1ull << 17)
#define PERF_SAMPLE_REGS_INTR      (1ull << 18)
#define PERF_SAMPLE_PHYS_ADDR      (1ull << 19)
#define PERF_SAMPLE_AUX            (1ull << 20)
#define PERF_SAMPLE_CGROUP         (1ull << 21)
#define PERF_SAMPLE_DATA_PAGE_SIZE (1ull << 22)
#define PERF_SAMPLE_CODE_PAGE_SIZE (1ull << 23)
#define PERF_SAMPLE_WEIGHT_STRUCT  (1ull << 24)
#define PERF_SAMPLE_MAX            (1ull << 25)

/* attr.branch_sample_type */
#define PERF_SAMPLE_BRANCH_USER       (1ull << 0)
#define PERF_SAMPLE_BRANCH_KERNEL     (1ull << 1)
#define PERF_SAMPLE_BRANCH_HV         (1ull << 2)
#define PERF_SAMPLE_BRANCH_ANY        (1ull << 3)
#define PERF_SAMPLE_BRANCH_ANY_CALL   (1ull << 4)
#define PERF_SAMPLE_BRANCH_ANY_RETURN (1ull << 5)
#define PERF_SAMPLE_BRANCH_IND_CALL   (1ull << 6)
#define PERF_SAMPLE_BRANCH_ABORT_TX   (1ull << 7)
#define PERF_SAMPLE_BRANCH_IN_TX      (1ull << 8)
#define PERF_SAMPLE_BRANCH_NO_TX      (1ull << 9)
#define PERF_SAMPLE_BRANCH_COND       (1ull << 10)
#define PERF_SAMPLE_BRANCH_CALL_STACK (1ull << 11)
#define PERF_SAMPLE_BRANCH_IND_JUMP   (1ull << 12)
#define PERF_SAMPLE_BRANCH_CALL       (1ull << 13)
#define PERF_SAMPLE_BRANCH_NO_FLAGS   (1ull << 14)
#define PERF_SAMPLE_BRANCH_NO_CYCLES  (1ull << 15)
#define PERF_SAMPLE_BRANCH_TYPE_SAVE  (1ull << 16)
#define PERF_SAMPLE_BRANCH_HW_INDEX   (1ull << 17)
#define PERF_SAMPLE_BRANCH_PRIV_SAVE  (1ull << 18)
#define PERF_SAMPLE_BRANCH_COUNTERS   (1ull << 19)

/* attr.read_format */
#define PERF_FORMAT_TOTAL_TIME_ENABLED (1ull << 0)
#define PERF_FORMAT_TOTAL_TIME_RUNNING (1ull << 1)
#define PERF_FORMAT_ID                 (1ull << 2)
#define PERF_FORMAT_GROUP              (1ull << 3)
#define PERF_FORMAT_LOST               (1ull << 4)

/*
 * attr flags, as the little-endian ABI numbers its bit-field. A big-endian kernel allocates the
 * same fields from the other end; perf_attr_parse() turns them round.
 */
#define PERF_ATTR_DISABLED                 (1ull << 0)
#define PERF_ATTR_INHERIT                  (1ull << 1)
#define PERF_ATTR_PINNED                   (1ull << 2)
#define PERF_ATTR_EXCLUSIVE                (1ull << 3)
#define PERF_ATTR_EXCLUDE_USER             (1ull << 4)
#define PERF_ATTR_EXCLUDE_KERNEL           (1ull << 5)
#define PERF_ATTR_EXCLUDE_HV               (1ull << 6)
#define PERF_ATTR_EXCLUDE_IDLE             (1ull << 7)
#define PERF_ATTR_MMAP                     (1ull << 8)
#define PERF_ATTR_COMM                     (1ull << 9)
#define PERF_ATTR_FREQ                     (1ull << 10)
#define PERF_ATTR_INHERIT_STAT             (1ull << 11)
#define PERF_ATTR_ENABLE_ON_EXEC           (1ull << 12)
#define PERF_ATTR_TASK                     (1ull << 13)
#define PERF_ATTR_WATERMARK                (1ull << 14)
#define PERF_ATTR_PRECISE_IP_SHIFT         15 /* two bits */
#define PERF_ATTR_MMAP_DATA                (1ull << 17)
#define PERF_ATTR_SAMPLE_ID_ALL            (1ull << 18)
#define PERF_ATTR_EXCLUDE_HOST             (1ull << 19)
#define PERF_ATTR_EXCLUDE_GUEST            (1ull << 20)
#define PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL (1ull << 21)
#define PERF_ATTR_EXCLUDE_CALLCHAIN_USER   (1ull << 22)
#define PERF_ATTR_MMAP2                    (1ull << 23)
#define PERF_ATTR_COMM_EXEC                (1ull << 24)
#define PERF_ATTR_USE_CLOCKID              (1ull << 25)
#define PERF_ATTR_CONTEXT_SWITCH           (1ull << 26)
#define PERF_ATTR_WRITE_BACKWARD           (1ull << 27)
#define PERF_ATTR_NAMESPACES               (1ull << 28)
#define PERF_ATTR_KSYMBOL                  (1ull << 29)
#define PERF_ATTR_BPF_EVENT                (1ull << 30)
#define PERF_ATTR_AUX_OUTPUT               (1ull << 31)
#define PERF_ATTR_CGROUP                   (1ull << 32)
#define PERF_ATTR_TEXT_POKE                (1ull << 33)
#define PERF_ATTR_BUILD_ID                 (1ull << 34)
#define PERF_ATTR_INHERIT_THREAD           (1ull << 35)
#define PERF_ATTR_REMOVE_ON_EXEC           (1ull << 36)
#define PERF_ATTR_SIGTRAP                  (1ull << 37)
#define PERF_ATTR_DEFER_CALLCHAIN          (1ull << 38)
#define PERF_ATTR_DEFER_OUTPUT             (1ull << 39)

/* attr.aux_action */
#define PERF_AUX_START_PAUSED (1u << 0)
#define PERF_AUX_PAUSE        (1u << 1)
#define PERF_AUX_RESUME       (1u << 2)

enum { /* attr.size by kernel generation */
       PERF_ATTR_SIZE_VER0 = 64,
       PERF_ATTR_SIZE_VER1 = 72,
       PERF_ATTR_SIZE_VER2 = 80,
       PERF_ATTR_SIZE_VER3 = 96,
       PERF_ATTR_SIZE_VER4 = 104,
       PERF_ATTR_SIZE_VER5 = 112,
       PERF_ATTR_SIZE_VER6 = 120,
       PERF_ATTR_SIZE_VER7 = 128,
       PERF_ATTR_SIZE_VER8 = 136,
       PERF_ATTR_SIZE_VER9 = 144,
};

/**
 * struct perf_event_attr as the kernel takes it. The bit-field is one word here (PERF_ATTR_*),
 * which on a big-endian host perf_attr_for_kernel() reverses.
 */
struct perf_attr {
	uint32_t type;
	uint32_t size;
	uint64_t config;
	uint64_t sample_period; /* or sample_freq, in Hz, with PERF_ATTR_FREQ */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint32_t wakeup; /* events, or bytes with PERF_ATTR_WATERMARK */
	uint32_t bp_type;
	uint64_t config1; /* bp_addr, kprobe_func, uprobe_path */
	uint64_t config2; /* bp_len, kprobe_addr, probe_offset */
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;
	uint16_t reserved_2;
	uint32_t aux_sample_size;
	uint32_t aux_action; /* PERF_AUX_ */
	uint64_t sig_data;
	uint64_t config3;
	uint64_t config4;
};
_Static_assert(sizeof(struct perf_attr) == PERF_ATTR_SIZE_VER9, "layout of perf_event_attr");

/* header.misc */
/** As pid and tid: of a task that is being released, and in the kernel's own mappings. */
enum { PERF_NO_TASK = UINT32_MAX };

enum {
	PERF_RECORD_MISC_CPUMODE_MASK = 7,
	PERF_RECORD_MISC_CPUMODE_UNKNOWN = 0,
	PERF_RECORD_MISC_KERNEL = 1,
	PERF_RECORD_MISC_USER = 2,
	PERF_RECORD_MISC_HYPERVISOR = 3,
	PERF_RECORD_MISC_GUEST_KERNEL = 4,
	PERF_RECORD_MISC_GUEST_USER = 5,
	PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT = 1 << 12,
	PERF_RECORD_MISC_MMAP_DATA = 1 << 13,
	PERF_RECORD_MISC_COMM_EXEC = 1 << 13,
	PERF_RECORD_MISC_FORK_EXEC = 1 << 13,
	PERF_RECORD_MISC_SWITCH_OUT = 1 << 13,
	PERF_RECORD_MISC_EXACT_IP = 1 << 14,
	PERF_RECORD_MISC_SWITCH_OUT_PREEMPT = 1 << 14,
	PERF_RECORD_MISC_MMAP_BUILD_ID = 1 << 14,
	PERF_RECORD_MISC_EXT_RESERVED = 1 << 15,
	PERF_RECORD_MISC_LOST_SAMPLES_BPF = 1 << 15, /* perf's own, since 6.12: no kernel sets it */
};

enum perf_record_type {
	/* written by the kernel */
	PERF_RECORD_MMAP = 1,
	PERF_RECORD_LOST = 2,
	PERF_RECORD_COMM = 3,
	PERF_RECORD_EXIT = 4,
	PERF_RECORD_THROTTLE = 5,
	PERF_RECORD_UNTHROTTLE = 6,
	PERF_RECORD_FORK = 7,
	PERF_RECORD_READ = 8,
	PERF_RECORD_SAMPLE = 9,
	PERF_RECORD_MMAP2 = 10,
	PERF_RECORD_AUX = 11,
	PERF_RECORD_ITRACE_START = 12,
	PERF_RECORD_LOST_SAMPLES = 13,
	PERF_RECORD_SWITCH = 14,
	PERF_RECORD_SWITCH_CPU_WIDE = 15,
	PERF_RECORD_NAMESPACES = 16,
	PERF_RECORD_KSYMBOL = 17,
	PERF_RECORD_BPF_EVENT = 18,
	PERF_RECORD_CGROUP = 19,
	PERF_RECORD_TEXT_POKE = 20,
	PERF_RECORD_AUX_OUTPUT_HW_ID = 21,
	PERF_RECORD_CALLCHAIN_DEFERRED = 22,
	PERF_RECORD_KERNEL_END = 23,
	/* written by tools; simpleperf's own start at 32768 and are skipped */
	PERF_RECORD_HEADER_ATTR = 64,
	PERF_RECORD_HEADER_EVENT_TYPE = 65,
	PERF_RECORD_HEADER_TRACING_DATA = 66,
	PERF_RECORD_HEADER_BUILD_ID = 67,
	PERF_RECORD_FINISHED_ROUND = 68,
	PERF_RECORD_ID_INDEX = 69,
	PERF_RECORD_AUXTRACE_INFO = 70,
	PERF_RECORD_AUXTRACE = 71,
	PERF_RECORD_AUXTRACE_ERROR = 72,
	PERF_RECORD_THREAD_MAP = 73,
	PERF_RECORD_CPU_MAP = 74,
	PERF_RECORD_STAT_CONFIG = 75,
	PERF_RECORD_STAT = 76,
	PERF_RECORD_STAT_ROUND = 77,
	PERF_RECORD_EVENT_UPDATE = 78,
	PERF_RECORD_TIME_CONV = 79,
	PERF_RECORD_HEADER_FEATURE = 80,
	PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_FINISHED_INIT = 82,
	PERF_RECORD_COMPRESSED2 = 83,
	PERF_RECORD_BPF_METADATA = 84,
	PERF_RECORD_SCHEDSTAT_CPU = 85,
	PERF_RECORD_SCHEDSTAT_DOMAIN = 86,
	PERF_RECORD_HEADER_END = 87,
};

/** What stands before every record. Sizes include it. */
struct perf_event_header {
	uint32_t type; /* enum perf_record_type */
	uint16_t misc; /* PERF_RECORD_MISC_ */
	uint16_t size;
};

/* PERF_RECORD_AUX flags */
#define PERF_AUX_FLAG_TRUNCATED            0x01u
#define PERF_AUX_FLAG_OVERWRITE            0x02u
#define PERF_AUX_FLAG_PARTIAL              0x04u
#define PERF_AUX_FLAG_COLLISION            0x08u
#define PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK 0xff00u

/* Marks in a call chain: from here on the addresses are of that context. The last two stand for
 * themselves. */
#define PERF_CONTEXT_HV            ((uint64_t)-32)
#define PERF_CONTEXT_KERNEL        ((uint64_t)-128)
#define PERF_CONTEXT_USER          ((uint64_t)-512)
#define PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640) /* followed by a cookie */
#define PERF_CONTEXT_GUEST         ((uint64_t)-2048)
#define PERF_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define PERF_CONTEXT_GUEST_USER    ((uint64_t)-2560)
#define PERF_CONTEXT_MAX           ((uint64_t)-4095) /* any value from here up is a mark, not an address */

/* perf.data: header.features, one bit each */
enum perf_feature {
	PERF_FEAT_TRACING_DATA = 1,
	PERF_FEAT_BUILD_ID = 2,
	PERF_FEAT_HOSTNAME = 3,
	PERF_FEAT_OSRELEASE = 4,
	PERF_FEAT_VERSION = 5,
	PERF_FEAT_ARCH = 6,
	PERF_FEAT_NRCPUS = 7,
	PERF_FEAT_CPUDESC = 8,
	PERF_FEAT_CPUID = 9,
	PERF_FEAT_TOTAL_MEM = 10,
	PERF_FEAT_CMDLINE = 11,
	PERF_FEAT_EVENT_DESC = 12,
	PERF_FEAT_CPU_TOPOLOGY = 13,
	PERF_FEAT_NUMA_TOPOLOGY = 14,
	PERF_FEAT_BRANCH_STACK = 15,
	PERF_FEAT_PMU_MAPPINGS = 16,
	PERF_FEAT_GROUP_DESC = 17,
	PERF_FEAT_AUXTRACE = 18,
	PERF_FEAT_STAT = 19,
	PERF_FEAT_CACHE = 20,
	PERF_FEAT_SAMPLE_TIME = 21,
	PERF_FEAT_MEM_TOPOLOGY = 22,
	PERF_FEAT_CLOCKID = 23,
	PERF_FEAT_DIR_FORMAT = 24,
	PERF_FEAT_BPF_PROG_INFO = 25,
	PERF_FEAT_BPF_BTF = 26,
	PERF_FEAT_COMPRESSED = 27,
	PERF_FEAT_CPU_PMU_CAPS = 28,
	PERF_FEAT_CLOCK_DATA = 29,
	PERF_FEAT_HYBRID_TOPOLOGY = 30,
	PERF_FEAT_PMU_CAPS = 31,
	PERF_FEAT_CPU_DOMAIN_INFO = 32,
	PERF_FEAT_E_MACHINE = 33,
	PERF_FEAT_CLN_SIZE = 34,
	PERF_FEAT_MAX = 35,
	/* clew's own (perf_stack_info.h), far from where perf and simpleperf (128 on) add theirs */
	PERF_FEAT_CLEW_STACKS = 240,
	PERF_FEAT_CLEW_MAPS = 241, /* perf_kept_maps.h */
	/* perf_guest_fits.h */
	PERF_FEAT_CLEW_GUESTS = 242,
	PERF_FEAT_BITS = 256,
};

/* AUXTRACE_INFO.type */
enum perf_auxtrace_type {
	PERF_AUXTRACE_UNKNOWN = 0,
	PERF_AUXTRACE_INTEL_PT = 1,
	PERF_AUXTRACE_INTEL_BTS = 2,
	PERF_AUXTRACE_CS_ETM = 3,
	PERF_AUXTRACE_ARM_SPE = 4,
	PERF_AUXTRACE_S390_CPUMSF = 5,
	PERF_AUXTRACE_HISI_PTT = 6,
	PERF_AUXTRACE_VPA_DTL = 7,
};

/* perf.data, file mode: magic "PERFILE2", read as a little-endian word. Version 1, of perf
 * before 3.4, has "PERFFILE" in either byte order. */
#define PERF_MAGIC1 0x454c494646524550ull
#define PERF_MAGIC2 0x32454c4946524550ull

struct perf_file_section {
	uint64_t offset, size;
};

enum {
	PERF_FILE_HEADER_SIZE =
		104, /* magic, size, attr_size, attrs, data, event_types, 256 feature bits */
	PERF_PIPE_HEADER_SIZE = 16, /* magic, size */
};

#endif
