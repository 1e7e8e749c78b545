/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_DRAIN_H
#define RECORD_SESSION_DRAIN_H

#include "record/open/counters.h"
#include "record/open/record_mend.h"
#include "record/plan/source.h"
#include "record/running/build_ids.h"
#include "record/running/perf_maps.h"

/** What the sources brought, and the end of each round. */
struct rec_drain {
	const struct rec_sources *sources;
	uint64_t samples, lost;
	uint32_t nr_snapshots;
	uint64_t first_ns, last_ns; /* times of the first and last sample; 0: none yet */
	int time_words;             /* where a sample's time stands, in words; -1: it has none */
	int trailer_words;          /* the same of other records, back from their end */
	struct rec_build_ids *build_ids;
	struct rec_perf_maps *perf_maps; /* NULL: not looked for */
	bool reads_files; /* the kernel gives no build ids (before Linux 5.12): look into the files
			   */
	struct record_mend mend; /* what other recorders leave in our records */
	struct buf *seen;        /* where records of tasks and maps are also put; NULL: nowhere */
	struct buf scratch;      /* a record that crosses the ring's end */
};

/** @p with_build_ids: gather them for the BUILD_ID feature. */
void rec_drain_init(struct rec_drain *d, const struct rec_counters *c,
		    const struct rec_sources *sources, struct rec_build_ids *build_ids,
		    bool with_build_ids);

/** One pass: all that the sources have goes to the file; then FINISHED_ROUND, if there was
 * anything. No MMAP2 record says that it holds a build id if it does not.
 * @p is_last: of this file; overwritten rings, too. */
enum clew_err rec_drain_pass(struct rec_drain *d, struct rec_file *f, bool is_last);

/** Count the records of one piece, as rec_drain_pass() does; for bytes that come another way.
 * They are only looked at by their header, to count. @p aux: of their ring; NULL: not counted.
 * @return some must be mended. */
bool rec_drain_count(struct rec_drain *d, struct rec_aux_seen *aux, const struct bytes part[2]);

void rec_drain_done(struct rec_drain *d);

#endif
