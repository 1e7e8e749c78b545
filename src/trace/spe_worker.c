/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_worker.h"

#include <string.h>

#include "base/mem.h"

void spe_worker_done(struct spe_worker *w)
{
	mem_free(w->records);
	if (w->fold)
		mem_free(w->fold->alike);
	mem_free(w->fold);
	if (w->keeper)
		spe_kept_done(&w->keeper->kept);
	mem_free(w->keeper);
}

static void set_by(struct spe_worker *w, enum trace_ops_fold by)
{
	struct spe_alike_set *a = w->fold->alike;

	w->fold->by = by;
	if (!a)
		return;
	spe_fold_care(w->fold, a->care);
	spe_reader_set_alike(w->records, a);
}

void spe_worker_count_by(struct spe_worker *w, enum trace_ops_fold by)
{
	if (w->fold->alike)
		memset(w->fold->alike, 0, sizeof(*w->fold->alike));
	set_by(w, by);
}

static bool make_fold(struct spe_worker *w, enum trace_ops_fold by, bool keeps)
{
	w->fold = mem_zalloc(sizeof(*w->fold));
	w->keeper = keeps ? mem_zalloc(sizeof(*w->keeper)) : NULL;
	if (!w->fold || (keeps && !w->keeper))
		return false;
	/* Without enough memory, all is read. */
	w->fold->alike = mem_zalloc(sizeof(*w->fold->alike));
	set_by(w, by);
	return true;
}

bool spe_worker_init(struct spe_worker *w, enum trace_ops_fold by, bool keeps,
		     const struct spe_asker *asker)
{
	w->asker = *asker;
	w->records = mem_zalloc(sizeof(*w->records));
	if (!w->records)
		return false;
	spe_reader_init(w->records, 0);
	return by == TRACE_OPS_EACH || make_fold(w, by, keeps);
}

size_t spe_worker_take(struct spe_worker *w)
{
	size_t nr = spe_reader_take(w->records, w->items, SPE_BATCH);

	/* Before an item is counted for other ticks. */
	if (w->fold)
		w->nr_records += spe_fold_collect(w->fold);
	return nr;
}

const struct spe_stay *spe_worker_stay(struct spe_worker *w, const struct spe_record *x)
{
	struct spe_stay *fresh;
	const struct spe_stay *s = spe_fold_stay(w->fold, x, &fresh);

	if (s)
		return s;
	spe_fold_begin(w->fold, fresh, w->asker.stay(w->asker.ctx, x));
	return fresh;
}

/** @return its index. */
static uint32_t fold_record(struct spe_worker *w, const struct spe_record *x,
			    const struct spe_stay **ret)
{
	const struct spe_many one = spe_one(x);

	*ret = spe_worker_stay(w, x);
	return spe_fold_add(w->fold, x, (*ret)->number, &one);
}

static void fold_alike(struct spe_worker *w, const struct spe_record *x)
{
	const struct spe_record whole = spe_alike_record(x);
	const struct spe_stay *s;
	uint32_t entry = fold_record(w, &whole, &s);

	spe_fold_remember(w->fold, x->alike, s, entry);
}

void spe_worker_fold(struct spe_worker *w, const struct spe_record *x)
{
	const struct spe_stay *s;

	if (!x->alike)
		fold_record(w, x, &s);
	else if (!spe_fold_again(w->fold, x))
		fold_alike(w, x);
}

/* --- parts --- */

void spe_worker_begin_part(struct spe_worker *w)
{
	if (w->keeper)
		spe_keeper_begin(w->keeper, w->records, w->range, w->nr_records);
}

void spe_worker_keep_part(struct spe_worker *w)
{
	if (w->fold->by != TRACE_OPS_BY_OWNER)
		spe_keeper_end(w->keeper, w->records, w->fold, w->nr_records);
}

void spe_worker_end_part(struct spe_worker *w)
{
	spe_fold_clear(w->fold, false);
	if (w->keeper->is_useless && w->fold->by != TRACE_OPS_BY_OWNER)
		spe_worker_count_by(w, TRACE_OPS_BY_OWNER);
	spe_worker_begin_part(w);
}

static bool cut_part(struct spe_worker *w)
{
	size_t at = 0;
	bool has_room;

	spe_worker_keep_part(w);
	has_room = spe_fold_pour(&w->keeper->owners, w->fold->all, w->fold->nr, &at);
	spe_worker_end_part(w);
	return has_room;
}

static bool fold_items(struct spe_worker *w, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (w->items[i].outcome != SPE_COMPLETE || spe_fold_is_full(w->fold))
			return false;
		spe_worker_fold(w, &w->items[i]);
	}
	w->nr_records += nr;
	return true;
}

bool spe_worker_read(struct spe_worker *w)
{
	bool is_clean = true;
	size_t nr = 1;

	spe_worker_begin_part(w);
	while (is_clean && nr) {
		if (spe_worker_must_end_part(w))
			is_clean = cut_part(w);
		nr = is_clean ? spe_worker_take(w) : 0;
		is_clean = is_clean && fold_items(w, nr);
	}
	return is_clean && (!w->keeper || cut_part(w));
}

void spe_worker_swap_readers(struct spe_worker *a, struct spe_worker *b)
{
	struct spe_reader *records = a->records;
	struct spe_alike_set *alike = a->fold->alike;

	a->records = b->records;
	b->records = records;
	a->fold->alike = b->fold->alike;
	b->fold->alike = alike;
	/* Where they were counted is of the other's fold. */
	if (alike)
		alike->generation++;
	if (a->fold->alike)
		a->fold->alike->generation++;
}
