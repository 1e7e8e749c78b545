/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/diff_page.h"

#include "base/buf_sink.h"
#include "base/err.h"
#include "cli/common/message.h"
#include "cli/report_page.h"
#include "format/page/page_gzip.h"
#include "format/report/diff_json.h"
#include "os/output.h"

static int make(const struct diff_args *a, const char *path, enum page_part part,
		struct diff_feed *diff, struct buf *ret, bool *ret_is_damaged)
{
	struct report_args r;
	bool has_samples;
	int status;

	report_args_init(&r);
	r.in = a->in;
	r.in.path = path;
	r.in.named_by = "'clew diff A B'";
	r.itrace = a->itrace;
	r.is_single_threaded = a->is_single_threaded;
	r.html = a->html;
	status = report_args_finish(&r);
	if (status >= 0)
		return status;
	status = report_page_make(&r, part, diff, ret, &has_samples);
	*ret_is_damaged |= status == CLI_FAILED && has_samples;
	return has_samples ? CLI_OK : status;
}

/** The page: its frame and recording B, the rows, recording A and the end of the frame. */
struct diff_parts {
	struct buf first, rows, second;
};

static void parts_done(struct diff_parts *p)
{
	buf_done(&p->first);
	buf_done(&p->rows);
	buf_done(&p->second);
}

static int write_file(const char *path, const struct diff_parts *p)
{
	const struct buf *parts[] = {&p->first, &p->rows, &p->second};
	struct clew_diag diag = {.code = CLEW_OS, .what = "write"};
	struct os_output out;
	int err = os_output_create_late(&out, path);

	if (!err) {
		for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++)
			err = os_output_add(&out, parts[i]->data, parts[i]->nr);
		err = os_output_end(&out, path, err);
	}
	diag.os_errno = -err;
	return err ? cli_fail(path, &diag) : CLI_OK;
}

/* What --json prints: values, errors and what is significant have one place. */
static int add_rows(const struct diff_args *a, const struct diff_feed *diff, struct buf *to)
{
	const struct clew_sink out = buf_sink(to);
	struct page_gzip *gzip = page_gzip_new(&out, "rows");
	struct diff_input inputs[REPORT_DIFF_MAX] = {{0}};
	enum clew_err err = gzip ? CLEW_OK : CLEW_NO_MEMORY;

	for (uint32_t i = 0; i < a->nr_paths; i++)
		inputs[i].path = a->paths[i];
	if (err == CLEW_OK)
		err = diff_json(diff, inputs, page_gzip_sink(gzip));
	if (err == CLEW_OK)
		err = page_gzip_end(gzip);
	page_gzip_free(gzip);
	if (err == CLEW_OK)
		return CLI_OK;
	cli_error("out of memory");
	return CLI_FAILED;
}

static int make_parts(const struct diff_args *a, struct diff_feed *diff, struct diff_parts *ret,
		      bool *ret_is_damaged)
{
	int status = make(a, a->paths[0], PAGE_SECOND, diff, &ret->second, ret_is_damaged);
	struct diff_doubt doubt;

	if (status == CLI_OK)
		status = make(a, a->paths[1], PAGE_FIRST, diff, &ret->first, ret_is_damaged);
	if (status == CLI_OK && (doubt = diff_feed_finish(diff)).fault != DIFF_FITS)
		status = diff_refuse(a, &doubt);
	return status == CLI_OK ? add_rows(a, diff, &ret->rows) : status;
}

int diff_page(const struct diff_args *a)
{
	struct diff_feed_opts opts = a->diff;
	struct diff_feed diff;
	struct diff_parts parts = {.first = {0}};
	bool is_damaged = false;
	int status;

	/* As the page pairs them. */
	opts.sort = (struct report_sort){
		.keys = {REPORT_DSO, REPORT_SYM},
                  .nr = 2
        };
	diff_feed_init(&diff, &opts, a->nr_paths);
	status = make_parts(a, &diff, &parts, &is_damaged);
	if (status == CLI_OK)
		status = write_file(a->html, &parts);
	diff_feed_done(&diff);
	parts_done(&parts);
	return status == CLI_OK && is_damaged ? CLI_FAILED : status;
}
