/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_COUNTERS_H
#define RECORD_OPEN_COUNTERS_H

#include "os/perf/ring.h"
#include "os/poll_set.h"
#include "perfdata/perf_evlist.h"
#include "record/open/ring_again.h"
#include "record/open/target.h"
#include "record/plan/aux_pmu.h"
#include "record/plan/aux_seen.h"
#include "record/plan/event_list.h"
#include "record/plan/kernel_probes.h"

/** What events have counted that another took the place of; of lost samples, how many are in files.
 */
struct rec_before {
	uint64_t lost, count, said;
};

/** One event of the session: its attr as it is opened, and a descriptor for each place. */
struct rec_counter {
	struct perf_attr attr;
	const char *name;
	struct rec_event *event;   /* NULL: added by us (dummy) */
	uint32_t leader;           /* index; its own: leads or stands alone */
	bool is_tracking;          /* the one that brings COMM, MMAP2, ... */
	bool is_enabled_at_open;   /* counts from its opening on, whatever else is off */
	int refused;               /* counting: the -errno of an event that this machine has not */
	bool is_on;                /* switched on; of a group's member: while its leader is */
	const struct aux_pmu *aux; /* NULL: it writes no AUX area */
	bool keeps_regs;           /* user registers were asked for, not only for the stack */
	enum rec_stacks stacks;    /* how its user stacks are read */
	int cgroup_fd;             /* -1: none */
	struct rec_ints cpus;      /* empty: all of the target's */
	int *fds;                  /* [place]; -1: not open */
	uint64_t *ids;             /* [place]: as the file has them */
	struct rec_before *before; /* [place] */
	uint32_t probe_id;         /* probe_defs.h: the tracepoint that it is opened as; 0: none */
	const char *probe_name;
	int keep_fd; /* probe_keep.h; -1: none */
};

struct rec_ring {
	struct os_ring ring;
	const struct rec_counter *owner; /* the AUX event where there is one */
	size_t place;                    /* of its event */
	size_t from, to;                 /* places: their events write into it */
	int fd;
	int cpu;           /* -1: follows a task */
	int tid;           /* -1: all tasks of the CPU */
	int poll;          /* index in the poll set */
	size_t next_owner; /* which event of its places to wait on when that one ends */
	bool is_backward;
	struct rec_aux_seen aux_seen;
	struct ring_again again;
};

/** All counters of a session. A place is one (CPU, task): index cpu * nr_tids + tid. */
struct rec_counters {
	struct arena memory;
	const struct rec_target *target;
	struct rec_event_list *events; /* borrowed; fallbacks change them */
	struct rec_features features;
	struct {
		VEC(struct rec_counter);
	} list;
	struct {
		VEC(struct rec_ring);
	} rings;
	size_t nr_places;
	size_t data_bytes;        /* of each ring */
	uint64_t tracked_from_ns; /* perf time: since then, at the latest, all side-band of all CPUs
				     is recorded; 0: unknown */
	bool is_held;             /* traces stand still, whether they are on or not */
	uint64_t soft_bytes;      /* of trace that we wrote ourselves (record/soft) */
	bool is_counting, is_verbose; /* nothing is sampled; say why an event is not counted */
	bool has_backward;            /* some events are overwritten: rings of their own */
	const char *tracefs;          /* where probes were defined; static text */
};

/** Make the counters from what the user named: what each sample holds, who tracks tasks, when it
 * starts. @return CLEW_INVALID with a sentence where options contradict; CLEW_NO_MEMORY. */
enum clew_err rec_counters_build(struct rec_counters *c, struct rec_event_list *events,
				 const struct rec_options *o, const struct rec_target *target,
				 struct rec_error *error);

/**
 * Open every counter at every place. Where the kernel refuses an event that has a substitute, that
 * is opened, with a note: cpu-clock for cycles without a PMU; user mode alone where the kernel may
 * not be sampled. Tasks that ended are skipped. @return CLEW_OS with a message.
 */
enum clew_err rec_counters_open(struct rec_counters *c, const struct rec_ui *ui,
				struct rec_error *error);

/** What @p e has counted at each place. Counting only; a place of a group's leader is read at once,
 * for all of its members. @p ret: [event * nr_places + place], as many as there are; 0 where the
 * event is not open. */
struct rec_count {
	uint64_t value, enabled_ns, running_ns;
};
enum clew_err rec_counters_read(const struct rec_counters *c, struct rec_count *ret);

/** Map one ring a CPU (or a task), send all events there, and apply filters. */
enum clew_err rec_counters_map(struct rec_counters *c, const struct rec_options *o,
			       struct rec_error *error);

/** Apply filters at the places [from, to); rec_counters_map() does. */
enum clew_err rec_counters_filter(const struct rec_counters *c, size_t from, size_t to,
				  struct rec_error *error);

/**
 * After the events of a CPU-wide recording are open: find tracked_from_ns. The clock of perf cannot
 * be read everywhere, so we make a COMM record of ourselves and take its time.
 */
void rec_counters_mark(struct rec_counters *c);

/** May we lock as much memory as we like? */
bool rec_may_lock_memory(void);

struct rec_refusal;
/** The sentence for a refused call on @p e at @p place; @p r says which, and its -errno. */
enum clew_err rec_counter_refuse(const struct rec_counters *c, const struct rec_counter *e,
				 size_t place, struct rec_refusal r, struct rec_error *error);

/** The tracepoint that @p e is for the kernel; 0: none. */
uint64_t rec_counter_tracepoint(const struct rec_counter *e);

/** Does the event that brings the MMAP2 records want build ids in them? */
bool rec_counters_want_build_ids(const struct rec_counters *c);

/** For the file: attrs, names and ids. */
enum clew_err rec_counters_evlist(const struct rec_counters *c, struct perf_evlist *ret);

/** Start or stop those counters that are not immediate. @p name: only events of that name, NULL:
 * all. @return how many events that was. */
size_t rec_counters_switch(struct rec_counters *c, const char *name, bool is_on);

/** Stop the traces that run (an area is then complete up to its head), or let them continue: such
 * as are on by then. Triggers follow them. */
void rec_counters_hold_traces(struct rec_counters *c, bool is_held);

/** Is @p e a trace that is switched on? */
bool rec_counter_traces(const struct rec_counters *c, const struct rec_counter *e);

/** Is any? */
bool rec_counters_trace(const struct rec_counters *c);

/** Switch the traces that write into the area of @p r off and on: after it was full. */
void rec_counters_restart(const struct rec_counters *c, const struct rec_ring *r);

/** Samples the kernel dropped since the start, as each counter reports. Needs PERF_FORMAT_LOST. */
struct rec_lost {
	uint64_t id, lost;
};
bool rec_counters_lost(const struct rec_counters *c, size_t counter, size_t place,
		       struct rec_lost *ret);

/** How often the events that take a snapshot have happened, in children too: as they are read. */
uint64_t rec_counters_triggers(const struct rec_counters *c);

void rec_counters_done(struct rec_counters *c);

/* attrs.c */
void rec_attr_setup(struct perf_attr *attr, const struct rec_event *event,
		    const struct rec_options *o, const struct rec_target *target);
/** For counting: no sampling, and what is read has times and ids. @p is_grouped: with its group. */
void rec_attr_count(struct perf_attr *attr, const struct rec_event *event,
		    const struct rec_options *o, const struct rec_target *target, bool is_grouped);
void rec_attr_track(struct perf_attr *attr, const struct rec_options *o);
/** The event's own call-graph term, else the session's choice. */
enum rec_stacks rec_stacks_of(const struct rec_event *e, const struct rec_options *o);
/** As the file has it: however the user stacks were read, samples look like the kernel's deferred
 * ones. @p has_deferred: some event's stacks come in separate records. */
void rec_attr_of_file(struct perf_attr *attr, enum rec_stacks stacks, bool keeps_regs,
		      bool is_tracking, bool has_deferred);

#endif
