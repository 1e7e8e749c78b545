/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_FIT_EDGES_H
#define MERGE_FIT_EDGES_H

#include <clew/err.h>

#include "base/search.h"
#include "base/vec.h"

/*
 * What the clocks of a host and of a guest are compared by: when the guest's virtual CPUs were able
 * to run, and when their kernels went idle and left idle. Times are in one unit on both sides
 * (ticks or ns), signed, from a base of the caller's, so that sums of two fit.
 */

enum { FIT_TIME_BITS = 52 };

/** Is it small enough to be a time here? Doubles and products of two are then exact. */
static inline bool fit_time_fits(int64_t t)
{
	return t < (int64_t)1 << FIT_TIME_BITS && t > -((int64_t)1 << FIT_TIME_BITS);
}

struct fit_times {
	VEC(int64_t); /* sorted */
};

/** Index of the first time at or after @p t; .nr: none. */
static inline size_t fit_first_at(const struct fit_times *times, int64_t t)
{
	return search_first(times->nr, i, times->data[i] >= t);
}

struct fit_stay {
	int64_t in, out; /* both inside */
};

struct fit_stays {
	VEC(struct fit_stay); /* sorted */
};

/** The guest's thread on a virtual CPU, as the host's trace has it: CONTEXTIDR_EL1. */
struct fit_id {
	int64_t at;
	uint32_t id;
};

struct fit_ids {
	VEC(struct fit_id); /* sorted by at */
};

/** ... as the guest's switches have it: not before the switch to it, nor after the one from it. */
struct fit_id_run {
	int64_t from, to;
	uint32_t id;
};

struct fit_id_runs {
	VEC(struct fit_id_run); /* sorted */
};

/** A vcpu's thread on the host. */
struct fit_host_lane {
	uint32_t vcpu, tid;
	uint32_t cpu;            /* where it ran last */
	struct fit_times wakes;  /* IN after it had blocked */
	struct fit_times sleeps; /* OUT because it blocks */
	struct fit_stays stays;  /* on a CPU */
	struct fit_ids ids;
	struct fit_stays moves; /* when it may have been on another CPU than before, or on none */
	int64_t in;             /* the stay that is open */
	int64_t last;           /* has_last: the last switch, or since when some may be missing */
	bool is_in, has_slept, has_last, has_lost;
};

/** A CPU as its guest sees it. */
struct fit_guest_lane {
	uint32_t vcpu;
	struct fit_times idle_outs; /* the idle task gives way */
	struct fit_times idle_ins;  /* switch to the idle task */
	struct fit_times events;    /* anything: it ran then */
	struct fit_id_runs runs;
	/* The switch that is under way: from a run that lacks its end, to one that begins */
	bool has_run, has_left, has_next;
	struct fit_id_run run, left, next;
};

struct fit_host {
	struct {
		VEC(struct fit_host_lane);
	} lanes;
	struct fit_stays holes; /* records of some CPU were lost; sorted by in */
};

struct fit_guest {
	struct {
		VEC(struct fit_guest_lane);
	} lanes;
};

/** The lane, made where there is none. NULL: out of memory. */
struct fit_host_lane *fit_host_lane(struct fit_host *h, uint32_t vcpu, uint32_t tid);
struct fit_guest_lane *fit_guest_lane(struct fit_guest *g, uint32_t vcpu);

/* In time order for each lane. @return CLEW_NO_MEMORY. */
enum clew_err fit_host_in(struct fit_host_lane *l, int64_t t);
/** @p blocks: OUT without PREEMPT. */
enum clew_err fit_host_out(struct fit_host_lane *l, int64_t t, bool blocks);
/** A switch to or from it on @p cpu. */
enum clew_err fit_host_seen(struct fit_host_lane *l, int64_t t, uint32_t cpu);
/** Records of any CPU were lost since @p t. */
void fit_host_unseen(struct fit_host_lane *l, int64_t t);
/** Records of its CPU were lost: when the stay that is open ends is unknown. */
void fit_host_lost(struct fit_host_lane *l);
/** @p is_idle: the thread that is switched is the idle task. */
enum clew_err fit_guest_switch(struct fit_guest_lane *l, int64_t t, bool is_out, bool is_idle);
/** The same switch: @p other is the thread that follows, or that was before. */
enum clew_err fit_guest_ids(struct fit_guest_lane *l, int64_t t, bool is_out, uint32_t own,
			    uint32_t other);
/** Its records were lost. */
void fit_guest_lost(struct fit_guest_lane *l);
enum clew_err fit_guest_event(struct fit_guest_lane *l, int64_t t);

void fit_host_done(struct fit_host *h);
void fit_guest_done(struct fit_guest *g);

#endif
