/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_defer.h"

#include "analyze/ana_stitch.h"
#include "analyze/ana_user_part.h"
#include "analyze/analyze_impl.h"
#include "base/mem.h"

/*
 * A sample's user stack may follow long after it. Where the input can be read twice, a second
 * reader goes ahead as far as the sample at hand needs: nothing but the samples in between is
 * remembered, and each record is played when it is its turn. A stream cannot be read twice: there
 * all records wait while a sample before them does. docs/decisions/stitching.md
 */

/* Of a stream that someone watches. */
#define STREAM_AGE_NS (10 * 1000000000ull)

static uint64_t max_age_ns(const struct ana_opts *o)
{
	if (!o->is_live)
		return 0;
	return o->max_wait_ns ? o->max_wait_ns : STREAM_AGE_NS;
}

enum clew_err ana_defer_start(struct analyze *a)
{
	struct ana_defer *d = &a->defer;
	bool is_stream = !a->input.data;
	enum clew_err err = CLEW_OK;

	if (d->mode != ANA_DEFER_OFF)
		return CLEW_OK;
	if (!is_stream) {
		err = ana_ahead_init(&d->ahead, a->file, &a->input, a->opts.is_mapped);
	} else {
		d->stitch = ana_stitch_new(&a->input, max_age_ns(&a->opts));
		err = d->stitch ? CLEW_OK : CLEW_NO_MEMORY;
	}
	d->mode = is_stream ? ANA_DEFER_QUEUE : ANA_DEFER_AHEAD;
	return err;
}

const struct stitch *ana_defer_stitch(const struct analyze *a)
{
	return a->defer.mode == ANA_DEFER_AHEAD ? a->defer.ahead.stitch : a->defer.stitch;
}

bool ana_defer_is_wanted(const struct analyze *a)
{
	return a->opts.wants_outcomes || (!a->opts.no_chains && !a->opts.no_merge);
}

/* A pipe's events come as it goes. */
enum clew_err ana_defer_check(struct analyze *a)
{
	const struct perf_evlist *l = perf_file_evlist(a->file);

	if (a->defer.mode != ANA_DEFER_OFF || a->defer.nr_evsels == l->evsels.nr ||
	    !ana_defer_is_wanted(a))
		return CLEW_OK;
	for (; a->defer.nr_evsels < l->evsels.nr; a->defer.nr_evsels++) {
		if (l->evsels.data[a->defer.nr_evsels]->attr.flags & PERF_ATTR_DEFER_CALLCHAIN)
			return ana_defer_start(a);
	}
	return CLEW_OK;
}

enum clew_err ana_defer_ask(struct analyze *a, const struct perf_record *r, struct ana_user *ret)
{
	if (a->defer.mode == ANA_DEFER_AHEAD)
		return ana_ahead_ask(&a->defer.ahead, r, ret);
	/* A stream's sample of which no event was known when it came. */
	ret->state = STITCH_LOST;
	ret->reason = STITCH_END;
	return CLEW_OK;
}

/* --- a stream --- */

struct waiting {
	struct perf_record record;
	struct clew_perf_ns time;
};

static void free_waiting(struct waiting *w)
{
	perf_block_release(w->record.block);
	mem_free(w);
}

bool ana_defer_next(struct analyze *a, struct ana_due *ret)
{
	struct waiting *w;

	if (!stitch_next(a->defer.stitch, &ret->item))
		return false;
	w = ret->item.item;
	ret->record = w->record;
	ret->time = w->time;
	ret->item.item = NULL;
	mem_free(w);
	return true;
}

bool ana_defer_waits(const struct perf_record *r, struct clew_perf_ns time)
{
	return ana_has_place(time) || r->type == PERF_RECORD_SAMPLE ||
	       r->type == PERF_RECORD_CALLCHAIN_DEFERRED;
}

static enum clew_err put_in(struct analyze *a, struct waiting *w)
{
	struct ana_defer *d = &a->defer;
	const struct perf_record *r = &w->record;
	struct clew_perf_ns time = ana_time_or_first(w->time);
	uint64_t cookie;
	size_t bytes = sizeof(*w) + r->size;
	uint32_t tid;
	enum clew_err err;

	if (r->type == PERF_RECORD_SAMPLE && ana_stitch_key(a->file, r, &tid, &cookie))
		return stitch_sample(d->stitch, tid, cookie, time, w, bytes);
	if (r->type != PERF_RECORD_SAMPLE) {
		err = ana_stitch_record(d->stitch, a->file, r, w->time);
		if (err != CLEW_OK)
			return err;
	}
	return stitch_other(d->stitch, time, w, bytes);
}

enum clew_err ana_defer_take(struct analyze *a, const struct perf_record *r,
			     struct clew_perf_ns time)
{
	struct waiting *w = mem_alloc(sizeof(*w));
	enum clew_err err;

	if (!w)
		return CLEW_NO_MEMORY;
	*w = (struct waiting){*r, time};
	perf_block_hold(r->block);
	err = put_in(a, w);
	if (err != CLEW_OK)
		free_waiting(w);
	return err;
}

void ana_defer_end(struct analyze *a)
{
	if (a->defer.mode == ANA_DEFER_QUEUE)
		stitch_end(a->defer.stitch);
}

void ana_defer_done(struct ana_defer *d)
{
	struct stitch_item item;

	if (d->stitch)
		stitch_end(d->stitch);
	while (d->stitch && stitch_next(d->stitch, &item))
		free_waiting(item.item);
	stitch_free(d->stitch);
	ana_ahead_done(&d->ahead);
	*d = (struct ana_defer){0};
}
