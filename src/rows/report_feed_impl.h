/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_REPORT_FEED_IMPL_H
#define ROWS_REPORT_FEED_IMPL_H

#include "analyze/ana_filter.h"
#include "rows/feed_ops.h"
#include "rows/report_feed.h"

/** A place in code that rows and graphs are made of. Everything a name needs outlives the epochs.
 */
struct feed_frame {
	const struct dso *dso;
	const struct dso_sym *sym;
	const char *function; /* of an inlined one, else NULL */
	const char *file;     /* of its source line; NULL: unknown or not wanted */
	uint64_t rel;
	uint32_t line;
	uint8_t level;  /* enum ana_level */
	bool is_return; /* as ana_loc's */
};

/* --- feed_frames.c: frames to dense numbers --- */
struct feed_frames {
	struct {
		VEC(struct feed_frame);
	} all;
	uint32_t *slots; /* number + 1; 0: empty */
	size_t cap;
	bool is_exact; /* frames differ by address, not only by symbol */
	struct budget_account account;
};
enum {
	FEED_MAX_FRAMES = 16 << 20,
	/* With slots of tables that double, and with its group. */
	FEED_FRAME_BYTES = 2 * sizeof(struct feed_frame) + 256,
	FEED_KEY_BYTES = 160, /* beside its text or values */
};

/** @return the number, or REPORT_NONE when memory is short. */
uint32_t feed_frame_add(struct feed_frames *t, const struct feed_frame *frame);
void feed_frames_done(struct feed_frames *t);

const char *feed_dso_name(const struct dso *dso);
char feed_level_letter(uint8_t level);

/* --- feed_groups.c: what rows frames belong to, and the order of names --- */

/** What distinguishes groups. Everything not requested stays 0. */
struct feed_identity {
	uint32_t dso, kind;
	uint64_t a, b;
	uint32_t file, line;
	uint64_t place;
};

struct feed_names {
	struct intern dsos, files, functions;
};

/** @return false when memory is short. */
bool feed_identify(struct feed_names *names, const struct report_sort *sort,
		   const struct feed_frame *f, struct feed_identity *ret);
void feed_names_done(struct feed_names *names);

/** Is its file one of opts.dsos, its function one of opts.symbols? */
bool feed_is_listed(const struct feed_frame *f, const struct report_feed_opts *opts);
/** Has its function's name opts.symbol_part in it? */
bool feed_has_part(const struct feed_frame *f, const struct report_feed_opts *opts);
/** Are rows of it omitted? */
bool feed_is_hidden(const struct feed_frame *f, const struct report_feed_opts *opts);

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

/** Numbers by number, such as a frame for each location; REPORT_NONE: not yet. */
struct feed_memo {
	VEC(uint32_t);
};

/* --- feed_ends.c: where branches come from and go to --- */

/** One branch: an entry of a branch stack, or an event of decoded trace. */
struct feed_branch {
	const struct ana_loc *from, *to; /* NULL: unknown */
	uint64_t flags;                  /* as struct perf_branch */
	bool has_flags;
};

enum feed_end { FEED_END_SYM, FEED_END_DSO, FEED_END_SRCLINE, FEED_NR_ENDS };

/** Ends of branches as values of sort keys. */
struct feed_ends {
	struct feed_names names;
	struct intern ids;                       /* kind and identity -> value */
	struct feed_memo frame_of;               /* by value: a frame that stands for it */
	struct feed_memo of_frame[FEED_NR_ENDS]; /* value by frame */
};

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
	bool has_filter, has_frame_key;
	bool is_file_enough; /* rows are the same wherever in a file a nameless place is */
	struct report_tree tree;
	struct feed_frames frames;
	struct feed_groups groups;
	struct report_pass pass;
	struct {
		VEC(struct report_event);
	} events;                     /* by index of the evsel */
	struct intern texts;          /* thread names, cgroups */
	struct intern tuples;         /* values of the sample keys -> key number */
	struct map_u64 text_of;       /* pointer -> text number */
	struct feed_carried *carried; /* names of feeds that it is made of; NULL: none */
	struct feed_ends ends;
	struct feed_ops ops;
	struct map_u64 namespace_of; /* inode of the PID namespace by pid */
	struct {
		VEC(const char *);
	} comm_of; /* by key number: the last thread's name, for pid and tid columns */
	uint32_t *key_rank;
	struct budget_account account; /* of texts and keys */
	uint32_t other_key;            /* of samples with no room for their own; 0: none yet */

	uint64_t epoch;
	bool has_epoch;
	struct feed_memo frame_of_loc, node_of_chain; /* by id of this epoch */

	struct feed_path last_paths[FEED_PATHS]; /* by tid, modulo */
	const struct dso *last_file;             /* with last_file_node, unless that is the root */
	uint32_t last_file_node;

	/* the key found last: most samples have that of the one before */
	uint32_t last_key, last_pid, last_tid, last_cpu;
	const char *last_comm;
	bool has_last, is_plain_key; /* plain: made of nothing but what last_ holds */
};

/* --- feed_carry.c --- */
struct feed_carried;
void feed_carried_free(struct feed_carried *c);

/* --- report_feed.c --- */
/** The counts of an event, made if missing. NULL: no memory. */
struct report_event *feed_event_of(struct report_feed *f, const struct perf_evsel *evsel);

/* --- feed_paths.c: from samples to nodes of the tree --- */
bool feed_memo_grow(struct feed_memo *m, size_t want);

/** The slot of @p id; REPORT_NONE in it: not yet. NULL: memory is short. */
static inline uint32_t *feed_memo_at(struct feed_memo *m, uint32_t id)
{
	return id < m->nr || feed_memo_grow(m, (size_t)id + 1) ? &m->data[id] : NULL;
}

struct feed_frame feed_frame_at(const struct report_feed *f, const struct ana_loc *loc);
/** The number of the location's innermost frame, or REPORT_NONE when memory is short. */
uint32_t feed_frame_of(struct report_feed *f, const struct ana_loc *loc);
/** The location's frames below *node: more than one where functions are inlined there. */
enum clew_err feed_descend(struct report_feed *f, const struct ana_loc *loc, uint32_t *node);
/** CLEW_LIMIT: the tree is full. */
enum clew_err feed_path(struct report_feed *f, const struct ana_event *e, uint32_t *ret);
/** Then: the sampled function alone, or where even that is new, an empty path. */
enum clew_err feed_short_path(struct report_feed *f, const struct ana_event *e, uint32_t *ret);

/* --- feed_ends.c --- */
/** What the event is, apart from a branch stack. */
struct feed_branch feed_event_branch(const struct ana_event *e);
/** The value of a branch's key. @return false when memory is short. */
bool feed_branch_value(struct report_feed *f, const struct feed_branch *b, enum report_key k,
		       uint64_t *ret);
void feed_branch_text(const struct report_feed *f, uint64_t value, enum report_key k,
		      struct buf *out);
int feed_compare_ends(const struct report_feed *f, uint64_t a, uint64_t b, enum report_key k);
void feed_ends_done(struct feed_ends *e);

/* --- feed_branches.c --- */
/** Count the branches of a sample. @p keeps: the filter does. */
enum clew_err feed_take_branches(struct report_feed *f, struct report_event *ev,
				 const struct ana_event *e, bool keeps);

/* --- feed_frame_text.c --- */
/** Append what a row of frame @p frame shows for @p key, which is one of frames. */
void feed_frame_text(const struct report_feed *f, uint32_t frame, enum report_key key,
		     struct buf *out);

/* --- feed_weigh.c --- */
/** Room for a new key or text. */
bool feed_take_key(struct report_feed *f, uint64_t bytes);
/** Of all events it stands for. */
static inline uint64_t feed_period(const struct ana_event *e)
{
	return e->period * (1 + e->nr_more);
}

/** Count @p nr samples or branches in a row; in none if there is no room. */
enum clew_err feed_weigh(struct report_feed *f, struct report_event *ev, uint32_t key,
			 uint32_t node, uint64_t nr, uint64_t period);

/* --- feed_who.c: who ran as values of sort keys --- */
/** The thread's name; for what is no thread its kind in brackets, so that idle, outside, either and
 * unknown are rows apart. */
const char *feed_comm(const struct ana_event *e);
/** Idle, outside or unknown, without an id that is shown. */
bool feed_is_no_thread(const struct ana_event *e);
/** The number of the text. INTERN_FAILED: no memory. */
enum clew_err feed_take_namespaces(struct report_feed *f, const struct ana_event *e);
uint32_t feed_who_value(struct report_feed *f, const struct ana_event *e, enum report_key k);

/* --- report_feed.c --- */
/** Forget numbers of another epoch. */
void feed_begin_batch(struct report_feed *f, const struct ana_batch *b);
/** Has the sample a row, as far as opts choose samples? Rows may be hidden, too. */
bool feed_shows(struct report_feed *f, const struct ana_event *e);

/* --- feed_keys.c --- */
/** @p b: NULL: of an event that is none. @return REPORT_NONE when memory is short. */
uint32_t feed_key(struct report_feed *f, const struct ana_event *e, const struct feed_branch *b);
/** The key of these values of the sort keys that are none of frames, in their order, and one value
 * more (0). @p comm: NULL: unknown. REPORT_NONE: no memory. */
uint32_t feed_add_key(struct report_feed *f, const uint64_t *values, size_t nr, const char *comm);
enum clew_err feed_rank_keys(struct report_feed *f);
uint64_t feed_key_value(const struct report_feed *f, uint32_t key, enum report_key k);
/** Append the text of one of the sample's properties. */
void feed_key_text(const struct report_feed *f, uint32_t key, enum report_key k, struct buf *out);

#endif
