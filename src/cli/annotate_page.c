/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/annotate_page.h"

#include "base/err.h"
#include "cli/common/message.h"
#include "cli/report_page.h"

static int fail(const struct annotate_page *p, const char *what)
{
	const struct clew_diag diag = {
		.code = p->os_errno ? CLEW_OS : CLEW_NO_MEMORY,
		.what = what,
		.os_errno = -p->os_errno,
	};

	return cli_fail(p->path, &diag);
}

static enum clew_err write_some(void *ctx, const void *data, size_t size)
{
	struct annotate_page *p = ctx;

	p->os_errno = os_output_add(&p->out, data, size);
	return p->os_errno ? CLEW_OS : CLEW_OK;
}

int annotate_page_open(struct annotate_page *p, const char *path, struct clew_sink *ret)
{
	p->path = path;
	p->file = (struct clew_sink){write_some, p};
	p->os_errno = os_output_create_late(&p->out, path);
	if (p->os_errno)
		return fail(p, "open");
	p->is_open = true;
	p->gzip = page_gzip_new(&p->file, "code");
	if (!p->gzip || page_frame_begin(&report_page_frame, "", &p->file) != CLEW_OK)
		return fail(p, "write");
	*ret = *page_gzip_sink(p->gzip);
	return CLI_OK;
}

static enum clew_err end(struct annotate_page *p)
{
	const struct page_frame *f = &report_page_frame;
	enum clew_err err = page_gzip_end(p->gzip);

	return err == CLEW_OK ? write_some(p, f->after, f->after_bytes) : err;
}

int annotate_page_close(struct annotate_page *p, bool is_kept)
{
	int status = p->os_errno ? fail(p, "write") : CLI_OK;

	if (p->is_open && is_kept && status == CLI_OK && end(p) != CLEW_OK)
		status = fail(p, "write");
	is_kept = is_kept && status == CLI_OK;
	if (p->is_open && !is_kept)
		os_output_discard(&p->out, p->path);
	else if (p->is_open && (p->os_errno = os_output_end(&p->out, p->path, 0)))
		status = fail(p, "write");
	p->is_open = false;
	page_gzip_free(p->gzip);
	p->gzip = NULL;
	return status;
}
