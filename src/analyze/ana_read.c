/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_read.h"

#include "os/file.h"
#include "os/map_ahead.h"

enum { RELEASE_STEP = 32 << 20 }; /* of a mapped file, at a time */

enum clew_err ana_reader_init(struct ana_reader *rd, struct perf_file *file,
			      const struct perf_input *input, bool is_mapped)
{
	*rd = (struct ana_reader){
		.file = file, .progress = input->progress, .trail.step = RELEASE_STEP};
	if (is_mapped)
		rd->map = (struct os_map){input->data, input->size};
	rd->order = perf_order_new(0);
	if (!rd->order)
		return CLEW_NO_MEMORY;
	perf_order_set_budget(rd->order, input->budget);
	return CLEW_OK;
}

enum clew_err ana_reader_ignore_rounds(struct ana_reader *rd, const struct perf_input *input,
				       uint64_t limit)
{
	struct perf_order *order = perf_order_new(limit);

	if (!order)
		return CLEW_NO_MEMORY;
	perf_order_free(rd->order);
	perf_order_set_budget(order, input->budget);
	rd->order = order;
	rd->ignores_rounds = true;
	return CLEW_OK;
}

void ana_reader_done(struct ana_reader *rd)
{
	if (rd->has_mark)
		perf_block_release(rd->mark.block);
	os_map_ahead_stop(rd->ahead);
	perf_order_free(rd->order);
	*rd = (struct ana_reader){0};
}

/* The record's time without reading the rest of it; all ones: it has none. */
static struct clew_perf_ns time_of(struct ana_reader *rd, const struct perf_record *r)
{
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *evsel =
		perf_evlist_of_record(perf_file_evlist(rd->file), r->type, body, r->swap);
	struct perf_sample_id id;
	uint64_t type = evsel ? evsel->attr.sample_type : 0;

	if (!(type & PERF_SAMPLE_TIME))
		return clew_perf_ns_none();
	if (r->type == PERF_RECORD_SAMPLE) {
		size_t at =
			8 * (size_t)__builtin_popcountll(type & (PERF_SAMPLE_IDENTIFIER |
								 PERF_SAMPLE_IP | PERF_SAMPLE_TID));

		if (bytes_left(&body) < at + 8)
			return clew_perf_ns_none();
		return (struct clew_perf_ns){load_u64(body.pos + at, r->swap)};
	}
	if (perf_sample_id_parse(body, r->swap, &evsel->attr, &id) != CLEW_OK)
		return clew_perf_ns_none();
	return (struct clew_perf_ns){id.time};
}

/* Report progress and give back pages already read; records that the order still points to are read
 * again from the page cache. */
static void release_pages(struct ana_reader *rd)
{
	uint64_t pos = perf_file_pos(rd->file);

	progress_at(rd->progress, pos);
	if (!rd->map.data)
		return;
	os_map_ahead_reached(rd->ahead, pos);
	while (!rd->ahead && os_map_trail_next(&rd->trail, &rd->map, pos))
		;
}

/* Kernel records wait for their turn; what a tool wrote, or what has no time, counts from where it
 * stands. @return whether *r goes now. */
static enum clew_err take_next(struct ana_reader *rd, const struct perf_record *r,
			       struct clew_perf_ns *ret_time, bool *ret_goes)
{
	struct clew_perf_ns time = clew_perf_ns_none();

	if (r->type == PERF_RECORD_FINISHED_ROUND && rd->ignores_rounds)
		return CLEW_OK;
	if (r->type == PERF_RECORD_FINISHED_ROUND) {
		perf_order_round(rd->order);
		perf_block_hold(r->block);
		rd->mark = *r;
		rd->has_mark = rd->is_draining = true;
		return CLEW_OK;
	}
	if (r->type == PERF_RECORD_SAMPLE && rd->skips_samples)
		return CLEW_OK;
	if (r->type < PERF_RECORD_HEADER_ATTR)
		time = time_of(rd, r);
	if (!ana_has_place(time)) {
		perf_block_hold(r->block);
		*ret_time = time;
		*ret_goes = true;
		return CLEW_OK;
	}
	rd->is_draining = true;
	return perf_order_push(rd->order, r, time.ns);
}

static bool drain(struct ana_reader *rd, struct perf_record *ret, struct clew_perf_ns *ret_time)
{
	if (!rd->is_draining)
		return false;
	if (perf_order_pop(rd->order, ret, &ret_time->ns))
		return true;
	rd->is_draining = false;
	if (!rd->has_mark)
		return false;
	rd->has_mark = false;
	*ret = rd->mark;
	*ret_time = clew_perf_ns_none();
	return true;
}

enum clew_err ana_reader_next(struct ana_reader *rd, struct perf_record *ret,
			      struct clew_perf_ns *ret_time, struct clew_diag *diag)
{
	struct clew_diag why = {0};
	bool goes = false;

	while (!drain(rd, ret, ret_time)) {
		enum clew_err err;

		if (rd->end != CLEW_OK) {
			*diag = rd->why;
			return rd->end;
		}
		release_pages(rd);
		err = perf_file_next(rd->file, ret, &why);
		if (err == CLEW_OK)
			err = take_next(rd, ret, ret_time, &goes);
		if (goes)
			return CLEW_OK;
		if (err == CLEW_OK)
			continue;
		if (err == CLEW_NO_MEMORY || err == CLEW_OS) {
			*diag = why.code == err
				      ? why
				      : (struct clew_diag){.code = err, .what = "out of memory"};
			return err;
		}
		/* What is whole is delivered first. */
		rd->end = err;
		rd->why = why;
		perf_order_finish(rd->order);
		rd->is_draining = true;
	}
	return CLEW_OK;
}
