/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_REPORT_FEED_IMPL_H
#define ANALYZE_REPORT_FEED_IMPL_H

#include "analyze/ana_impl.h"
#include "analyze/report_feed.h"

/** A place in code that rows and graphs are made of. Everything a name needs outlives the epochs.
 */
struct feed_frame {
	const struct dso *dso;
	const struct dso_sym *sym;
	const char *function; /* of an inlined one, else NULL */
	const char *file;     /* of its source line; NULL: not known or not wanted */
	uint64_t rel;
	uint32_t line;
	uint8_t level; /* enum ana_level */
};

/* --- feed_frames.c: frames to dense numbers --- */
struct feed_frames {
	struct {
		VEC(struct feed_frame);
	} all;
	uint32_t *slots; /* number + 1; 0: empty */
	size_t cap;
	bool is_exact; /* frames differ by address, not only by symbol */
};
enum { FEED_MAX_FRAMES = 16 << 20 };

/** @return the number, or REPORT_NONE when memory is short. */
uint32_t feed_frame_add(struct feed_frames *t, const struct feed_frame *frame);
void feed_frames_done(struct feed_frames *t);

const char *feed_dso_name(const struct dso *dso);
char feed_level_letter(uint8_t level);

/* --- feed_groups.c: what rows frames belong to, and the order of names --- */
struct feed_groups {
	uint32_t *group_of;   /* by frame */
	uint32_t *frame_rank; /* by frame */
	uint32_t *group_rank; /* by group */
	uint32_t *frame_in;   /* by group: a frame that stands for it */
	bool *is_hidden;      /* by group: filtered out */
	uint32_t nr;
};
enum clew_err feed_groups_make(struct feed_groups *g, const struct feed_frames *frames,
			       const struct report_feed_opts *opts);
void feed_groups_done(struct feed_groups *g);

struct feed_step {
	const struct ana_loc *loc;
	uint32_t node; /* of the tree, with the location's frames */
};

/** A thread's last path, outermost first: the next one mostly starts alike. */
struct feed_path {
	struct {
		VEC(struct feed_step);
	} steps;
};
enum { FEED_PATHS = 32 };

struct report_feed {
	struct report_feed_opts opts;
	struct ana_filter_set filter;
	bool has_filter;
	struct report_tree tree;
	struct feed_frames frames;
	struct feed_groups groups;
	struct report_pass pass;
	struct {
		VEC(struct report_event);
	} events;               /* by index of the evsel */
	struct intern texts;    /* thread names, cgroups */
	struct intern tuples;   /* values of the sample keys -> key number */
	struct map_u64 text_of; /* pointer -> text number */
	struct {
		VEC(const char *);
	} comm_of; /* by key number: the last thread's name, for pid and tid columns */
	uint32_t *key_rank;

	uint64_t epoch;
	bool has_epoch;
	struct {
		VEC(uint32_t);
	} frame_of_loc, node_of_chain; /* by id of this epoch; REPORT_NONE: not yet */

	struct feed_path last_paths[FEED_PATHS]; /* by tid, modulo */

	/* the key found last: most samples have that of the one before */
	uint32_t last_key, last_pid, last_tid, last_cpu;
	const char *last_comm;
	bool has_last, is_plain_key; /* plain: made of nothing but what last_ holds */
};

/* --- feed_keys.c --- */
uint32_t feed_key(struct report_feed *f, const struct ana_event *e);
enum clew_err feed_rank_keys(struct report_feed *f);
uint64_t feed_key_value(const struct report_feed *f, uint32_t key, enum report_key k);
/** Append the text of one of the sample's properties. */
void feed_key_text(const struct report_feed *f, uint32_t key, enum report_key k, struct buf *out);

#endif
