/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SPE_FOLD_H
#define TRACE_SPE_FOLD_H

#include "packet/spe/spe_record.h"
#include "trace/trace_ops.h"

/* Records that are alike, counted: what is asked of each is asked once. */

enum { SPE_FOLD_RECORDS = 1024, SPE_FOLD_STAYS = 16 };

/** A time that records with equal contexts and levels are in: asked once. */
struct spe_stay {
	uint64_t owner, contexts; /* what is asked with: see spe_fold.c */
	struct trace_stay ticks;
	uint32_t number; /* 0: unused */
};

struct spe_fold {
	enum trace_ops_fold by;
	uint32_t nr, last_stay;
	struct spe_stay stays[SPE_FOLD_STAYS];
	uint16_t slots[4 * SPE_FOLD_RECORDS]; /* number + 1; 0: empty */
	struct spe_folded {
		struct spe_record first;
		uint64_t nr;
		uint32_t stay;
	} all[SPE_FOLD_RECORDS];
};

/** The stay @p r is in. NULL: a new one, *ret_new; the caller sets its ticks and number
 * (spe_fold_begin()). */
const struct spe_stay *spe_fold_stay(struct spe_fold *f, const struct spe_record *r,
				     struct spe_stay **ret_new);
void spe_fold_begin(struct spe_fold *f, struct spe_stay *s, struct trace_stay ticks);

static inline bool spe_fold_is_full(const struct spe_fold *f)
{
	return f->nr == SPE_FOLD_RECORDS;
}

/** Count a record; there is room. */
void spe_fold_add(struct spe_fold *f, const struct spe_record *r, const struct spe_stay *stay);
/** All were taken: begin afresh. @p forgets: with the stays. */
void spe_fold_clear(struct spe_fold *f, bool forgets);

#endif
