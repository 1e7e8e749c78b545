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
	uint32_t cgroup; /* text: of the last sample */
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
	bool is_time;       /* weights are nanoseconds */
	bool has_put_lost;  /* they are in the first thread */
	uint32_t text_lost; /* names of markers */
	uint32_t text_cgroup;
};

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
