/* SPDX-License-Identifier: GPL-2.0-only */
/* AUX byte stream of softaux: a sequence of 64-byte little-endian records. */
#ifndef SOFTAUX_H
#define SOFTAUX_H
#include <linux/types.h>
#define SA_MAGIC 0x58554153u /* bytes 'S' 'A' 'U' 'X' */
enum { SA_START = 1, SA_TICK = 2, SA_STOP = 3, SA_PAUSE = 4, SA_RESUME = 5 };
struct sa_rec {
	__u32 magic;    /*  0 */
	__u8 type;      /*  4 SA_* */
	__u8 paused;    /*  5 event state when written; must be 0 in a TICK */
	__u16 cpu;      /*  6 CPU that produced the record */
	__u64 seq;      /*  8 +1 per record of one AUX buffer (shared sink: of the sink) */
	__u64 time;     /* 16 local_clock() = the clock of PERF_SAMPLE_TIME, ns */
	__u32 pid, tid; /* 24 28 current at that moment, initial pid namespace */
	__u32 starts;   /* 32 pmu->start() calls that took effect */
	__u32 stops;    /* 36 */
	__u32 pauses;   /* 40 PERF_EF_PAUSE calls seen, */
	__u32 resumes;  /* 44 PERF_EF_RESUME calls seen */
	__u32 id;       /* 48 per-event id, 1.. (shared sink: plays the trace ID) */
	__u32 skipped;  /* 52 ticks not written because paused, no buffer or no room */
	__u32 resv;     /* 56 */
	__u32 check;    /* 60 XOR of the 15 words before it */
};
#ifdef __KERNEL__
struct attribute_group;
extern const struct attribute_group *sa_pt_groups[];

/* @p: 64 bytes. */
void sa_pt_fill(const struct sa_rec *r, __u8 *p);
#endif
#endif
