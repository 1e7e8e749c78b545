/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_DEFER_JOIN_H
#define RECORD_STACKS_DEFER_JOIN_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_deferred.h"
#include "record/stacks/bpf/defer_bpf.h"

struct defer_join_queue;

/**
 * Which request belongs to which sample. Both are made in the same interrupt, on two ways: the
 * request first. They are of the same CPU, event and task, and the request's time is the sample's
 * or a little before. What is not certain is PERF_NO_STACK_UNMATCHED: a sample may miss its cookie,
 * but never gets another's.
 *
 *  - Times that are equal to the nanosecond prove it: an event does not happen twice then on one
 *    CPU. Where that is demanded, or where an event's times have been equal so far, nothing else is
 *    accepted.
 *  - Otherwise it is the newest request that is no later than the sample and is later than the
 *    sample before; and only while nothing was lost in between, on either way.
 *  - Between the program of a uprobe and its sample the task may be moved to another CPU. It is the
 *    newest request of the task itself then (defer_join_by_task()); only while none was lost.
 */
struct defer_join {
	struct defer_join_queue *queues; /* [cpu * nr_events + event] */
	uint32_t nr_cpus, nr_events;
	struct map_u64 waiting; /* tid -> cookie of a stack that has not come */
	struct map_u64 wanted;  /* cookies of samples, until their stacks are written */
	struct map_u64 done[2]; /* cookies of stacks that came in this pass, in the one before */
	bool wants_all;
	uint64_t nr_matched, nr_unmatched, nr_reasons[8]; /* reasons: by enum perf_no_stack */
};

/** @return false: out of memory. */
bool defer_join_init(struct defer_join *j, uint32_t nr_cpus, uint32_t nr_events);
void defer_join_done(struct defer_join *j);

/** The requests of @p event carry their samples' times: others are never accepted. */
void defer_join_demand_equal(struct defer_join *j, uint32_t event);

/** Requests of @p event and its samples are made by the task, one after the other, not at once. */
void defer_join_by_task(struct defer_join *j, uint32_t event);

/** In the order of each CPU. @return false: out of memory; the request is then ignored. */
bool defer_join_request(struct defer_join *j, const struct defer_request *r);

/** A sample of the rings, in the order of each CPU. @return its cookie, or why there is none
 * (perf_no_stack_cookie()). */
uint64_t defer_join_sample(struct defer_join *j, uint32_t cpu, uint32_t event, uint32_t tid,
			   uint64_t time);

/** Is a request there that defer_join_sample() could take? If not, it may be on its way: a record
 * of BPF's ring is hidden by one that another CPU is still writing. */
bool defer_join_is_ready(const struct defer_join *j, uint32_t cpu, uint32_t event, uint32_t tid,
			 uint64_t time);

/** Samples of @p cpu were lost between the one before and the next. */
void defer_join_lost_samples(struct defer_join *j, uint32_t cpu);
/** Requests were lost, none later than @p time. */
void defer_join_lost_requests(struct defer_join *j, uint64_t time);

/** Has a sample this cookie? Each cookie is asked about until the first yes. */
bool defer_join_is_wanted(struct defer_join *j, uint64_t cookie);

/** A stack has come; its requests and samples may still follow. */
void defer_join_stack(struct defer_join *j, uint32_t tid, uint64_t cookie);
/** Tasks that were asked for a stack and have given none so far. */
size_t defer_join_nr_waiting(const struct defer_join *j);

/** All samples of this pass were given: requests of the pass before will not find theirs any more,
 * and are dropped. Except the newest of a task (by task) or of a CPU (equal times demanded): its
 * sample may not be made yet. */
void defer_join_end_pass(struct defer_join *j);

#endif
