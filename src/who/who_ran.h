/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_RAN_H
#define WHO_WHO_RAN_H

#include <clew/time.h>

#include "base/security.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_who_facts.h"
#include "who/who_ids.h"

/*
 * Who ran: (a record, its CPU, its time or position) -> the thread, the machine, and by which
 * evidence; or why that is unknown. One rule for samples, SPE, ETM and PT.
 *
 *   1. who_ran_take() each side-band record, in the order in which each ring has them;
 *      who_ran_close() once all were taken.
 *   2. who_ran_note() each record of trace that is cheap to have: facts about the whole recording
 *      come from them. Any number of threads, each into its own notes, in any order: the sum is
 *      the same. who_ran_settle() ends that.
 *   3. who_ran_ask() for each record. Any number of threads, each with its own cursor.
 *
 * Spec: ../shared/spec/attribution.md.
 */

/** What an answer stands on. Printed by who_evidence_name(). */
enum who_evidence {
	WHO_BY_NOTHING,
	WHO_BY_CONTEXT,         /* a context packet: a root id */
	WHO_BY_AUX,             /* the AUX record that these bytes belong to, of events of a task */
	WHO_BY_QUEUE,           /* the ring of one thread */
	WHO_BY_SWITCH,          /* between a switch to it and one from it */
	WHO_BY_SWITCH_BACKWARD, /* before the first switch from it */
	WHO_BY_SCHED_SWITCH,    /* samples of sched:sched_switch: a root id */
	WHO_BY_LANDMARK,        /* cpu_switch_to in a trace of the kernel */
	WHO_BY_ITRACE_START,    /* ... by a thread that was dead: it ran when the trace began */
	WHO_BY_SAMPLE,          /* the record's own ids */
	WHO_BY_DERIVED,         /* a root id that was seen only where one local id ran */
	WHO_NR_EVIDENCE
};

enum who_kind {
	WHO_TASK,
	WHO_IDLE,            /* the CPU's idle task: proven */
	WHO_OUTSIDE,         /* a task that the recorder's PID namespace does not contain: proven */
	WHO_IDLE_OR_OUTSIDE, /* one of both */
	WHO_UNKNOWN,
	WHO_NR_KINDS
};

/** Why it is unknown: the first that applies. */
enum who_reason {
	WHO_REASON_NONE,
	WHO_NO_EVIDENCE,     /* no context, no switch records of this CPU, no ring of a thread */
	WHO_BEFORE_FIRST,    /* before the first evidence of this CPU */
	WHO_LOST,            /* where records were lost */
	WHO_SWITCHING,       /* while the CPU switches from one thread to the next */
	WHO_NO_CLOCK,        /* nothing says how ticks become perf's time */
	WHO_CLOCK_UNTRUSTED, /* ... and what says so is wrong */
	WHO_CLOCK_CONFLICT,  /* its time and its place exclude each other */
	WHO_CONFLICT,        /* two exact facts disagree */
	WHO_DEAD,            /* the id was -1, and nothing else names it */
	WHO_REUSE_UNSEEN,    /* the id is known, the thread is not */
	WHO_WORLD,           /* host or guest */
	WHO_GUEST_THREAD,    /* the guest is known, its thread is not */
	WHO_DAMAGED,         /* the record ends before the packet that would say it */
	WHO_NR_REASONS
};

const char *who_evidence_name(enum who_evidence e);
const char *who_kind_name(enum who_kind k);
const char *who_reason_name(enum who_reason r);

enum who_level {
	WHO_EL0,
	WHO_EL1,
	WHO_EL2,
	WHO_EL3,
	WHO_LEVEL_UNKNOWN,
	WHO_X86_USER, /* of answers alone: who_ran takes EL0 and EL1 for these */
	WHO_X86_KERNEL,
};
/** "EL0", ...; NULL: unknown. */
const char *who_level_name(enum who_level l);
/** NULL: non-secure, as nearly all is, or unknown. */
const char *who_security_name(enum arm_security s);

/** Whether a guest ran, or who decides it. */
enum who_world {
	WHO_WORLD_HOST,
	WHO_WORLD_GUEST,
	WHO_WORLD_UNKNOWN, /* the caller cannot decide: a guest if the thread may run one */
	WHO_WORLD_OF_SPE,  /* who_ran decides, by levels and contexts of SPE records */
};

enum who_question_has { /* who_question.has */
			WHO_Q_CPU = 1 << 0,
			WHO_Q_QUEUE = 1 << 1,       /* the ring is of one thread */
			WHO_Q_OWNER = 1 << 2,       /* the AUX record that holds it has an owner */
			WHO_Q_CONTEXT_EL1 = 1 << 3, /* CONTEXTIDR_EL1, as the trace has it here */
			WHO_Q_CONTEXT_EL2 = 1 << 4,
			WHO_Q_TICKS = 1 << 5,
			WHO_Q_FROM = 1 << 6, /* of the chunk: see below */
			WHO_Q_TO = 1 << 7,
			WHO_Q_LANDMARK = 1 << 8,
			WHO_Q_DAMAGED = 1 << 10, /* cut off: a context may be missing */
			WHO_Q_TICKS_TO =
				1
				<< 12, /* it ran in (ticks, ticks_to]; else in [ticks, ticks + 1) */
			WHO_Q_USER_PC =
				1
				<< 13, /* the level is unknown, the address is one of user space */
			WHO_Q_LANDMARK_SLEEPS =
				1 << 14, /* the switch from that thread: it was not runnable */
};

/** One record of trace, or a run of instructions with the same answer. */
struct who_question {
	uint32_t has; /* WHO_Q_ */
	uint32_t cpu;
	enum who_level level;
	enum arm_security security;
	enum who_world world;
	struct who_local_id queue;
	struct who_local_id owner; /* who_ran_owner_of_aux() */
	uint32_t context_el1, context_el2;
	struct who_local_id landmark; /* the thread between the landmarks around it */
	struct clew_ticks ticks, ticks_to;
	/* Of the chunk: when the chunk before it was closed, and when it was */
	struct clew_perf_ns from, to;
};

enum who_answer_has { /* who_answer.has */
		      WHO_A_ROOT = 1 << 0,
		      WHO_A_LOCAL = 1 << 1,
		      WHO_A_THREAD = 1 << 2,    /* serial, pid, space; comm where not NULL */
		      WHO_A_SWITCHING = 1 << 3, /* reason switching: candidates */
		      WHO_A_GUEST = 1 << 4,     /* a guest ran: machine */
		      WHO_A_VCPU = 1 << 5,
		      WHO_A_GUEST_ROOT = 1 << 6, /* guest: its own thread */
		      WHO_A_MAY_BE_SEVERAL =
			      1 << 7, /* a root id that may be of several threads in turn */
		      WHO_A_NAME_STALE = 1 << 8, /* records were lost since the name was set */
		      WHO_A_NAME_ASSUMED =
			      1 << 9, /* it comes from /proc, which may be of another namespace */
		      WHO_A_VCPU_GUESSED = 1 << 10, /* not by the thread's name */
		      WHO_A_GUEST_LOCAL = 1 << 11,  /* guest: its thread by its own recording */
		      WHO_A_CLOCK_ERROR =
			      1 << 12, /* at its time another thread ran: the context counts */
};

struct who_answer {
	uint32_t has; /* WHO_A_ */
	enum who_kind kind;
	enum who_evidence evidence; /* what gave the thread */
	enum who_reason reason;     /* kind unknown; or of a guest: why its thread is */
	enum who_level level;
	enum arm_security security;
	struct who_root_id root;
	struct who_local_id local;
	struct who_local_id candidates[2]; /* switching: from, to */
	/* The thread object: differs between two threads that have one id in turn. */
	uint64_t serial;
	struct who_local_id pid;     /* n -1: unknown */
	const char *comm;            /* at that time; NULL: unknown. Lives as long as the history */
	uint32_t space;              /* of the history; WHO_NONE: unknown */
	struct who_local_id machine; /* guest: pid of its host process */
	uint32_t vcpu;
	struct who_guest_root_id guest_root;
	struct who_guest_local_id guest_local;
};

/** Do both say the same? Of names: are they of one place in the history? */
bool who_answer_is_same(const struct who_answer *a, const struct who_answer *b);

struct who_ran;
struct who_history;
struct who_spill; /* who_runs.h */
struct who_runs;  /* the same */

/** A yes or no about the whole recording, and why. */
enum who_fact { WHO_FACT_UNKNOWN, WHO_FACT_YES, WHO_FACT_NO };
struct who_proof {
	enum who_fact is;
	const char *why;     /* static words; NULL: unknown */
	uint32_t example[2]; /* the ids it was seen on, where has_example */
	bool has_example;
};

struct who_facts {
	struct who_proof is_root;      /* N: was the recorder in the initial PID namespace? */
	struct who_proof is_mixture;   /* contexts are root ids, all else is not */
	struct who_proof is_same_proc; /* L = P: are the ids of /proc those of records? */
	struct who_proof has_clock;    /* do ticks compare with perf's time? */
	enum who_level kernel_level;   /* H; WHO_LEVEL_UNKNOWN */
	uint64_t nr_agree, nr_zero, nr_differ, nr_outside; /* interior records */
};

/** Where a record was written, and with which event. */
struct who_ran_stamp {
	struct clew_perf_ns time; /* 0: made by the recorder */
	uint32_t cpu, pid, tid;   /* all ones: unknown */
	bool is_inherited;        /* its event has attr.inherit, or is of one task */
	bool has_clockid;         /* its event has attr.use_clockid */
	bool has_time;            /* its event has a time at all */
};

/** @p history: names, processes and mappings: borrowed, filled by the caller (who_play.h).
 * NULL: no memory. */
struct who_ran *who_ran_new(struct who_history *history);
void who_ran_free(struct who_ran *w);

/** Facts that the recording contains, and that count as proven: whether the recorder's PID
 * namespace is the initial one, and whether its /proc was that of its own namespace. */
void who_ran_set_root(struct who_ran *w, bool is_root);
void who_ran_set_same_proc(struct who_ran *w, bool is_same);
/** The host's kernel runs at @p level. */
void who_ran_set_kernel_level(struct who_ran *w, enum who_level level);
/** The trace has contexts, which the driver enables in the initial PID namespace only: assume that
 * namespace unless something proves the contrary. */
void who_ran_assume_root(struct who_ran *w);
/** A thread has both ids (NSpid). @return false: no memory. */
bool who_ran_add_pair(struct who_ran *w, struct who_root_id root, struct who_local_id local);
/** All side-band of @p cpu since @p from was recorded. Call it before the CPU's first record.
 * @return false: no memory. */
bool who_ran_begin_cpu(struct who_ran *w, uint32_t cpu, struct clew_perf_ns from);
/** The facts and pairs that `clew record` wrote. Before who_ran_close(). @return false: no memory.
 */
bool who_ran_take_facts(struct who_ran *w, const struct perf_who_facts *f);
/** Ticks convert by @p conv. */
void who_ran_set_clock(struct who_ran *w, const struct perf_time_conv *conv);

/** Does who_ran_take() use records of this type? */
bool who_ran_takes(uint32_t type);
/**
 * A side-band record other than a sample; also AUX. In the order of its ring. CLEW_OK;
 * CLEW_BAD_FILE: it cannot be parsed; CLEW_NO_MEMORY. O(1) amortised.
 */
enum clew_err who_ran_take(struct who_ran *w, const struct perf_record *r,
			   const struct who_ran_stamp *stamp);
/** A record of a guest's own recording, as merged: the ids are the guest's, the time the host's. */
enum clew_err who_ran_take_guest(struct who_ran *w, const struct who_vcpu *vcpu,
				 const struct perf_record *r, const struct who_ran_stamp *stamp);
/** Times of such records of @p machine are certain only to +-@p band_ns. @return false: no
 * memory. */
bool who_ran_set_band(struct who_ran *w, uint32_t machine, uint64_t band_ns);
/** A sample of sched_switch: prev_pid and next_pid of it (perfdata/perf_tracing.h). */
enum clew_err who_ran_take_sched(struct who_ran *w, struct who_root_id prev,
				 struct who_root_id next, const struct who_ran_stamp *stamp);
/**
 * A sample of kvm_entry or kvm_exit, by the thread of a virtual CPU. @p vcpu: KVM's number of it;
 * WHO_NONE: unknown. All such samples are recorded, unless records are lost. CLEW_OK or
 * CLEW_NO_MEMORY.
 */
enum clew_err who_ran_take_kvm(struct who_ran *w, bool is_entry, uint32_t vcpu,
			       const struct who_ran_stamp *stamp);
/** The AUX record that was taken last belongs to this thread, if its events follow tasks
 * (who_ran_follows_tasks()). n -1: unknown. */
struct who_local_id who_ran_owner_of_aux(const struct who_ran *w);

/** An upper limit of the memory used for the records so far. */
uint64_t who_ran_bytes(const struct who_ran *w);
/** Move packed runs beyond @p keep_bytes to @p spill, which outlives @p w. Call it before the first
 * record. */
void who_ran_set_spill(struct who_ran *w, const struct who_spill *spill, uint64_t keep_bytes);
/** There is no room for records from @p time on: who ran then is unknown. Take only AUX records
 * after this. @return false: no memory. */
bool who_ran_cut(struct who_ran *w, struct clew_perf_ns time);

/** All side-band was taken. CLEW_OK or CLEW_NO_MEMORY. */
enum clew_err who_ran_close(struct who_ran *w);
/** Were records lost, of any CPU? */
bool who_ran_has_lost(const struct who_ran *w);
/** Are there records of switches on whole CPUs? */
bool who_ran_has_switches(const struct who_ran *w);
/** Who ran on @p cpu, as far as switch records say. After who_ran_close(). NULL: nothing is known.
 */
const struct who_runs *who_ran_runs(const struct who_ran *w, uint32_t cpu);
/** Do the AUX events follow tasks, so that who_question.owner counts? After who_ran_close(). */
bool who_ran_follows_tasks(const struct who_ran *w);

/** A place on a CPU's timeline: questions in order of time cost O(1) amortised. Begins zeroed. */
struct who_cursor {
	const void *owner;
	uint64_t state[80];
};

/** Facts that records of trace prove, collected by one thread. */
struct who_notes;
struct who_notes *who_notes_new(void);
void who_notes_free(struct who_notes *n);
/** @p nr records that differ in nothing but their ticks, which are all in one stay of
 * who_ran_note_stay(). @return false: no memory. */
bool who_ran_note_many(const struct who_ran *w, struct who_notes *n, struct who_cursor *c,
		       const struct who_question *q, uint64_t nr);
static inline bool who_ran_note(const struct who_ran *w, struct who_notes *n, struct who_cursor *c,
				const struct who_question *q)
{
	return who_ran_note_many(w, n, c, q, 1);
}

/** Ticks [from, to), as perf_ticks_order() has them. */
struct who_stay {
	uint64_t from, to;
};
/** The ticks at which a question like @p q would note the same. @return false: only its own. */
bool who_ran_note_stay(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		       struct who_stay *ret);
/** Add @p n to what is known. @return false: no memory. */
bool who_ran_add_notes(struct who_ran *w, const struct who_notes *n);
/** All was noted: decide the facts. Once. CLEW_OK or CLEW_NO_MEMORY. */
enum clew_err who_ran_settle(struct who_ran *w);
const struct who_facts *who_ran_facts(const struct who_ran *w);

/** @p c may have been used for any question. Any thread, each with its own cursor. */
void who_ran_ask(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		 struct who_answer *ret);

/** Would the last question of @p c with these ticks in place of its own have the same answer? */
bool who_ran_holds(const struct who_ran *w, struct who_cursor *c, struct clew_ticks ticks);
/** The ticks at which the answer to @p q holds, which was the last question of @p c. @return
 * false: unknown. */
bool who_ran_stay(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		  struct who_stay *ret);

/** The security state, of which nothing is said without a level; NULL: as who_security_name(). */
const char *who_answer_security(const struct who_answer *a);

static inline void who_answer_unknown(struct who_answer *a, enum who_reason why)
{
	a->kind = WHO_UNKNOWN;
	a->evidence = WHO_BY_NOTHING;
	a->reason = why;
}

/** The address is in a function in which the kernel idles, so the idle task ran. */
static inline void who_answer_in_idle_code(struct who_answer *a)
{
	if (a->kind == WHO_IDLE_OR_OUTSIDE)
		a->kind = WHO_IDLE;
}

/** Answers, counted: the sum over kinds is the number of records. Samples: who_own.h. */
struct who_counts {
	uint64_t by_kind[WHO_NR_KINDS];
	uint64_t by_evidence[WHO_NR_EVIDENCE]; /* of all kinds but unknown */
	uint64_t by_reason[WHO_NR_REASONS];    /* of unknown */
	uint64_t nr_guest, nr_stale_names, nr_clock_errors;
	uint64_t by_guest_reason[WHO_NR_REASONS]; /* in a guest, of a thread unknown there */
	uint64_t nr_guest_agree, nr_guest_differ; /* CONTEXTIDR_EL1 and the guest's switches */
};
/** @p nr answers like @p a. */
void who_counts_add_many(struct who_counts *c, const struct who_answer *a, uint64_t nr);
static inline void who_counts_add(struct who_counts *c, const struct who_answer *a)
{
	who_counts_add_many(c, a, 1);
}
void who_counts_join(struct who_counts *to, const struct who_counts *from);
/** What a recording says of itself, as facts. */
void who_facts_of_recorded(const struct perf_who_facts *f, struct who_facts *ret);

#endif
