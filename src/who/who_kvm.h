/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_KVM_H
#define WHO_WHO_KVM_H

#include "who/who_ran.h"
#include "who/who_runs.h"

/*
 * Host or guest, by samples of kvm_entry and kvm_exit on one CPU. From before the entry until after
 * the exit preemption is off, so that user code in between is the guest's; code after an exit and
 * before the next entry is the host's. Kernel code near both samples is the host's, too.
 *
 * Entries and exits alternate. Where they do not, or records were lost, nothing is claimed; nor
 * before the first sample and after the last one, as one of both events may be disabled.
 *
 * Spec: attribution.md, sections 10.2 and 10.3; Linux arch/arm64/kvm/arm.c, arch/x86/kvm.
 */
struct who_kvm {
	struct who_runs runs; /* kind THREAD: id is that of who_kvm_take() */
	bool has_state, has_begun;
	struct who_local_id state; /* since then: */
	struct clew_perf_ns since;
};

/* In the order of the CPU's ring. Each returns false: no memory. */

/** @p id: 0: an exit; else an entry, by that thread of the host; -1: it is unknown. */
bool who_kvm_take(struct who_kvm *k, struct clew_perf_ns time, struct who_local_id id);
/** What is known ends at @p from; from then on nothing is until the next sample. */
bool who_kvm_break(struct who_kvm *k, struct clew_perf_ns from);
/** All was taken. */
bool who_kvm_end(struct who_kvm *k);
void who_kvm_done(struct who_kvm *k);

#endif
