/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_EVENT_LIST_H
#define RECORD_PLAN_EVENT_LIST_H

#include <clew/err.h>

#include "base/arena.h"
#include "base/vec.h"
#include "perfdata/perf_abi.h"
#include "record/plan/aux_pmu.h"
#include "record/plan/rec_error.h"
#include "record/plan/stacks.h"

/**
 * One event as the user spelled it, ready for perf_event_open() but for what the session decides
 * (-F, -c, -g, target).
 *
 * attr holds type, config*, bp_*, exclude_*, precise_ip, pinned, exclusive, and what terms set:
 * sample_max_stack, branch_sample_type, aux_*. attr.sample_period is non-zero for kinds that
 * sample every occurrence by default (tracepoints, breakpoints, probes, bpf-output): without
 * has_period only an explicit -c or -F overrides it. attr.sample_type holds the bits the kind
 * always has (RAW, TIME, CPU, PERIOD of tracepoints), to which the session adds its own.
 */
struct rec_event {
	struct perf_attr attr;
	const char *name; /* as perf would call it: "cycles:u", "sched:sched_switch",
			     "cpu/event=0x3c/" */
	uint32_t leader;  /* index of the group's leader; its own index: leads or stands alone */
	bool has_period, has_freq; /* set by a term: -F and -c leave it alone */
	bool has_stacks; /* call-graph= or max-stack= term: stacks counts, not the session's */
	bool has_time_term, wants_time; /* time=0|1 */
	const char *group_name;         /* of a leader: "grp{a,b}"; NULL: none */
	const char *pmu;                /* sysfs name, "intel_pt"; NULL: a generic event */
	const struct aux_pmu *aux; /* the kind of trace it writes into an AUX area; NULL: none */
	bool is_spread; /* one of several, one a kind of cores: the chosen CPUs may have none of it
			 */
	bool is_tracepoint;
	const char *tp_system, *tp_name; /* tracepoints */
	uint32_t tp_id;
	const char *filter;      /* --filter, as the kernel takes it, set by rec_events_filter();
				    NULL: none */
	const char *filter_note; /* a message on it; NULL: none */
	bool filters_user, filters_kernel; /* of a trace: addresses there */
	enum rec_stacks stacks;            /* NONE, FP, COPY, LBR, or AUTO: as the session's */
	uint32_t stack_bytes;              /* stack-size= of call-graph=dwarf; 0: the session's */
	bool is_precise_max;               /* P: precise_ip is 3 and may go down to 0 */
	bool wants_read; /* S: samples carry the counts of the group (PERF_SAMPLE_READ) */
	bool is_weak;    /* W: may leave its group when the group is refused */
	bool has_world;  /* G or H was spelled */
	bool has_inherit, wants_inherit;     /* inherit, no-inherit */
	bool has_overwrite, wants_overwrite; /* overwrite, no-overwrite */
	uint64_t max_events;                 /* nr=: stop after so many; 0: no limit */
	uint64_t per_cpu_config;             /* bits of attr.config that are on by default, for
						rings that several threads write into */
	bool takes_snapshot;                 /* each occurrence asks for a snapshot of the traces */
	double scale;                        /* what one count stands for, as sysfs says; 0: 1 */
	const char *unit;                    /* of that: "Joules"; NULL: none */
	const char *cpus; /* the PMU's cpumask or cpus file, such as "0" or "0-3"; NULL: any CPU */
	const char *probe_path,
		*probe_symbol; /* uprobe file / kprobe function: the one that is
				  set is pointed to by attr.config1 when opened;
				  both NULL with a kprobe: attr.config2 is the address */
};

/** Zeroed = empty. The paths are for tests: where to look instead of /sys and the mounted tracefs.
 */
struct rec_event_list {
	struct arena memory;
	const char *sysfs, *tracefs, *kallsyms; /* borrowed; NULL: the system's */
	struct {
		VEC(struct rec_event);
	} events;
	bool has_noted_user_only; /* rec_event_fall_back() has said so once */
	size_t last_argument;     /* the first event that the last -e added */
};

/**
 * Add what one -e argument names. Events that act on a trace (aux-action=pause, aux-output, ...)
 * join the group of the last trace before them, of this argument or an earlier one.
 *
 * @return CLEW_OK; CLEW_INVALID: not a spelling; CLEW_NOT_FOUND: nothing of that name here;
 *         CLEW_OS: the description cannot be read; CLEW_NO_MEMORY. On failure the list is as it
 *         was, and @p error (NULL is fine) says why, where (pos), and what to try: "no event
 *         'cyles'; did you mean 'cycles'?"
 */
enum clew_err rec_events_parse(struct rec_event_list *list, const char *text,
			       struct rec_error *error);

/**
 * --filter: applies to all events of the last -e, which must be tracepoints or traces. A
 * tracepoint's text is checked for the fields it names where the format is at hand, else left to
 * the kernel. A trace's are addresses: symbols are resolved, and each --filter adds to those
 * before.
 */
enum clew_err rec_events_filter(struct rec_event_list *list, const char *text,
				struct rec_error *error);

/*
 * Options that name events, after all -e. @p program: the file that is run; NULL: none. @p text: as
 * -e takes it, with a ':' in it, or the name of a function of that file. On failure events may have
 * been added.
 */

/** --trigger: each occurrence takes a snapshot of the traces. */
enum clew_err rec_events_trigger(struct rec_event_list *list, const char *program, const char *text,
				 struct rec_error *error);

/** --trace-between: "START,STOP": the last trace starts paused, START resumes and STOP pauses it.
 */
enum clew_err rec_events_between(struct rec_event_list *list, const char *program, const char *text,
				 struct rec_error *error);

/** --trace-function: there is a soft_pt, or it is added. @p program as above: a name that stands
 * for several of its functions is refused. */
enum clew_err rec_events_function(struct rec_event_list *list, const char *program,
				  const char *text, struct rec_error *error);

/** --aux-sample: all events after a trace have its newest @p bytes in their samples. */
enum clew_err rec_events_sample_aux(struct rec_event_list *list, uint32_t bytes,
				    struct rec_error *error);

/** Does any write a trace into an AUX area (Intel PT, CoreSight, SPE, ...)? */
static inline bool rec_events_have_trace(const struct rec_event_list *list)
{
	vec_for_each (&list->events, e)
		if (e->aux)
			return true;
	return false;
}

/** What is recorded without -e: cycles, as precisely as the CPU can. */
enum clew_err rec_events_default(struct rec_event_list *list);

/**
 * perf_event_open() refused @p event with @p os_errno: change it to the next best that perf would
 * try. Lower precision (P), cycles -> cpu-clock without a hardware PMU, user space only where
 * kernel.perf_event_paranoid forbids the kernel; the name follows.
 *
 * @param ret_note a sentence for the user in the list's memory, or NULL where the change needs no
 *        word.
 * @return whether @p event changed and is worth another try.
 */
bool rec_event_fall_back(struct rec_event_list *list, struct rec_event *event, int os_errno,
			 const char **ret_note);

/** For `clew list`: every event this machine names, kind by kind, each sorted. @p kind and
 * @p what are words for people ("software event", "context-switches or cs"). Stops when @p each
 * returns other than CLEW_OK, and returns that. Tracepoints are omitted where tracefs cannot be
 * read. */
enum clew_err rec_events_list(enum clew_err (*each)(void *ctx, const char *name, const char *kind,
						    const char *what),
			      void *ctx);

void rec_events_done(struct rec_event_list *list);

#endif
