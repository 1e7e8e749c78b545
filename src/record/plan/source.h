/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_SOURCE_H
#define RECORD_PLAN_SOURCE_H

#include "base/bytes.h"
#include "base/vec.h"
#include "os/poll_set.h"
#include "perfdata/perf_evlist.h"
#include "record/plan/aux_seen.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_file.h"

/*
 * What produces records: the kernel's rings, user stacks, AUX areas. A session opens its sources,
 * waits for their descriptors, and lets each in turn write what it has: one round of the file.
 *
 * A source's life: prepare, watch, add_events, begin_file, start, then pass and order in any number
 * (with begin_file after the last pass of each file but the last one), stop, pass, last_call, pass,
 * report, done. All calls come from one thread.
 */

/** One round. */
struct rec_pass {
	struct rec_file *file;
	bool is_last;          /* of this file: overwritten buffers are read, too */
	bool has_any;          /* a source sets it when it had something */
	uint32_t nr_snapshots; /* and this, when it has written some */
	/** Called with records of the kernel before they are consumed; AUX records are added up in
	 * @p aux, which is the ring's. @return some of them must be mended (record_mend.h). */
	bool (*count)(void *ctx, struct rec_aux_seen *aux, const struct bytes part[2]);
	void *ctx;
};

/** How far a source is from its end, after stop(). */
enum rec_pending {
	REC_PENDING_NONE,
	REC_PENDING_OTHERS, /* it waits for what may never come */
	REC_PENDING_OWN,    /* it is at work itself: it pays to wait */
};

/** What the session starts with. */
struct rec_start {
	int child_pid;   /* it waits before its exec and may be traced; 0: no command */
	bool is_delayed; /* REC_ORDER_ENABLE may follow (-D, --control) */
};

enum rec_order_kind { REC_ORDER_ENABLE, REC_ORDER_DISABLE, REC_ORDER_SNAPSHOT };

struct rec_order {
	enum rec_order_kind kind;
	const char *event; /* NULL: all */
};

/** What a source can do. Only pass and done are always there. */
struct rec_source_ops {
	/** Before the command starts; some seconds at most. */
	void (*prepare)(void *ctx);
	/** Add the descriptors to wait for. @return false: out of memory. */
	bool (*watch)(void *ctx, struct os_poll *p);
	/** After a wait: skip descriptors that have ended, add those that are new. */
	void (*unwatch)(void *ctx, struct os_poll *p);
	/** The longest time to wait, in ms; -1: as long as you like. */
	int (*sleep_ms)(const void *ctx);

	/** The events that its records belong to, once, before the first file. */
	enum clew_err (*add_events)(void *ctx, struct perf_evlist *l);
	/** Append the records with which each file begins, after the names of the events. */
	void (*begin_file)(void *ctx, struct buf *records);
	/** The files are open and the command waits. @return a code with a sentence: nothing is
	 * recorded then. */
	enum clew_err (*start)(void *ctx, const struct rec_start *s, struct rec_error *error);
	/** Also before stop(): then all is disabled. What a snapshot holds may come with the next
	 * pass. @return how many of its events, or buffers, that concerned. */
	size_t (*order)(void *ctx, const struct rec_order *o);

	/** Write what is there. @return the writer's error, or CLEW_NO_MEMORY. */
	enum clew_err (*pass)(void *ctx, struct rec_pass *p);
	/** May FINISHED_ROUND follow? Not while older records are still to come. */
	bool (*may_end_round)(void *ctx);

	/** Nothing new is wanted; what is under way still comes with the next passes. */
	void (*stop)(void *ctx);
	enum rec_pending (*pending)(const void *ctx);
	/** Waiting is over; one more pass writes what can be had. */
	void (*last_call)(void *ctx);

	/** One line of the outcomes; more with @p is_verbose. */
	void (*report)(void *ctx, bool is_verbose);
	void (*done)(void *ctx);
};

struct rec_source {
	const struct rec_source_ops *ops; /* NULL: none */
	void *ctx;
	bool owns_rings; /* it reads the forward rings of the kernel: no other source may */
};

/** In the order of their passes: a source may rely on what those before it have written. */
struct rec_sources {
	VEC(struct rec_source);
};

/** @p s without ops is ignored. @return false: out of memory; @p s is then freed. */
bool rec_sources_add(struct rec_sources *l, struct rec_source s);

/** Does one of them read the forward rings? */
bool rec_sources_own_rings(const struct rec_sources *l);

/* Each asks all of them. */
void rec_sources_prepare(const struct rec_sources *l);
bool rec_sources_watch(const struct rec_sources *l, struct os_poll *p);
void rec_sources_unwatch(const struct rec_sources *l, struct os_poll *p);
int rec_sources_sleep_ms(const struct rec_sources *l);
enum clew_err rec_sources_add_events(const struct rec_sources *l, struct perf_evlist *evlist);
void rec_sources_begin_file(const struct rec_sources *l, struct buf *records);
enum clew_err rec_sources_start(const struct rec_sources *l, const struct rec_start *s,
				struct rec_error *error);
size_t rec_sources_order(const struct rec_sources *l, const struct rec_order *o);
enum clew_err rec_sources_pass(const struct rec_sources *l, struct rec_pass *p);
bool rec_sources_may_end_round(const struct rec_sources *l);
/** @return false: none of them has anything under way that a stop could leave. */
bool rec_sources_stop(const struct rec_sources *l);
enum rec_pending rec_sources_pending(const struct rec_sources *l);
void rec_sources_last_call(const struct rec_sources *l);
void rec_sources_report(const struct rec_sources *l, bool is_verbose);
void rec_sources_done(struct rec_sources *l);

#endif
