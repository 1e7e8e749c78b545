/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_FOLD_H
#define WHO_WHO_FOLD_H

#include "who/who_runs.h"

/*
 * The switch records of one CPU, in the order of its ring, become runs. Both directions of a switch
 * say the same: either makes up for the other. Where records contradict each other, or some were
 * lost, nothing is claimed.
 *
 * Spec: attribution.md, sections 3.2 to 3.6 and 5.
 */

struct who_fold {
	struct who_runs runs;
	bool has_last, has_cur, has_out, has_next, has_point, is_pending;
	bool has_switches; /* any at all */
	bool has_begin;
	struct clew_perf_ns begin; /* has_begin: from here on all was recorded, if not lost */
	struct clew_perf_ns last;  /* record */
	struct clew_perf_ns since; /* nothing is known from here on, as yet */
	struct who_local_id cur;   /* runs since cur_since */
	struct clew_perf_ns cur_since;
	struct who_local_id out, next; /* has_out: the switch from out to next (has_next) began at
					  out_time */
	struct clew_perf_ns out_time;
	struct who_local_id point; /* of the last ITRACE_START; */
	bool is_since_point;       /* it is what since is of */
	/* sched_switch */
	bool has_sched, has_cur_root; /* a sample stands since the last switch began; cur's root id
					 by the sample before it */
	struct who_root_id sched_prev, sched_next, cur_root;
	struct clew_perf_ns sched_time;
};

/** Before the first record. */
static inline void who_fold_begin(struct who_fold *f, struct clew_perf_ns begin)
{
	f->has_begin = true;
	f->begin = begin;
}

/** An OUT: @p from stops; @p next NULL: it does not say what follows. */
struct who_fold_out {
	struct who_local_id from;
	const struct who_local_id *next;
	bool is_preempt;
};

struct who_fold_in {
	struct who_local_id to;
	const struct who_local_id *prev;
};

/* Each returns false: no memory. */
bool who_fold_out(struct who_fold *f, struct clew_perf_ns time, const struct who_fold_out *o);
bool who_fold_in(struct who_fold *f, struct clew_perf_ns time, const struct who_fold_in *i);
bool who_fold_lost(struct who_fold *f, struct clew_perf_ns time);
/** ITRACE_START of events of a whole CPU. */
bool who_fold_start(struct who_fold *f, struct clew_perf_ns time, struct who_local_id tid);
bool who_fold_sched(struct who_fold *f, struct clew_perf_ns time, struct who_root_id prev,
		    struct who_root_id next);
/** Any other record of the CPU's ring. */
bool who_fold_other(struct who_fold *f, struct clew_perf_ns time);
/** All was taken. */
bool who_fold_end(struct who_fold *f);
void who_fold_done(struct who_fold *f);

#endif
