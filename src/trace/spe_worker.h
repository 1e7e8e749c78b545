/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SPE_WORKER_H
#define TRACE_SPE_WORKER_H

#include "trace/spe_kept.h"

/* One thread's part in reading a unit: it reads records and counts them together. */

enum { SPE_BATCH = 256 };

/** Asks for the ticks at which the answers about a record hold. */
struct spe_asker {
	struct trace_stay (*stay)(void *ctx, const struct spe_record *x);
	void *ctx;
};

struct spe_worker {
	struct spe_reader *records;
	struct spe_fold *fold;     /* NULL: each record counts alone */
	struct spe_keeper *keeper; /* NULL: nothing is kept */
	struct spe_asker asker;
	uint64_t range;      /* number of the AUX range that it reads */
	uint64_t nr_records; /* counted, and those that the owner adds */
	struct spe_record items[SPE_BATCH];
};

/** TRACE_OPS_EACH in @p by: it only reads. @return false: no memory; spe_worker_done() it. */
bool spe_worker_init(struct spe_worker *w, enum trace_ops_fold by, bool keeps,
		     const struct spe_asker *asker);
void spe_worker_done(struct spe_worker *w);

/** Nothing is counted now. By what from here on? */
void spe_worker_count_by(struct spe_worker *w, enum trace_ops_fold by);

/** Items of the reader. @return how many; 0: none is left. */
size_t spe_worker_take(struct spe_worker *w);

const struct spe_stay *spe_worker_stay(struct spe_worker *w, const struct spe_record *x);
/** Count it; there is room. */
void spe_worker_fold(struct spe_worker *w, const struct spe_record *x);

/** With a keeper: what is counted from here on is a part. */
void spe_worker_begin_part(struct spe_worker *w);
/** What was counted is one, to be kept where that is of use. */
void spe_worker_keep_part(struct spe_worker *w);
/** It was taken: count from 0. Where records differ, by owner alone. The next one begins. */
void spe_worker_end_part(struct spe_worker *w);
/** No room for a batch; or damage, after which another part may begin. */
static inline bool spe_worker_must_end_part(const struct spe_worker *w)
{
	return w->keeper && (w->fold->nr + SPE_BATCH > SPE_FOLD_RECORDS || !w->keeper->is_known);
}

/** Count all that the reader was fed. @return false: it is not nothing but records, or there is no
 * room for them. */
bool spe_worker_read(struct spe_worker *w);

/** Exchange the readers; each worker counts where it did before. */
void spe_worker_swap_readers(struct spe_worker *a, struct spe_worker *b);

#endif
