/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "format/page/page_impl.h"

enum { START_BYTES = 12 };

static enum clew_err put_start(struct page_out *o, const struct page_columns *c,
			       const struct ana_summary *s, const struct page_opts *opts)
{
	struct buf head = {0}, start = {0};
	enum clew_err err = page_head_put(&head, o, c, s, opts);

	while ((START_BYTES + head.nr) % 8 && !head.is_failed)
		buf_char(&head, ' '); /* columns stand at multiples of 8 */
	buf_str(&start, "CLEW");
	buf_le32(&start, PAGE_VERSION);
	buf_le32(&start, (uint32_t)head.nr);
	if (head.is_failed || start.is_failed)
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = page_gzip_add(o->gzip, start.data, start.nr);
	if (err == CLEW_OK)
		err = page_gzip_add(o->gzip, head.data, head.nr);
	buf_done(&head);
	buf_done(&start);
	return err;
}

static enum clew_err put_data(struct page_out *o, const struct ana_summary *s,
			      const struct page_opts *opts)
{
	struct page_columns columns;
	enum clew_err err = page_head_names(o, opts->files);

	if (err != CLEW_OK)
		return err;
	page_columns_plan(&columns, o);
	progress_begin_count(o->progress, "writing", page_columns_work(&columns));
	err = put_start(o, &columns, s, opts);
	if (err == CLEW_OK)
		err = page_columns_put(&columns, o);
	return err == CLEW_OK ? page_gzip_end(o->gzip) : err;
}

enum clew_err page_frame_begin(const struct page_frame *f, const char *more,
			       const struct clew_sink *sink)
{
	enum clew_err err = sink->write(sink->ctx, f->before, f->before_bytes);

	if (err == CLEW_OK)
		err = sink->write(sink->ctx, f->policy, strlen(f->policy));
	if (err == CLEW_OK)
		err = sink->write(sink->ctx, more, strlen(more));
	return err == CLEW_OK ? sink->write(sink->ctx, f->between, f->between_bytes) : err;
}

/* All that is still open. */
static enum clew_err end_times(struct page_feed *p, const struct ana_summary *s)
{
	const struct clew_perf_ns first = {p->first}, last = {p->last};
	enum clew_err err = page_intervals_finish(&p->intervals, p->first, p->last, &p->thread_of,
						  PAGE_MAX_INTERVALS);

	return err == CLEW_OK ? ana_pauses_end(&p->pausing, s, first, last) : err;
}

enum clew_err page_write(struct page_feed *p, const struct report_feed *f,
			 const struct ana_summary *s, const struct page_frame *frame,
			 const struct page_opts *opts, const struct clew_sink *sink)
{
	struct page_tree tree = {0};
	struct page_out o = {.page = p, .feed = f, .tree = &tree, .progress = opts->progress};
	enum clew_err err = page_rows_flush(p);

	o.gzip = page_gzip_new(sink, opts->part == PAGE_SECOND ? "other" : "data");
	if (err == CLEW_OK)
		err = o.gzip ? page_tree_make(&tree, f) : CLEW_NO_MEMORY;
	if (err == CLEW_OK && p->nr)
		err = end_times(p, s);
	if (err == CLEW_OK)
		err = page_tree_prune(&tree, p, f, opts->max_samples / 2);
	if (err == CLEW_OK)
		err = page_tree_add_levels(&tree, f);
	if (err == CLEW_OK)
		err = page_trace_walk(p, &tree);
	if (err == CLEW_OK)
		err = page_rows_merge(p, &tree, f, opts->max_samples);
	if (err == CLEW_OK)
		err = page_tree_count(&tree, p);
	if (err == CLEW_OK && opts->part != PAGE_SECOND)
		err = page_frame_begin(frame, opts->is_served ? PAGE_SERVED_POLICY : "", sink);
	if (err == CLEW_OK)
		err = put_data(&o, s, opts);
	if (err == CLEW_OK && opts->part != PAGE_FIRST)
		err = sink->write(sink->ctx, frame->after, frame->after_bytes);
	page_gzip_free(o.gzip);
	page_tree_done(&tree);
	intern_done(&o.strings);
	mem_free(o.names);
	mem_free(o.dsos);
	mem_free(o.files);
	mem_free(o.lines);
	mem_free(o.pair_names);
	mem_free(o.pair_dsos);
	buf_done(&o.bytes);
	return err;
}
