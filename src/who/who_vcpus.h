/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_VCPUS_H
#define WHO_WHO_VCPUS_H

#include "base/map_u64.h"
#include "who/who_fold.h"
#include "who/who_ran.h"

/*
 * Threads of guests, by the switches of their own recordings, which `clew merge` put among the
 * host's: of each virtual CPU a line of runs. Its times are on the host's clock up to a band: that
 * close to a switch nothing is claimed.
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

/** A switch or a loss of records; all else is skipped. CLEW_OK; CLEW_BAD_FILE;
 * CLEW_NO_MEMORY. */
enum clew_err who_vcpus_take(struct who_vcpus *v, const struct who_vcpu *vcpu,
			     const struct perf_record *r, const struct who_ran_stamp *stamp);
/** All was taken. @return false: no memory. */
bool who_vcpus_end(struct who_vcpus *v);
void who_vcpus_done(struct who_vcpus *v);

/** Something ran in [from, to]. */
struct who_vcpu_span {
	struct who_vcpu vcpu;
	struct clew_perf_ns from, to; /* none: unknown */
};

/** The guest's thread. @p ret_until: the answer holds no longer. O(log switches).
 * @return WHO_REASON_NONE, or why it is unknown. */
enum who_reason who_vcpus_find(const struct who_vcpus *v, const struct who_vcpu_span *s,
			       struct who_guest_local_id *ret, struct clew_perf_ns *ret_until);

#endif
