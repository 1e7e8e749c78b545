/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_H
#define RECORD_STACKS_H

#include "record/rec_options.h"

/*
 * Which way user stacks are recorded: --call-graph auto|sframe|fp|dwarf|defer.
 *
 *   auto          the best that works here, in the order of the enum below; says which and why
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
	NR_REC_STACKS
};

const char *rec_stacks_name(enum rec_stacks s);

#endif
