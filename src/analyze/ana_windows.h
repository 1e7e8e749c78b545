/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_WINDOWS_H
#define ANALYZE_ANA_WINDOWS_H

#include <clew/time.h>

#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "perfdata/perf_id_owners.h"
#include "perfdata/perf_sample.h"

/*
 * Snapshots of hardware trace: each AUXTRACE record of an AUX area that overwrites itself is a
 * window, the newest bytes of it; a recorder takes those of all areas together. The AUX records
 * before a window, in the file, are of it, and have the times at which their bytes end.
 */

enum { ANA_WINDOWS_MAX = 1 << 20, ANA_WINDOW_AUX_MAX = 1 << 22 };

struct ana_window {
	uint32_t cpu, tid; /* of the area; all ones: none */
	uint32_t ring, snapshot;
	uint64_t at; /* in the file */
	uint64_t offset, bytes;
	bool is_full; /* older trace of its time was overwritten */
	/* What is certain: all between is in it. from 0: since tracing began; none: unknown. */
	struct clew_perf_ns from, to;
};

/** An AUX record of an area that overwrites itself. */
struct ana_window_aux {
	uint64_t at, event, end, bytes;
	struct clew_perf_ns time;
	uint32_t cpu, tid, ring;
};

/** Windows that were taken together: [first, first + nr). */
struct ana_snapshot {
	size_t first, nr;
	uint64_t bytes;
	struct clew_perf_ns from, to; /* since when all windows are complete; the latest end */
};

struct ana_windows {
	struct map_u64 by_key; /* perf_auxtrace_ring() -> ring */
	struct map_u64 owners; /* perf_id_owners */
	uint32_t nr_rings;
	struct {
		VEC(struct ana_window);
	} all; /* in the order of the file */
	struct {
		VEC(struct ana_window_aux);
	} aux; /* closed: by ring, in the order of the file */
	struct {
		VEC(struct ana_snapshot);
	} snapshots;
	uint64_t nr_omitted; /* windows: over a limit */
	struct budget_account account;
};

/* @return false: no memory. */

bool ana_windows_take_ids(struct ana_windows *x, const struct perf_record *r);
bool ana_windows_take_aux(struct ana_windows *x, const struct perf_record *r,
			  const struct perf_sample_id *id);
bool ana_windows_take_buffer(struct ana_windows *x, const struct perf_record *r);
/** All is there: which windows are of one snapshot, and their times. Without AUX records that
 * overwrite there are none. */
bool ana_windows_close(struct ana_windows *x);
void ana_windows_done(struct ana_windows *x);

#endif
