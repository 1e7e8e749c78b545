/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_IMPL_H
#define ANALYZE_ANA_IMPL_H

#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "os/thread.h"
#include "who/who.h"

/* Inside of the pipeline. analyze.c runs it; the parts below are one file each. */

/* --- ana_filter.c: what the user asked for, parsed once --- */
struct ana_filter_set {
	struct intern comms;
	struct map_u64 pids, tids, cpus;
	bool has_comms, has_pids, has_tids, has_cpus;
	uint64_t from, to;
};

enum clew_err ana_filter_init(struct ana_filter_set *f, const struct ana_filter *opts,
			      struct clew_diag *diag);
bool ana_filter_keeps(struct ana_filter_set *f, const struct perf_sample *s,
		      const struct who_thread *t);
void ana_filter_done(struct ana_filter_set *f);

/* --- ana_resolve.c: addresses to locations, chains to interned chains --- */
struct ana_cache {
	struct arena memory; /* locs and chains of this epoch */
	struct ana_loc_slot {
		uint64_t ip;
		uint32_t space, generation;
		const struct ana_loc *loc; /* NULL: empty */
	} * locs;
	size_t nr_locs, cap_locs; /* nr_locs: slots in use */
	struct ana_chain_slot {
		uint64_t hash;
		const struct ana_chain *chain; /* NULL: empty */
		const uint8_t *words;          /* as recorded */
		uint32_t nr_words, space, generation, kernel_generation;
	} * chains;
	size_t nr_chains, cap_chains;
	uint32_t next_loc_id, next_chain_id;
	uint64_t epoch;
};

/* What a map of the who leads to. */
struct ana_place {
	struct dso *dso;
	const struct dso_sym *only_sym; /* KSYMBOL: the one symbol there is */
	bool is_absolute;               /* rel = ip */
};

struct analyze {
	struct ana_opts opts;
	struct perf_input input;
	struct perf_file *file;
	struct perf_order *order;
	struct who *who;
	struct dso_store *dsos;
	struct arena memory; /* places, symbols, texts: as long as the analysis */
	struct ana_filter_set filter;
	struct ana_cache cache;
	struct ana_place *kernel_place; /* for kernel addresses no map covers */
	struct intern build_id_paths;   /* path -> index + 1 of build_ids */
	struct {
		VEC(struct dso_build_id);
	} build_ids;
	struct map_u64 cgroups;  /* id -> path */
	struct map_u64 counters; /* event id -> last value read, for samples of whole groups */
	struct map_u64 unresolved_by_dso; /* dso id + 1, 0 = none -> count */
	struct {
		VEC(struct ana_unresolved);
	} unresolved;
	struct ana_stacks *stacks; /* NULL: none was met yet */
	struct ana_queue *queue;
	struct ana_summary summary;
	uint64_t released; /* bytes of the mapped file given back */
};

const struct ana_loc *ana_resolve(struct analyze *a, struct who_thread *t, enum ana_level level,
				  uint64_t ip);
/** *ret stays NULL for a chain that names no address. */
enum clew_err ana_resolve_chain(struct analyze *a, struct who_thread *t,
				const struct perf_words *words, const struct ana_chain **ret);
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
 * the next call; e->unwind_... are set. */
enum clew_err ana_unwind(struct analyze *a, struct who_thread *t, struct ana_event *e,
			 struct perf_words *ret);
void ana_stacks_free(struct ana_stacks *s);

/* --- ana_place.c: maps to dsos --- */
enum {
	ANA_MAP_IS_KSYMBOL = 0x7fffffff
}; /* who_map.flags of a range that a KSYMBOL record told of */
struct ana_place *ana_place_of(struct analyze *a, struct who_map *map, bool is_kernel);
struct ana_place *ana_kernel_place(struct analyze *a);
enum clew_err ana_take_build_ids(struct analyze *a);
enum clew_err ana_take_build_id(struct analyze *a, const struct perf_build_id_record *b);

/* --- ana_take.c: records other than samples into the state --- */
enum clew_err ana_take_record(struct analyze *a, const struct perf_record *r);

/* --- ana_deliver.c: samples and records into events of the batch --- */
/** A sample, or one event each member where a group was read. One that cannot be parsed is counted
 * and left out. */
enum clew_err ana_deliver_sample(struct analyze *a, const struct perf_record *r);
enum clew_err ana_deliver_record(struct analyze *a, const struct perf_record *r, uint64_t time);
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
