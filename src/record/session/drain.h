/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_DRAIN_H
#define RECORD_SESSION_DRAIN_H

#include "record/open/counters.h"
#include "record/open/record_mend.h"
#include "record/plan/rec_file.h"
#include "record/running/build_ids.h"
#include "record/stacks/user_stacks.h"

/** What the rings brought, and the way from them into the file. */
struct rec_drain {
	uint64_t samples, lost, aux_bytes;
	uint64_t first_ns, last_ns; /* times of the first and last sample; 0: none yet */
	int time_words;             /* where a sample's time stands, in words; -1: it has none */
	struct rec_build_ids *build_ids;
	bool reads_files; /* the kernel tells no build ids (before Linux 5.12): look into the files
			   */
	struct record_mend mend;    /* what other recorders leave in our records */
	bool needs_mending;         /* the span counted last has such records */
	struct buf mended;          /* that span, mended */
	struct user_stacks *stacks; /* rewrites samples; NULL: they go as they are */
	struct buf *seen;   /* where records of tasks and maps are also put; NULL: nowhere */
	struct buf scratch; /* a record that crosses the ring's end */
};

/** @p with_build_ids: gather them for the BUILD_ID feature. */
void rec_drain_init(struct rec_drain *d, const struct rec_counters *c,
		    struct rec_build_ids *build_ids, bool with_build_ids);

/**
 * One pass: all that lies in the rings goes to the file; then FINISHED_ROUND, if there was
 * anything. Without d->stacks each span goes in one piece, and records are only looked at by their
 * header, to count. No MMAP2 record says that it holds a build id if it does not.
 * @p with_backward: the overwritten rings too, which are paused meanwhile.
 */
enum clew_err rec_drain_pass(struct rec_drain *d, const struct rec_counters *c, struct rec_file *f,
			     bool with_backward);

/** Count the records of one piece, as rec_drain_pass() does; for bytes that come another way. */
void rec_drain_count(struct rec_drain *d, const struct bytes part[2]);

void rec_drain_done(struct rec_drain *d);

#endif
