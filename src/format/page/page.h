/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PAGE_PAGE_H
#define FORMAT_PAGE_PAGE_H

#include "base/progress.h"
#include "base/sink.h"
#include "rows/report_feed.h"

/*
 * A recording as one page for a browser: all samples as columns of numbers, which the page's script
 * counts again for whatever is selected. Nothing of the recording is markup: its names and numbers
 * are gzip and base64.
 *
 *	struct page_feed *p = page_feed_new();
 *	opts.on_sample = page_feed_sample; opts.on_sample_ctx = p;     of the report_feed
 *	... report_feed_batch() and page_feed_batch() get each batch ...
 *	report_feed_finish();
 *	page_write(p, ...);
 *
 * Samples wait in a file without a name: memory is that of the report, however many there are.
 */
struct page_feed;

/** What stands before the data of every page, and after it. */
struct page_frame {
	const char *before, *policy, *between, *after; /* the policy is a text; it ends the first */
	size_t before_bytes, between_bytes, after_bytes;
};

/** What a page adds to its policy that comes from `clew view`: it may say goodbye there. */
#define PAGE_SERVED_POLICY "; connect-src 'self'"

/** A page of two recordings is written in two parts, one after the other. */
enum page_part { PAGE_WHOLE, PAGE_FIRST, PAGE_SECOND };

struct page_opts {
	enum page_part part;
	struct report_diff_files *files; /* a page of two: which are one; else NULL */
	const char *title;
	const char *cut; /* a damaged or truncated recording: the sentence; NULL: it is whole */
	bool is_trace;   /* samples were made of hardware trace */
	bool is_served;  /* with PAGE_SERVED_POLICY */
	uint64_t max_samples; /* more are merged, as are nodes of a tree of half as many */
	struct progress *progress;
};

/** All that stands before the data. @p more: appended to the policy. */
enum clew_err page_frame_begin(const struct page_frame *f, const char *more,
			       const struct clew_sink *sink);

/** NULL: no memory; *ret_errno: negative, of the file for the samples. */
struct page_feed *page_feed_new(int *ret_errno);
void page_feed_free(struct page_feed *p);

/** For report_feed_opts.on_sample. CLEW_OS: no room for the sample on the disk. */
enum clew_err page_feed_sample(void *page, const struct ana_event *e, uint32_t node);

/** Other records, for the list of events. */
enum clew_err page_feed_batch(struct page_feed *p, const struct ana_batch *b);

/** @p f was finished, and has dso and sym for its sort keys. */
enum clew_err page_write(struct page_feed *p, const struct report_feed *f,
			 const struct ana_summary *s, const struct page_frame *frame,
			 const struct page_opts *opts, const struct clew_sink *sink);

/** Of the disk's last error, negative; 0: none. */
int page_feed_errno(const struct page_feed *p);

#endif
