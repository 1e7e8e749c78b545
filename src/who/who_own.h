/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_OWN_H
#define WHO_WHO_OWN_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "who/who_ran.h"

/*
 * The rule of who_ran for a sample. Its own ids are those of the task that ran (E8), so no history
 * is needed. Spec: ../shared/spec/attribution.md, sections 2, 7 and 10.
 */

/** A sample's own data, and what is known of the recording when it is read. */
struct who_own {
	bool has_ids;
	struct who_local_id pid, tid;
	bool is_user;          /* user code, of the host or a guest */
	enum who_fact is_root; /* N */
	/* Another thread was on its CPU, by records of switches. */
	bool is_contradicted;
	enum who_world world; /* WHO_WORLD_GUEST: the sampled address is the guest's */
	const char *comm;     /* of the thread; NULL: unknown */
	bool has_vcpu;        /* else only the name may say it */
	uint32_t vcpu;
	bool is_of_guest;          /* the guest recorded it itself: ids are of its recording */
	struct who_local_id guest; /* is_of_guest: pid of its host process */
};

void who_answer_own(const struct who_own *o, struct who_answer *ret);

/** The kind of a task with local id 0. @p sleeps: it was not runnable when it left the CPU. */
enum who_kind who_kind_of_zero(enum who_fact is_root, bool is_user, bool sleeps);

/* --- who is on each CPU now, by records of switches of whole CPUs in order of time --- */

struct who_on_cpu {
	struct clew_perf_ns since;
	/* [0] runs; or the CPU switches from [0] to [1] */
	struct who_local_id tids[2], pids[2];
	bool is_known;
};

/** Zeroed: nothing known. */
struct who_on {
	struct map_u64 by_cpu; /* -> cpus */
	struct {
		VEC(struct who_on_cpu);
	} cpus;
};

bool who_on_takes(uint32_t type);
/** @p stamp: its time, CPU and ids count. CLEW_OK; CLEW_BAD_FILE; CLEW_NO_MEMORY. */
enum clew_err who_on_take(struct who_on *o, const struct perf_record *r,
			  const struct who_ran_stamp *stamp);
/** Was another thread on the CPU at that time, which is no earlier than the last record? At the
 * time of a record the CPU is switching. */
bool who_on_contradicts(const struct who_on *o, const struct who_ran_stamp *sample);
void who_on_done(struct who_on *o);

#endif
