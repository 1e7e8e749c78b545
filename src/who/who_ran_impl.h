/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_RAN_IMPL_H
#define WHO_WHO_RAN_IMPL_H

#include <string.h>

#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_clock.h"
#include "who/who_fold.h"
#include "who/who_history.h"
#include "who/who_kvm.h"
#include "who/who_ran.h"
#include "who/who_vcpus.h"

enum {
	WHO_EXAMPLES = 3,
	WHO_TOLERANCE_NS = 1000, /* of a chunk's closing time */
};

/** One CPU's ring. */
struct who_cpu {
	struct who_fold fold;
	struct who_kvm kvm;
	uint32_t cpu;
	/* While records are taken */
	struct who_local_id on;    /* runs, by the last IN; n 0: unknown */
	struct who_local_id start; /* of the last ITRACE_START; n 0: none */
};

/** Records of some ring were lost: names set before it may be old. */
struct who_lost_span {
	struct clew_perf_ns from, to;
};

enum who_thread_end { WHO_END_EXITED = 1, WHO_END_GONE };

struct who_ran {
	struct who_history *history;
	struct who_run_store store;
	struct map_u64 by_cpu; /* -> cpus */
	struct {
		VEC(struct who_cpu *);
	} cpus;
	struct map_u64 ending; /* tid -> enum who_thread_end: EXIT was seen, FORK not since */
	struct {
		VEC(struct who_lost_span);
	} lost;               /* in the end by from, to: the latest so far */
	struct map_u64 pairs; /* root id -> local id (0: outside), or WHO_PAIR_SEVERAL */
	uint64_t nr_pairs_equal, nr_pairs_differ, nr_pairs_outside;
	bool has_init_namespace, has_found_namespace, has_found_init_namespace;
	bool has_switch, has_switch_wide, is_inherited, has_clockid, has_no_time;
	bool is_level_set, is_root_assumed, is_root_set, is_same_proc_set, has_conv;
	bool is_clock_usable, is_clock_untrusted; /* untrusted: there is one, and it is wrong */
	struct perf_time_conv conv;
	uint64_t tolerance_ticks, margin_ticks;
	struct who_local_id aux_owner;
	struct who_notes *notes; /* all that were added */
	struct map_u64 derived;  /* root id -> serial of a thread, or WHO_DERIVED_SEVERAL */
	struct who_vcpus vcpus;  /* of merged recordings */
	uint64_t nr_kvm_cpus;    /* with samples of kvm_entry or kvm_exit */
	struct map_u64 runners;  /* tids with samples of kvm_entry -> KVM's number + 1, or 0 */
	struct map_u64 writing_guests; /* pids of guests that write CONTEXTIDR */
	/* tids seen at guest level, without the virtual CPU in their name -> its ordinal */
	struct map_u64 ordinals;
	bool is_settled;
	struct who_facts facts;
	bool ignores_found; /* L != P */
};

enum { WHO_PAIR_SEVERAL = UINT32_MAX };
#define WHO_DERIVED_SEVERAL UINT64_MAX
#define WHO_WHY_UNTRUSTED \
 "times of records are not those of whole ticks, or trace is outside its chunk"

static inline bool who_ran_is_root(const struct who_ran *w)
{
	return w->facts.is_root.is == WHO_FACT_YES;
}

static inline bool who_ran_is_not_root(const struct who_ran *w)
{
	return w->facts.is_root.is == WHO_FACT_NO;
}

/* --- who_notes.c --- */

/** Of one choice of the host's register (who_notes.of_el). */
struct who_note_counts {
	uint64_t nr_agree, nr_zero, nr_differ, nr_outside;
	uint32_t agreeing[WHO_EXAMPLES], differing[WHO_EXAMPLES]; /* the least root ids */
	uint64_t example;                                         /* least root << 32 | local */
	struct map_u64 by_object; /* a thread's serial -> NOTE_ of the contexts in it */
	struct map_u64 outside;   /* root ids where the local id was 0 */
};

enum {
	WHO_NOTE_COUNT_SHIFT = 32, /* of by_object: root id, how often (at most 3), several */
	WHO_NOTE_ENOUGH = 3,
};
#define WHO_NOTE_SEVERAL (UINT64_C(1) << 63)

struct who_notes {
	struct who_note_counts of_el[2]; /* contexts of EL1; of EL2 */
	bool has_context_el1, has_context_el2, has_pc_el1, has_pc_el2, has_user_in_kthread;
	uint64_t nr_chunk_ticks, nr_chunk_bad;
	struct map_u64 leaks;   /* CPUs with records at EL1 that have no EL1 context */
	struct map_u64 guests;  /* root ids of threads with an EL1 context other than 0 at EL0 */
	struct map_u64 runners; /* root ids of threads at guest level, if the kernel is at EL2 */
};

/* --- who_place.c --- */

/** Where a record stands on its CPU's line. */
struct who_place {
	const struct who_cpu *cpu;
	const struct who_run_cursor *at; /* NULL: nothing is known of its time */
	bool is_inside;                  /* at->run holds all of it, if that is a thread's */
	bool is_on_edge;                 /* it is at the begin of at->run: what is before counts */
	bool is_conflict;                /* its ticks are outside its chunk */
	struct clew_perf_ns time, until; /* its first and last; none: unknown */
	bool has_order;
	uint64_t first, order, to; /* has_order: its ticks; end of the run that holds it */
};

/** @p margin_ticks: how far from both ends of the run it has to be. */
void who_find_place(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		    uint64_t margin_ticks, struct who_place *ret);

/** Of that only has_order, first, order, cpu and is_conflict. */
void who_find_order(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		    struct who_place *ret);

/** Ticks before which what @p p says of @p q holds for later ones, too; p->has_order. */
uint64_t who_place_until(const struct who_ran *w, struct who_cursor *c,
			 const struct who_question *q, uint64_t margin_ticks,
			 const struct who_place *p);
/** It ends at @p to, where that is known. */
void who_stay_clip(const struct who_ran *w, struct clew_perf_ns to, struct who_stay *s);

/* --- who_ask.c --- */

/** The one thread that has @p root at @p time, by a proof. 0: it is outside. @return false:
 * unknown. */
bool who_local_of_root(const struct who_ran *w, struct who_root_id root, struct clew_perf_ns time,
		       struct who_local_id *ret);

/** The context of the host's register. @return false: it carries none. */
bool who_host_context(const struct who_ran *w, const struct who_question *q,
		      struct who_root_id *ret);

/* --- who_ordinals.c --- */

/** Number the virtual CPUs that no name numbers. @return false: no memory. */
bool who_settle_ordinals(struct who_ran *w);

/* --- who_world.c --- */

/** @p may_be_vcpu: the host's thread may run a guest. */
enum who_world who_world_of(const struct who_ran *w, const struct who_question *q,
			    bool may_be_vcpu);

/** What samples of kvm_entry and kvm_exit around a place say. */
struct who_by_kvm {
	bool is_known, is_between; /* between: after an entry, before its exit */
	struct who_local_id tid;   /* is_between: of the host's thread; -1: unknown */
	struct clew_perf_ns until; /* it holds no longer */
};

void who_find_kvm(const struct who_ran *w, const struct who_place *p, struct who_by_kvm *ret);
enum who_world who_world_by_kvm(const struct who_by_kvm *k, enum who_level level);

#endif
