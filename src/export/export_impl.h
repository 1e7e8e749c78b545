/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_EXPORT_IMPL_H
#define EXPORT_EXPORT_IMPL_H

#include "export/export.h"
#include "perfdata/perf_who_facts.h"
#include "report/report_tree.h"

struct export_step {
	const struct ana_loc *loc;
	uint32_t node; /* with the place's frames */
};

/* A chain's stack in this epoch. */
struct export_chain {
	uint32_t node; /* REPORT_NONE: not made yet */
	uint32_t cut;  /* text: with this frame outside */
};

/* A thread's last stack, outermost first: the next one mostly begins alike. */
struct export_path {
	struct {
		VEC(struct export_step);
	} steps;
	uint32_t cut; /* text: its frame is outside */
};
enum { EXPORT_PATHS = 64 };

/* The key found last: most samples have that of the one before. */
struct export_last_key {
	uint32_t pid, tid, cpu, cut, key;
	const char *comm, *cgroup;
	uint8_t level;
};

struct export
{
	struct export_opts opts;
	const struct export_format *format;
	const struct clew_sink *sink;
	struct export_tables tables;
	struct export_summary summary;
	const struct ana_summary *run; /* at the end */
	struct buf out;
	void *state;
	bool has_begun;

	struct {
		VEC(struct export_event);
	} events;
	struct map_u64 event_of; /* evsel's index -> column */
	uint32_t first_event;    /* the only one written, of formats with one; EXPORT_NONE */

	struct {
		VEC(struct export_thread);
	} threads;
	struct map_u64 thread_of; /* pid << 32 | tid -> number */
	struct map_u64 pid_ns_of; /* pid -> inode of its PID namespace */
	struct ana_pauses pauses;
	struct perf_who_facts ids; /* in other PID namespaces, of what ran at the start */
	struct map_u64 inner_of;   /* id of a task in the recording -> index of ids.tasks */
	struct intern key_tuples;  /* -> key + 1 */
	struct {
		VEC(struct export_key);
	} keys;
	uint32_t key_parts;
	struct export_last_key last;

	struct report_tree tree;
	uint32_t unknown_node; /* the stack of what is unknown */
	struct {
		VEC(struct report_weights);
	} sums; /* by column */
	uint64_t nr_sums, sum_bytes;
	uint64_t epoch;
	bool has_epoch;
	struct {
		VEC(struct export_chain);
	} chains;                                    /* by id of this epoch */
	struct export_path last_paths[EXPORT_PATHS]; /* by tid, modulo */
	struct {
		VEC(uint32_t);
	} place_of_loc, stack;
	struct clew_perf_ns first_time, last_time;
};

/* --- export_stacks.c --- */
enum clew_err export_stacks_init(struct export *x);
void export_stacks_forget(struct export *x);
/** The node of the sample's stack; of its innermost function alone where there is no room (counted
 * in the summary). @p why: of export_why_cut(). */
enum clew_err export_node(struct export *x, const struct ana_event *e, const char *why,
			  uint32_t *ret);
/** NULL: it has no place. */
const struct ana_loc *export_innermost(const struct ana_event *e);
/** Why its stack is cut: static words; NULL: it is not. */
const char *export_why_cut(const struct ana_event *e);

/* --- export_intervals.c --- */
enum clew_err export_take_switch(struct export *x, const struct ana_event *e);
/** Of x->pauses. */
enum clew_err export_take_pause(void *ctx, const struct ana_pause *p);

/* --- export_keys.c --- */
/** Ids of tasks in other PID namespaces. */
enum clew_err export_take_ids(struct export *x, const struct perf_record *r);
/** NAMESPACES. */
enum clew_err export_take_namespaces(struct export *x, const struct perf_record *r);
/** The key of @p e. May call the format's thread(). @p cut: text. */
enum clew_err export_key(struct export *x, const struct ana_event *e, uint32_t cut, uint32_t *ret);

#endif
