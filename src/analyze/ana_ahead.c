/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_ahead.h"

#include "analyze/ana_stitch.h"
#include "analyze/ana_user_part.h"

enum clew_err ana_ahead_init(struct ana_ahead *d, const struct perf_file *first,
			     const struct perf_input *input, bool is_mapped)
{
	struct perf_input again = *input;
	struct clew_diag diag;
	enum clew_err err;

	again.progress = NULL; /* that says where the first reader is */
	*d = (struct ana_ahead){.stitch = ana_stitch_new(input, 0)};
	if (!d->stitch)
		return CLEW_NO_MEMORY;
	err = perf_file_reopen(&d->file, first, &diag);
	return err == CLEW_OK ? ana_reader_init(&d->reader, d->file, &again, is_mapped) : err;
}

void ana_ahead_done(struct ana_ahead *d)
{
	stitch_free(d->stitch);
	ana_reader_done(&d->reader);
	perf_file_free(d->file);
	*d = (struct ana_ahead){0};
}

static enum clew_err look_at(struct ana_ahead *d, const struct perf_record *r,
			     struct clew_perf_ns time)
{
	uint64_t cookie;
	uint32_t tid;

	if (r->type != PERF_RECORD_SAMPLE)
		return ana_stitch_record(d->stitch, d->file, r, time);
	if (!ana_stitch_key(d->file, r, &tid, &cookie))
		return CLEW_OK;
	return stitch_sample(d->stitch, tid, cookie, ana_time_or_first(time),
			     (void *)(uintptr_t)r->offset, 0);
}

static enum clew_err look_further(struct ana_ahead *d)
{
	struct clew_diag diag;
	struct perf_record r;
	struct clew_perf_ns time;
	enum clew_err err = ana_reader_next(&d->reader, &r, &time, &diag);

	if (err == CLEW_NO_MEMORY)
		return err;
	if (err != CLEW_OK) {
		stitch_end(d->stitch);
		d->is_at_end = true;
		return CLEW_OK;
	}
	err = look_at(d, &r, time);
	perf_block_release(r.block);
	return err;
}

enum clew_err ana_ahead_ask(struct ana_ahead *d, const struct perf_record *r, struct ana_user *ret)
{
	struct stitch_item item;
	enum clew_err err;

	for (;;) {
		/* Both readers meet the same samples in the same order, unless the file is being
		 * changed: then nothing is attached. */
		while (stitch_next(d->stitch, &item)) {
			if (item.item != (void *)(uintptr_t)r->offset)
				continue;
			ana_user_take(&item, ret);
			return CLEW_OK;
		}
		if (d->is_at_end) {
			ret->state = STITCH_LOST;
			ret->reason = STITCH_END;
			return CLEW_OK;
		}
		err = look_further(d);
		if (err != CLEW_OK)
			return err;
	}
}
