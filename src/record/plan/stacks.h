/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_STACKS_H
#define RECORD_PLAN_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "perfdata/perf_deferred.h"

/*
 * Which way user stacks are recorded: --call-graph auto|sframe|fp|dwarf|defer.
 *
 *   auto          the best that works here, see stack_choice.h; says which and why
 *   sframe        tables, by BPF (deferred; ",immediate": at the sample)
 *   defer         the kernel's own deferral (Linux >= 6.19), also spelled "fp,defer"
 *   dwarf[,BYTES] a copy of the stack, unwound while recording; with --store-stacks kept in the
 *                 file as perf does
 *   fp[,DEPTH]    the kernel's frame pointers
 */
enum rec_stacks {
	REC_STACKS_NONE,
	REC_STACKS_BPF_DEFERRED,
	REC_STACKS_KERNEL_DEFERRED,
	REC_STACKS_BPF_IMMEDIATE,
	REC_STACKS_COPY,   /* unwound while recording */
	REC_STACKS_STORED, /* REGS_USER | STACK_USER in the file */
	REC_STACKS_FP,
	REC_STACKS_LBR,
	REC_STACKS_AUTO, /* asked for only: the best that works here; of an event, the session's */
	NR_REC_STACKS
};

/** User stacks as they are asked for, and with kind settled, as they are recorded. */
struct rec_stack_plan {
	enum rec_stacks kind;
	uint16_t depth; /* frames; 0: the kernel's limit, or ours */
	uint32_t bytes; /* of stack to copy; 0: chosen */
};

/** The most frames of a user stack that are kept. */
static inline uint32_t rec_stack_plan_frames(const struct rec_stack_plan *p)
{
	return p->depth ? p->depth : PERF_DEFERRED_MAX_FRAMES;
}

/** "bpf-deferred", "kernel-deferred", ... */
const char *rec_stacks_name(enum rec_stacks s);

static inline bool rec_stacks_is_bpf(enum rec_stacks s)
{
	return s == REC_STACKS_BPF_DEFERRED || s == REC_STACKS_BPF_IMMEDIATE;
}

/** Are samples rewritten on their way into the file? */
static inline bool rec_stacks_is_rewritten(enum rec_stacks s)
{
	return rec_stacks_is_bpf(s) || s == REC_STACKS_COPY;
}

#endif
