/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_KEPT_MAPS_H
#define PERFDATA_PERF_KEPT_MAPS_H

#include "base/buf.h"
#include "base/vec.h"
#include "perfdata/perf_features.h"

/*
 * Copies of the perf-PID.map files of recorded processes: the content of the header feature
 * PERF_FEAT_CLEW_MAPS, which other readers pass over; docs/spec/perf-data.md has its bytes.
 */

struct perf_kept_map {
	uint32_t pid;
	uint64_t time; /* when the process was first seen to make code, as in records; 0: before */
	size_t bytes;  /* of the text; 0: it had no map */
	struct bytes packed; /* borrowed from the features */
};

/** Sorted by pid and time. Zeroed: none. Free with perf_kept_maps_done(). */
struct perf_kept_maps {
	VEC(struct perf_kept_map);
};

enum { PERF_KEPT_MAP_MAX = 64 << 20 /* bytes of a text */ };

/** @return CLEW_OK, also where there are none; CLEW_UNSUPPORTED: of another version; CLEW_BAD_FILE:
 * damaged, @p ret has those before the damage; CLEW_NO_MEMORY. */
enum clew_err perf_kept_maps_parse(const struct perf_features *f, struct perf_kept_maps *ret);
void perf_kept_maps_done(struct perf_kept_maps *m);

/** Unpack one into @p text of its @p bytes. @return false: damaged. */
bool perf_kept_map_unpack(struct bytes packed, char *text, size_t bytes);

/** Append the start of the content; then each map: @p packed is of perf_pack_kept_map(). */
void perf_put_kept_maps(struct buf *b);
void perf_put_kept_map(struct buf *b, const struct perf_kept_map *m);

/** Append the packed text. */
void perf_pack_kept_map(struct buf *b, const char *text, size_t bytes);

#endif
