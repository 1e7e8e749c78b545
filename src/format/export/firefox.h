/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_FIREFOX_H
#define FORMAT_EXPORT_FIREFOX_H

#include "export/export_spool.h"
#include "format/export/export_formats.h"
#include "format/json_put.h"

enum { FIREFOX_NS_DECIMALS = 6 /* of a millisecond */ };

/* One thread of the profile. */
struct firefox_track {
	uint64_t first, last, nr; /* of its samples */
	uint64_t nr_markers;
	uint64_t out;          /* since when it is off all CPUs */
	bool is_off, is_ready; /* off: ready to run, not waiting */
	uint32_t cgroup;       /* text: of the last sample */
};

enum firefox_kind {
	FIREFOX_SAMPLE,
	FIREFOX_LOST,
	FIREFOX_CGROUP,
	FIREFOX_SWITCH,
	FIREFOX_PAUSED,
	FIREFOX_NR_KINDS
};

/* A sample or marker, as it stands in the spool. */
struct firefox_item {
	uint64_t time, weight; /* of a marker: its number, or a text */
	uint64_t more;         /* of a sample: CPU time; of an interval: its end */
	uint32_t node, kind;
};

struct firefox_column {
	const char *key;
	void (*put)(struct export *x, const struct firefox_item *item);
};

struct firefox {
	struct export_spool spool; /* two series per track: samples, markers */
	struct {
		VEC(struct firefox_track);
	} tracks;             /* by thread + 1; 0: of the unknown thread */
	struct map_u64 mains; /* pid -> its main thread */
	uint64_t start;       /* earliest time of all records: the profile's 0 */
	uint32_t *source_of;  /* text -> row of sources + 1 */
	struct {
		VEC(uint32_t);
	} sources; /* texts */
	struct {
		VEC(uint32_t);
	} base_names; /* texts, by binary */
	struct json_put json;
	bool is_time;                            /* weights are nanoseconds */
	bool has_put_lost;                       /* they are in the first thread */
	uint32_t marker_names[FIREFOX_NR_KINDS]; /* texts */
	uint32_t waiting, preempted;             /* texts */
};

/* --- firefox.c --- */

static inline struct json_put *firefox_json(struct export *x)
{
	struct firefox *p = export_state(x);

	return &p->json;
}

/** NULL: no memory. */
struct firefox_track *firefox_track_at(struct firefox *p, uint32_t n);
/** The profile's 0 is the earliest. @return @p time, not before what came before in the track. */
uint64_t firefox_note_time(struct firefox *p, const struct firefox_track *track, uint64_t time);
void firefox_put_ms(struct export *x, uint64_t time);

/* --- firefox_markers.c --- */

extern const struct firefox_column firefox_marker_columns[]; /* ends with a NULL key */

enum clew_err firefox_name_markers(struct export *x);
/** @p cgroup: text; 0: none. */
enum clew_err firefox_note_cgroup(struct firefox *p, uint32_t n, uint64_t time, uint32_t cgroup);
enum clew_err firefox_put_lost(struct export *x, const struct export_lost *l);
enum clew_err firefox_put_switch(struct export *x, const struct export_switch *s);
enum clew_err firefox_put_pause(struct export *x, const struct ana_pause *p);
void firefox_put_schemas(struct json_put *j);

/* --- firefox_meta.c --- */

enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_GUEST_USER,
	FIREFOX_GUEST_KERNEL,
	FIREFOX_HYPERVISOR,
	FIREFOX_CUT,
};

/** @p e: the one that is written; NULL: none. */
void firefox_put_meta(struct export *x, const struct export_event *e, const char *product);

/* --- firefox_tables.c --- */

enum clew_err firefox_put_libs(struct export *x);
/** "shared": what all threads have in common. Adds texts first, none while it writes. */
enum clew_err firefox_put_shared(struct export *x);

#endif
