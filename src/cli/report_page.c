/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/report_page.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/buf_sink.h"
#include "base/err.h"
#include "base/path_name.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"

static int fail(const char *path, const char *what, int os_errno)
{
	const struct clew_diag diag = {.code = CLEW_OS, .what = what, .os_errno = -os_errno};

	return cli_fail(path, &diag);
}

int report_page_open(struct report_page *p, struct report_args *a)
{
	int err;

	p->page = page_feed_new(&err);
	if (!p->page)
		return fail(a->html, "a temporary file for its samples", err);
	err = p->memory ? 0 : os_output_create_late(&p->out, a->html);
	if (err)
		return fail(a->html, "open", err);
	p->is_open = !p->memory;
	a->feed.on_sample = page_feed_sample;
	a->feed.on_sample_ctx = p->page;
	return CLI_OK;
}

enum clew_err report_page_batch(void *page, const struct ana_batch *b)
{
	struct report_page *p = page;
	enum clew_err err = report_feed_batch(p->feed, b);

	return err == CLEW_OK ? page_feed_batch(p->page, b) : err;
}

static enum clew_err write_some(void *ctx, const void *data, size_t size)
{
	struct report_page *p = ctx;

	p->os_errno = os_output_add(&p->out, data, size);
	return p->os_errno ? CLEW_OS : CLEW_OK;
}

static const char *title_of(const struct report_args *a)
{
	return a->in.is_stdin ? "standard input" : path_name(a->in.path);
}

enum clew_err report_page_write(struct report_page *p, const struct report_args *a,
				const struct ana_summary *s, const struct clew_diag *damage)
{
	const struct clew_sink file = {write_some, p};
	const struct clew_sink sink = p->memory ? buf_sink(p->memory) : file;
	const struct clew_diag *end = damage->code == CLEW_OK ? &s->end : damage;
	struct page_opts opts = {.title = title_of(a), .progress = cli_progress()};
	char cut[160];

	opts.is_trace = a->itrace.events != NULL;
	opts.max_samples = a->max_samples ? a->max_samples : 4000000;
	opts.part = p->part;
	opts.files = p->diff ? &p->diff->files : NULL;
	opts.is_served = p->memory && p->part == PAGE_WHOLE;
	if (end->code != CLEW_OK) {
		snprintf(cut, sizeof(cut),
			 "The recording %s at offset 0x%llx%s%s: what stands before it is shown.",
			 end == damage ? "is damaged" : "ends inside a record",
			 (unsigned long long)end->offset, end->what ? ", " : "",
			 end->what ? end->what : "");
		opts.cut = cut;
	}
	return page_write(p->page, p->feed, s, &report_page_frame, &opts, &sink);
}

int report_page_fail(const struct report_page *p, const struct report_args *a)
{
	if (p->os_errno)
		return fail(a->html, "write", p->os_errno);
	if (p->page && page_feed_errno(p->page))
		return fail(a->html, "a temporary file for its samples", page_feed_errno(p->page));
	return CLI_OK;
}

int report_page_close(struct report_page *p, const struct report_args *a, bool is_kept)
{
	int err = 0;

	if (p->is_open && is_kept)
		err = os_output_end(&p->out, a->html, 0);
	else if (p->is_open)
		os_output_discard(&p->out, a->html);
	p->is_open = false;
	page_feed_free(p->page);
	p->page = NULL;
	return err ? fail(a->html, "write", err) : CLI_OK;
}
