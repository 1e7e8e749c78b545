/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_VCPUS_H
#define WHO_WHO_VCPUS_H

#include "base/map_u64.h"
#include "who/who_fold.h"
#include "who/who_ran.h"

/*
 * Threads of guests, by the switches of their own recordings that `clew merge` put among the host's
 * records: a line of runs per virtual CPU. Its times were converted to the host's clock, and are
 * certain only up to a band; closer than that to a switch the thread is unknown.
 *
 * Spec: attribution.md, sections 10.4 and 11.3.
 */
struct who_vcpus {
	struct map_u64 by_vcpu; /* machine << 32 | vcpu -> lines */
	struct {
		VEC(struct who_fold);
	} lines;
	struct map_u64 bands; /* machine -> ns */
	struct who_run_store *store;
};

/** Takes switches and losses of records, and ignores other records. CLEW_OK; CLEW_BAD_FILE;
 * CLEW_NO_MEMORY. */
enum clew_err who_vcpus_take(struct who_vcpus *v, const struct who_vcpu *vcpu,
			     const struct perf_record *r, const struct who_ran_stamp *stamp);
/** All was taken. @return false: no memory. */
bool who_vcpus_end(struct who_vcpus *v);
void who_vcpus_done(struct who_vcpus *v);

/** A virtual CPU, and the time [from, to] that is asked for. */
struct who_vcpu_span {
	struct who_vcpu vcpu;
	struct clew_perf_ns from, to; /* none: unknown */
};

/** The guest's thread. @p ret_until: when the answer ends. O(log switches).
 * @return WHO_REASON_NONE, or why it is unknown. */
enum who_reason who_vcpus_find(const struct who_vcpus *v, const struct who_vcpu_span *s,
			       struct who_guest_local_id *ret, struct clew_perf_ns *ret_until);

#endif
