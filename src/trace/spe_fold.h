/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SPE_FOLD_H
#define TRACE_SPE_FOLD_H

#include "packet/spe/spe_alike.h"
#include "packet/spe/spe_record.h"
#include "trace/trace_ops.h"

/* Counts records that are alike, so that a question about all of them is asked once. */

enum { SPE_FOLD_RECORDS = 1024, SPE_FOLD_STAYS = 64 };

/** A range of ticks in which records with equal contexts and levels have the same answer. */
struct spe_stay {
	uint64_t owner, contexts; /* the question's: see spe_fold.c */
	struct trace_stay ticks;
	uint32_t number; /* 0: unused */
};

static inline struct spe_many spe_one(const struct spe_record *r)
{
	return (struct spe_many){1, r->timestamp, r->timestamp};
}

struct spe_fold {
	enum trace_ops_fold by;
	struct spe_alike_set *alike;        /* of the reader; NULL: it has none */
	uint32_t nr, last_stay, first_stay; /* stays are numbered from first_stay + 1 on */
	struct spe_stay stays[SPE_FOLD_STAYS];
	uint16_t slots[4 * SPE_FOLD_RECORDS]; /* number + 1; 0: empty */
	struct spe_folded {
		struct spe_record first;
		struct spe_many many;
		uint32_t stay;
	} all[SPE_FOLD_RECORDS];
};

/** The stay that holds @p r. NULL: it is new, *ret_new; the caller sets its ticks and number
 * (spe_fold_begin()). */
const struct spe_stay *spe_fold_stay(struct spe_fold *f, const struct spe_record *r,
				     struct spe_stay **ret_new);
void spe_fold_begin(struct spe_fold *f, struct spe_stay *s, struct trace_stay ticks);

static inline bool spe_fold_is_full(const struct spe_fold *f)
{
	return f->nr == SPE_FOLD_RECORDS;
}

/** Count @p many records, of which @p r is the first; there is room. @p stay: the number of their
 * stay. @return their index. */
uint32_t spe_fold_add(struct spe_fold *f, const struct spe_record *r, uint32_t stay,
		      const struct spe_many *many);

/** What of a record @p f looks at: spe_alike_set.care. */
void spe_fold_care(const struct spe_fold *f, uint64_t care[SPE_NR_FIELDS]);

/** Count @p r, of .alike, where the last one alike was counted. @return false: its stay is another
 * one. */
static inline bool spe_fold_again(struct spe_fold *f, const struct spe_record *r)
{
	const struct spe_alike *x = r->alike;
	const struct spe_many one = spe_one(r);

	if (x->counted.generation != f->alike->generation ||
	    r->timestamp - x->counted.from >= x->counted.ticks)
		return false;
	spe_many_add(&f->all[x->counted.entry].many, &one);
	return true;
}

/** @p entry, of stay @p s, is where those alike are counted from here on, by the reader too. */
void spe_fold_remember(const struct spe_fold *f, struct spe_alike *x, const struct spe_stay *s,
		       uint32_t entry);

/** Count what the reader has. @return how many records. */
uint64_t spe_fold_collect(struct spe_fold *f);

/** Count what the @p nr of @p from stand for, from *at on. @return false: there is no room for *at.
 */
bool spe_fold_pour(struct spe_fold *f, const struct spe_folded *from, size_t nr, size_t *at);

/** Drop all records; with @p forgets the stays, too. */
void spe_fold_clear(struct spe_fold *f, bool forgets);

#endif
