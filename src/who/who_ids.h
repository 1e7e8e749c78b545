/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_IDS_H
#define WHO_WHO_IDS_H

#include <stdint.h>

/*
 * Numbers of threads, by the PID namespace that counts them. Each is a type: comparing two of
 * them, or passing one for the other, does not compile. What makes one out of another is a
 * function that says by which proof (who_facts.h).
 */

/** In the machine's initial PID namespace: CONTEXTIDR, raw fields of scheduler tracepoints, what
 * BPF programs read. 0: an idle task. */
struct who_root_id {
	uint32_t n;
};

/** In the namespace of the process that opened the event: all that the kernel writes into records.
 * 0: idle, or a task that this namespace does not contain; -1: dead. Neither is a thread. */
struct who_local_id {
	int32_t n;
};

/** In the namespace of the process that mounted /proc: records a recorder makes from it. */
struct who_procfs_id {
	uint32_t n;
};

/** In a guest's initial PID namespace: CONTEXTIDR_EL1 while it runs. */
struct who_guest_root_id {
	uint32_t n;
};

/** In a guest, as its own recording has it. 0: idle, or outside the namespace of that recorder. */
struct who_guest_local_id {
	uint32_t n;
};

/** A guest's CPU. */
struct who_vcpu {
	uint32_t machine; /* the pid of the process that runs it */
	uint32_t vcpu;
};

static inline struct who_local_id who_local_id_of(uint32_t n)
{
	return (struct who_local_id){(int32_t)n};
}

/** Does it name a thread? */
static inline int who_local_is_thread(struct who_local_id l)
{
	return l.n > 0;
}

#endif
