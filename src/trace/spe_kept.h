/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SPE_KEPT_H
#define TRACE_SPE_KEPT_H

#include "base/budget.h"
#include "base/vec.h"
#include "trace/spe_fold.h"

/* Parts of the trace that hold nothing but records, counted: trace_ops_kept.data of SPE. */

struct spe_part {
	uint64_t range; /* number of the AUX range, of all that the unit was fed */
	struct spe_place begin, end;
	uint64_t nr_records, padding_bytes;
	size_t first, nr_entries;
};

struct spe_kept {
	struct {
		VEC(struct spe_part);
	} parts; /* in their order */
	struct {
		VEC(struct spe_folded);
	} entries; /* of each part, in the order of their first records */
};

void spe_kept_done(struct spe_kept *k);
/** Empty it; its memory stays. */
void spe_kept_clear(struct spe_kept *k);

/** Append all of @p from, which is empty then. @return false: over the budget, or no memory. */
bool spe_kept_take(struct spe_kept *k, struct spe_kept *from, struct budget *b);

/** A pass that uses what an earlier one kept. */
struct spe_counted {
	struct spe_kept *kept; /* NULL: nothing */
	size_t next;           /* part */
	bool is_in_part;       /* that one; it is counted already */
};

/** The part that begins at @p offset or next after it. NULL: none in this range. */
const struct spe_part *spe_counted_next(struct spe_counted *c, uint64_t range, uint64_t offset);

/** Of one thread: the part that it reads. */
struct spe_keeper {
	struct spe_kept kept;   /* until spe_kept_take() */
	struct spe_fold owners; /* by owner, all that was counted and not emitted */
	struct spe_part part;   /* its begin; the others as they were before it */
	bool is_known;          /* where it begins, and that it holds only records so far */
	bool is_useless;        /* records differ */
};

/** A part begins where @p r stands, after @p nr_records. */
void spe_keeper_begin(struct spe_keeper *k, const struct spe_reader *r, uint64_t range,
		      uint64_t nr_records);
/** It ends where @p r stands; @p f has counted it. It is kept where that saves reading. */
void spe_keeper_end(struct spe_keeper *k, const struct spe_reader *r, const struct spe_fold *f,
		    uint64_t nr_records);

#endif
