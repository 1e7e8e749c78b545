/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_INTERVALS_H
#define ANALYZE_ANA_INTERVALS_H

#include <clew/err.h>
#include <clew/time.h>

#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"

/*
 * When an AUX event traced, by the samples of the events that pause and resume it
 *(attr.aux_action): the kernel pauses before it writes a pause's sample, and resumes after it has
 *written a resume's, so that [resume sample, pause sample] contains the trace. The state is a bit:
 *a second resume does nothing, and one pause ends both.
 *
 * In order of time:
 *
 *	ana_intervals_resume(&x, of, t1), ana_intervals_aux(...), ana_intervals_pause(&x, of, t2)
 *	ana_intervals_close(&x)
 *	ana_intervals_payload(&x, ...)   for each time that the trace itself has
 *	ana_intervals_outcome(&x, &x.all.data[i])
 *
 * Spec: aux_action in perf_event_open(2); kernel/events/core.c, __perf_event_aux_pause() (Linux
 * 7.3).
 */

enum {
	ANA_TRACED_NONE = UINT32_MAX, /* no such event, thread, CPU, interval */
	ANA_TRACED_MAX = 1 << 20,
	ANA_INTERVALS_MAX = 1 << 22,
	/* What trace may be late by, and what an interval without trace has to last. */
	ANA_INTERVAL_SLACK_NS = 1000000,
};

enum ana_interval_end { ANA_INTERVAL_RUNS, ANA_INTERVAL_PAUSED, ANA_INTERVAL_EXITED };

struct ana_interval {
	struct clew_perf_ns from, to; /* from 0: since tracing began; to: none: still running */
	uint32_t traced;              /* index of traced */
	uint32_t older;               /* of the same; before ana_intervals_close() */
	uint8_t end;                  /* enum ana_interval_end */
	bool has_bytes;               /* AUX records describe trace that may be of it */
	bool is_truncated;            /* one of them ended at a full buffer */
	bool is_described;            /* they reach to its end */
	bool has_payload;             /* trace with a time in it */
	/* The newest trace after it, and before the next; 0: none. */
	struct clew_perf_ns after;
};

/** What has one state: an AUX event on a CPU, of a thread, or (inherited) of a thread on a CPU. */
struct ana_traced {
	uint32_t aux_event; /* index of the event; ANA_TRACED_NONE: unknown */
	uint32_t tid, cpu;  /* ANA_TRACED_NONE: any */
	bool is_on, has_payload;
	bool is_omitted;               /* tracing is on in an interval that had no room */
	bool is_disordered;            /* its AUX records came late: they prove nothing */
	uint32_t newest;               /* interval; before ana_intervals_close() */
	uint32_t next_on, previous_on; /* of the same thread and AUX event, while it is on */
	struct clew_perf_ns described_to;
	uint64_t nr_resumes, nr_pauses;
	uint64_t nr_unpaired; /* of these: found the state as they would have set it */
	/* Of these: pauses on another CPU than that where the thread was resumed. */
	uint64_t nr_elsewhere;
	uint64_t first, nr; /* closed: intervals [first, first + nr) */
	uint64_t sum_ns;    /* closed: of them; up to the last time where one still runs */
};

struct ana_intervals {
	struct map_u64 by_key;
	struct map_u64 on; /* thread and AUX event -> the first traced that is on */
	struct {
		VEC(struct ana_traced);
	} traced;
	struct {
		VEC(struct ana_interval);
	} all;
	struct {
		VEC(uint32_t);
	} aux_events;             /* of traced */
	struct clew_perf_ns last; /* the latest time that was given */
	bool has_running;         /* some AUX event does not start paused */
	bool is_snapshot;         /* AUX records do not say how much was written */
	/* Of the first trigger or interval without room; 0: none. What comes later is unknown. */
	struct clew_perf_ns omitted_from;
	uint64_t nr_lost;    /* records: triggers may be among them */
	uint64_t nr_omitted; /* triggers: over a limit */
	uint64_t nr_payload; /* times of trace that were given */
	uint64_t nr_outside; /* of these: in no interval */
	struct budget_account account;
};

/** The state of @p aux_event for @p tid and @p cpu; made where it is new. *ret ANA_TRACED_NONE:
 * over a limit. @return false: no memory. */
bool ana_intervals_of(struct ana_intervals *x, uint32_t aux_event, uint32_t tid, uint32_t cpu,
		      bool starts_paused, uint32_t *ret);
/** The same, but never made. */
uint32_t ana_intervals_find(const struct ana_intervals *x, uint32_t aux_event, uint32_t tid,
			    uint32_t cpu);

/** Samples of triggers. @return false: no memory. */
bool ana_intervals_resume(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time);
void ana_intervals_pause(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time);
/** The thread ended: all of its states are gone. */
void ana_intervals_exit(struct ana_intervals *x, uint32_t tid, struct clew_perf_ns time);
/** An AUX record: @p has_bytes, with PERF_AUX_FLAG_TRUNCATED @p is_truncated. */
void ana_intervals_aux(struct ana_intervals *x, uint32_t of, struct clew_perf_ns time,
		       bool has_bytes, bool is_truncated);

/** All is there: sort by traced and time. */
void ana_intervals_close(struct ana_intervals *x);

/** Trace of @p tid on @p cpu ran at @p time. @return false: outside of every interval. */
bool ana_intervals_payload(struct ana_intervals *x, uint32_t tid, uint32_t cpu,
			   struct clew_perf_ns time);
/** The same question, without noting that trace ran. */
bool ana_intervals_has(const struct ana_intervals *x, uint32_t tid, uint32_t cpu,
		       struct clew_perf_ns time);

enum ana_interval_outcome {
	ANA_INTERVAL_GOOD,     /* as far as the recording shows */
	ANA_INTERVAL_RAN_ON,   /* a pause was lost: trace ran after it */
	ANA_INTERVAL_NO_TRACE, /* a resume was lost: nothing was traced until the pause */
	ANA_INTERVAL_FULL,     /* nothing was traced: the buffer was full */
	NR_ANA_INTERVAL_OUTCOMES
};
enum ana_interval_outcome ana_intervals_outcome(const struct ana_intervals *x,
						const struct ana_interval *i);

/** Was trace with times decoded? Else it is unknown whether pauses were lost. */
static inline bool ana_intervals_sees_pauses(const struct ana_intervals *x)
{
	return x->nr_payload > 0;
}

struct ana_intervals_totals {
	uint64_t nr_triggers, nr_unpaired, nr_elsewhere, nr_intervals, nr_running, sum_ns;
	uint64_t by_outcome[NR_ANA_INTERVAL_OUTCOMES];
};
/** Closed. O(n). */
struct ana_intervals_totals ana_intervals_totals(const struct ana_intervals *x);
void ana_intervals_done(struct ana_intervals *x);

#endif
