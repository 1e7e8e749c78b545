/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/diff_page.h"

#include "base/err.h"
#include "cli/common/message.h"
#include "cli/report_page.h"
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

static int write_file(const char *path, const struct buf *first, const struct buf *second)
{
	struct clew_diag diag = {.code = CLEW_OS, .what = "write"};
	struct os_output out;
	int err = os_output_create(&out, path);

	if (!err) {
		err = os_output_add(&out, first->data, first->nr);
		if (!err)
			err = os_output_add(&out, second->data, second->nr);
		err = os_output_end(&out, path, err);
	}
	diag.os_errno = -err;
	return err ? cli_fail(path, &diag) : CLI_OK;
}

int diff_page(const struct diff_args *a)
{
	/* For events and names of files: the page itself makes the rows. */
	const struct diff_feed_opts opts = {
		.sort = {.keys = {REPORT_DSO}, .nr = 1},
		.is_forced = a->diff.is_forced,
		.budget = a->diff.budget
        };
	struct diff_feed diff;
	struct diff_doubt doubt;
	struct buf first = {0}, second = {0};
	bool is_damaged = false;
	int status;

	diff_feed_init(&diff, &opts, a->nr_paths);
	status = make(a, a->paths[0], PAGE_SECOND, &diff, &second, &is_damaged);
	if (status == CLI_OK)
		status = make(a, a->paths[1], PAGE_FIRST, &diff, &first, &is_damaged);
	if (status == CLI_OK && (doubt = diff_feed_finish(&diff)).fault != DIFF_FITS)
		status = diff_refuse(a, &doubt);
	if (status == CLI_OK)
		status = write_file(a->html, &first, &second);
	diff_feed_done(&diff);
	buf_done(&first);
	buf_done(&second);
	return status == CLI_OK && is_damaged ? CLI_FAILED : status;
}
