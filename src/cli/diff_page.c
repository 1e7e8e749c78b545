/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/diff_page.h"

#include "base/err.h"
#include "cli/common/message.h"
#include "cli/report_page.h"
#include "os/output.h"

static int make(const struct diff_args *a, const char *path, enum page_part part,
		struct report_diff_files *files, struct buf *ret, bool *ret_is_damaged)
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
	status = report_page_make(&r, part, files, ret, &has_samples);
	*ret_is_damaged |= status == CLI_FAILED && has_samples;
	return has_samples ? CLI_OK : status;
}

static int write_file(const char *path, const struct buf *page)
{
	struct clew_diag diag = {.code = CLEW_OS, .what = "write"};
	struct os_output out;
	int err = os_output_create(&out, path), closed;

	if (!err) {
		err = os_output_add(&out, page->data, page->nr);
		if (err)
			os_output_discard(&out, path);
		else if ((closed = os_output_close(&out)))
			err = closed;
	}
	diag.os_errno = -err;
	return err ? cli_fail(path, &diag) : CLI_OK;
}

int diff_page(const struct diff_args *a)
{
	struct report_diff_files files = {0};
	struct buf page = {0};
	bool is_damaged = false;
	int status = make(a, a->paths[1], PAGE_FIRST, &files, &page, &is_damaged);

	if (status == CLI_OK)
		status = make(a, a->paths[0], PAGE_SECOND, &files, &page, &is_damaged);
	if (status == CLI_OK)
		status = write_file(a->html, &page);
	report_diff_files_done(&files);
	buf_done(&page);
	return status == CLI_OK && is_damaged ? CLI_FAILED : status;
}
