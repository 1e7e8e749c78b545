/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_IMPL_H
#define ANALYZE_ANA_IMPL_H

#include "analyze/ana_places.h"
#include "analyze/ana_read.h"
#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "os/file.h"
#include "os/thread.h"
#include "perfdata/perf_stack_info.h"
#include "stitch/stitch.h"
#include "unwind/unw_walk.h"
#include "who/who.h"
#include "who/who_guests.h"

/* Inside of the pipeline. analyze.c runs it; the parts below are one file each. */

/* --- ana_filter.c: what the user asked for, parsed once --- */
struct ana_filter_set {
	struct intern comms;
	struct map_u64 pids, tids, cpus;
	bool has_comms, has_pids, has_tids, has_cpus;
	struct clew_perf_ns from, to;
};

enum clew_err ana_filter_init(struct ana_filter_set *f, const struct ana_filter *opts,
			      struct clew_diag *diag);
bool ana_filter_keeps(struct ana_filter_set *f, const struct perf_sample *s,
		      const struct who_thread *t);
void ana_filter_done(struct ana_filter_set *f);

/* --- ana_guest.c: samples of virtual machines --- */
/** 0: the host's. */
uint32_t ana_machine_of_record(const struct analyze *a, const struct perf_record *r);
struct who_thread *ana_guest_thread(struct analyze *a, uint32_t machine, uint32_t pid,
				    uint32_t tid);
/** What a level that a thread's records name is on the host. */
static inline enum ana_level ana_level_in(const struct who_thread *t, enum ana_level level)
{
	if (!t || !t->is_guest || (level != ANA_KERNEL && level != ANA_USER))
		return level;
	return level == ANA_KERNEL ? ANA_GUEST_KERNEL : ANA_GUEST_USER;
}
struct who_space *ana_guest_kernel_of(struct analyze *a, const struct who_thread *t);

/* --- ana_resolve.c: addresses to locations, chains to interned chains --- */
struct ana_cache {
	struct arena memory; /* locs and chains of this epoch */
	struct ana_loc_slot {
		uint64_t ip;
		uint32_t space, generation;
		bool is_return;
		const struct ana_loc *loc; /* NULL: empty */
	} * locs;
	size_t nr_locs, cap_locs; /* nr_locs: slots in use */
	struct ana_chain_slot {
		uint64_t hash;
		const struct ana_chain *chain; /* NULL: empty */
		const uint8_t *words;          /* as recorded */
		uint32_t nr_words, space, generation, kernel_generation;
		bool has_returns;
	} * chains;
	size_t nr_chains, cap_chains;
	uint32_t next_loc_id, next_chain_id;
	uint64_t epoch;
};

/* --- ana_stitch.c: records into the stitch --- */
struct ana_user;

struct stitch *ana_stitch_new(const struct perf_input *input, uint64_t age_ns);
/** A sample that waits for a stack: which? */
bool ana_stitch_key(struct perf_file *file, const struct perf_record *r, uint32_t *ret_tid,
		    uint64_t *ret_cookie);
/** Any other record: a stack, or what ends a task's entry. */
enum clew_err ana_stitch_record(struct stitch *stitch, struct perf_file *file,
				const struct perf_record *r, struct clew_perf_ns time);
/** Position of the mark of deferral; false: none. */
bool ana_find_mark(const struct perf_words *chain, uint32_t *ret);

/* --- ana_ahead.c: a second reader goes ahead for the stacks --- */
struct ana_ahead {
	struct stitch *stitch;
	struct perf_file *file;
	struct ana_reader reader;
	bool is_at_end;
};
enum clew_err ana_ahead_init(struct ana_ahead *d, const struct perf_file *first,
			     const struct perf_input *input, bool is_mapped);
/** The outcome of the sample with a cookie that is played now. */
enum clew_err ana_ahead_ask(struct ana_ahead *d, const struct perf_record *r, struct ana_user *ret);
void ana_ahead_done(struct ana_ahead *d);

/* --- ana_defer.c: samples and their deferred user stacks --- */
struct ana_defer {
	enum ana_defer_mode {
		ANA_DEFER_OFF,   /* nothing seen that would need it */
		ANA_DEFER_AHEAD, /* a second reader goes ahead for the stacks */
		ANA_DEFER_QUEUE, /* a stream: records wait for their turn */
	} mode;
	struct ana_ahead ahead; /* AHEAD */
	struct stitch *stitch;  /* QUEUE */
	size_t nr_evsels;       /* looked at */
};

/** What is known of a sample's user part. */
struct ana_user {
	enum stitch_state state;
	enum stitch_reason reason;
	uint8_t stop, why;                /* enum unw_stop, enum unw_why; 0: unknown */
	const struct stitch_stack *stack; /* to be put in; NULL: none. Lives until the next record
					     is taken */
	/* Of a user part that stands in the chain already: as of struct perf_stack_info. */
	const uint8_t *methods;
	uint8_t method;
	uint32_t nr_after;  /* words of the chain after the user part */
	uint32_t nr_frames; /* of stack, that the event asked for */
	bool has_mark;      /* of deferral, at mark_at of the chain */
	bool is_merged;     /* it stands in the chain already, and what is here was kept of it */
	uint32_t mark_at;
};

struct analyze {
	struct ana_opts opts;
	struct perf_input input;
	struct perf_file *file;
	struct ana_reader reader;
	struct ana_defer defer;
	struct perf_stack_reader *infos; /* of stacks that stand in their samples; NULL: none */
	struct who *who;
	struct ana_places places;
	struct arena memory; /* texts: as long as the analysis */
	struct ana_filter_set filter;
	struct ana_cache cache;
	struct budget_account account;
	struct map_u64 cgroups;  /* id -> path */
	struct map_u64 counters; /* event id -> last value read, for samples of whole groups */
	struct map_u64 unresolved_by_dso; /* dso id + 1, 0 = none -> count */
	struct {
		VEC(struct ana_unresolved);
	} unresolved;
	struct ana_stacks *stacks; /* NULL: none was met yet */
	struct ana_queue *queue;
	struct ana_summary summary;
};

/* Asked for each sample, and few recordings have guests. */

/** The thread of a sample or record, in @p machine. As who_thread_get(). */
static inline struct who_thread *ana_thread_get(struct analyze *a, uint32_t machine, uint32_t pid,
						uint32_t tid)
{
	return machine ? ana_guest_thread(a, machine, pid, tid) : who_thread_get(a->who, pid, tid);
}

/** Of the kernel of the machine that the thread belongs to or runs. NULL: nothing is known of it.
 */
static inline struct who_space *ana_guest_kernel(struct analyze *a, const struct who_thread *t)
{
	return t && who_guests(a->who)->ids.nr ? ana_guest_kernel_of(a, t) : NULL;
}

bool ana_defer_is_wanted(const struct analyze *a);
/** Start where the events known by now ask for it. */
enum clew_err ana_defer_check(struct analyze *a);
/** A mark was seen that no event announced. */
enum clew_err ana_defer_start(struct analyze *a);
/** QUEUE: does @p r have to be put in, or has it no place in the order? */
bool ana_defer_waits(const struct perf_record *r, struct clew_perf_ns time);
enum clew_err ana_defer_take(struct analyze *a, const struct perf_record *r,
			     struct clew_perf_ns time);
/** A record that has waited. */
struct ana_due {
	struct perf_record record; /* the caller releases its block */
	struct clew_perf_ns time;
	struct stitch_item item; /* item.item: NULL */
};
/** QUEUE: the next that may go; false: none for now. */
bool ana_defer_next(struct analyze *a, struct ana_due *ret);
/** The stream is over: all may go. */
void ana_defer_end(struct analyze *a);
/** The outcome of the sample with a cookie that is played now. */
enum clew_err ana_defer_ask(struct analyze *a, const struct perf_record *r, struct ana_user *ret);
/** NULL: none is at work. */
const struct stitch *ana_defer_stitch(const struct analyze *a);
void ana_defer_done(struct ana_defer *d);

/* --- ana_user_part.c: the user part of a sample's chain --- */
/** Of a sample without a mark; @p chain: with what was unwound. */
struct ana_user ana_user_of_plain(const struct who_thread *t, const struct ana_event *e,
				  const struct perf_words *chain, const uint8_t *methods,
				  uint32_t nr);
/** Of a sample with a mark that no cookie follows. */
void ana_user_of_no_cookie(uint64_t word, struct ana_user *ret);
void ana_user_take(const struct stitch_item *item, struct ana_user *ret);
/** Of the next sample of a recording with stacks merged into their samples. @return false: nothing
 * is recorded of it. */
bool ana_user_of_info(struct perf_stack_reader *infos, struct ana_user *ret);
/** Cut the stack to what an event of @p max addresses (0: all) has room for after the kernel's. */
void ana_user_limit(struct ana_user *u, const struct perf_words *chain, uint32_t max);
/** The chain with the stack in place of the mark. @p to: NULL to count only. @return its words, and
 * how many of them stand after the stack. */
uint32_t ana_user_words(const struct ana_user *u, const struct perf_words *chain, uint8_t *to);
uint32_t ana_user_words_after(const struct ana_user *u, const struct perf_words *chain);
/** How frame @p i of u->stack was found: perf_deferred_method(). */
uint8_t ana_user_method(const struct ana_user *u, uint32_t i);
/** The same chain in the batch's memory. */
enum clew_err ana_user_merge(struct analyze *a, const struct ana_user *u, struct perf_words *chain);
/** How much of it is there, if any: complete, partial or unproven. */
enum stitch_state ana_user_state(const struct ana_user *u);
void ana_user_count(struct ana_outcomes *o, const struct ana_user *u);
/** e->hows, of the user part in @p words, of which e->chain was made. */
enum clew_err ana_user_hows(struct analyze *a, const struct ana_user *u,
			    const struct perf_words *words, struct ana_event *e);

const struct ana_loc *ana_resolve(struct analyze *a, struct who_thread *t, enum ana_level level,
				  uint64_t ip);
/**
 * *ret stays NULL for a chain that names no address.
 * @p has_returns: in user mode, what does not follow a mark is a return address: the place is that
 * of the call before it, which may be in another function where that one does not return.
 */
enum clew_err ana_resolve_chain(struct analyze *a, struct who_thread *t,
				const struct perf_words *words, bool has_returns,
				const struct ana_chain **ret);
enum ana_level ana_level_of_misc(uint16_t misc);
bool ana_cache_is_full(const struct analyze *a);
void ana_cache_reset(struct ana_cache *c);
void ana_cache_done(struct ana_cache *c);

/* --- ana_stack.c: copied user stacks to call chains --- */
static inline bool ana_has_stack(const struct perf_sample *s)
{
	return s->regs_user.abi && s->stack_user.dyn_size && bytes_left(&s->stack_user.data);
}
/** The sample's chain with its user part unwound from the copied stack, in *ret, which lives until
 * the next call; e->unwind_... are set. *ret_methods: how its frames were found, NULL: none was. */
enum clew_err ana_unwind(struct analyze *a, struct who_thread *t, struct ana_event *e,
			 struct perf_words *ret, const uint8_t **ret_methods, uint32_t *ret_nr);
/** Made at the first call; NULL: no memory. */
struct ana_stacks *ana_stacks_get(struct analyze *a);
/** One copied stack, after ana_stacks_get(). f->pc and f->exact live until the next call; f->nr 0:
 * the registers are not there. */
enum unw_stop ana_walk(struct analyze *a, struct who_thread *t, const struct perf_sample *s,
		       struct unw_frames *f);
void ana_stacks_free(struct ana_stacks *s);

/* --- ana_sideband.c: records other than samples, into the state --- */
/** Take what is kept of a record, and its part of a table. As budget_account_take(). */
bool ana_charge(struct analyze *a, uint64_t bytes, const char *what);
enum clew_err ana_take_record(struct analyze *a, const struct perf_record *r);

/* --- ana_deliver.c: samples and records into events of the batch --- */
/** A sample, or one event each member where a group was read. One that cannot be parsed is counted
 * and left out. @p item: what its stack's queue says; NULL: not asked yet. */
enum clew_err ana_deliver_sample(struct analyze *a, const struct perf_record *r,
				 const struct stitch_item *item);
enum clew_err ana_deliver_record(struct analyze *a, const struct perf_record *r,
				 struct clew_perf_ns time);
void ana_note_bad(struct analyze *a, const struct perf_record *r);

/* --- ana_queue.c: batches to the consumer --- */
struct ana_queue *ana_queue_new(const struct ana_consumer *consumer, bool is_threaded,
				uint64_t epoch);
/** A free event of the batch being filled, zeroed, with room for its sample; NULL: the consumer has
 * failed. */
struct ana_event *ana_queue_add(struct ana_queue *q, struct perf_sample **ret_sample);
/** Memory that lives as long as the batch being filled. */
void *ana_queue_alloc(struct ana_queue *q, size_t size);
/** Hand over the batch being filled, if it holds anything. */
enum clew_err ana_queue_flush(struct ana_queue *q);
/** Flush, and wait until the consumer has seen everything. */
enum clew_err ana_queue_wait(struct ana_queue *q);
void ana_queue_set_epoch(struct ana_queue *q, uint64_t epoch);
/** No call of the consumer is running when this returns, and none follows; what was not handed over
 * is dropped. */
void ana_queue_stop(struct ana_queue *q);
void ana_queue_free(struct ana_queue *q);

#endif
