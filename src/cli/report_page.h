/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include "cli/report_args.h"
#include "format/page/page.h"
#include "os/output.h"
#include "rows/diff_feed.h"

/** `clew report --html FILE`: the page that is made besides the report's own counting. */
struct report_page {
	struct page_feed *page;
	struct report_feed *feed; /* borrowed */
	struct os_output out;
	struct buf *memory; /* in place of a file; borrowed */
	enum page_part part;
	struct diff_feed *diff; /* of both parts; borrowed */
	int os_errno;           /* of the file, negative */
	bool is_open;
};

/** Make the file and prepare a->feed. @return CLI_OK, or CLI_FAILED after a message. */
int report_page_open(struct report_page *p, struct report_args *a);

/** To be the consumer, with the page as its ctx; p->feed must be set. */
enum clew_err report_page_batch(void *page, const struct ana_batch *b);

/** @p damage: where reading ended early; code CLEW_OK: nowhere. */
enum clew_err report_page_write(struct report_page *p, const struct report_args *a,
				const struct ana_summary *s, const struct clew_diag *damage);

/** The message for a failure of report_page_batch() or report_page_write() that was the disk's.
 * @return CLI_FAILED; CLI_OK: it was not. */
int report_page_fail(const struct report_page *p, const struct report_args *a);

/** Without @p is_kept nothing stays of the file. */
int report_page_close(struct report_page *p, const struct report_args *a, bool is_kept);

/** report.c: all of it, into memory: what `clew view` shows, PAGE_WHOLE; or a part for `clew diff`,
 * with @p diff: its recording 1 is PAGE_FIRST. @p ret_has_samples: also of a damaged recording.
 * @return the exit status. */
int report_page_make(const struct report_args *a, enum page_part part, struct diff_feed *diff,
		     struct buf *ret, bool *ret_has_samples);

/** What stands around the data: made while building, of src/cli/page and third_party. */
extern const struct page_frame report_page_frame;

/** Of the packages that the page draws with. */
struct clew_text {
	const char *text; /* without a NUL */
	size_t size;
};
extern const struct clew_text report_page_licenses;

#endif
