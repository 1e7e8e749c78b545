/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_GUEST_H
#define ANALYZE_ANA_GUEST_H

#include "analyze/analyze_impl.h"
#include "who/who_guests.h"

/* Samples of virtual machines. */

/** 0: the host's. */
uint32_t ana_machine_of_record(const struct analyze *a, const struct perf_record *r);
struct who_thread *ana_guest_thread(struct analyze *a, uint32_t machine, uint32_t pid,
				    uint32_t tid);
/** What a level that a thread's records name is on the host. */
static inline enum ana_level ana_level_in(const struct who_thread *t, enum ana_level level)
{
	if (!t || !t->is_guest || (level != ANA_KERNEL && level != ANA_USER))
		return level;
	return level == ANA_KERNEL ? ANA_GUEST_KERNEL : ANA_GUEST_USER;
}
struct who_space *ana_guest_kernel_of(struct analyze *a, const struct who_thread *t);

/* Asked for each sample, and few recordings have guests. */

/** The thread of a sample or record, in @p machine. As who_thread_get(). */
static inline struct who_thread *ana_thread_get(struct analyze *a, uint32_t machine, uint32_t pid,
						uint32_t tid)
{
	return machine ? ana_guest_thread(a, machine, pid, tid) : who_thread_get(a->who, pid, tid);
}

/** Of the kernel of the machine that the thread belongs to or runs. NULL: nothing is known of it.
 */
static inline struct who_space *ana_guest_kernel(struct analyze *a, const struct who_thread *t)
{
	return t && who_guests(a->who)->ids.nr ? ana_guest_kernel_of(a, t) : NULL;
}

#endif
