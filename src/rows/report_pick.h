/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_REPORT_PICK_H
#define ROWS_REPORT_PICK_H

#include "rows/report_feed.h"

/** What a sample's own row has to be like. Texts are as rows have them, and borrowed. */
enum report_want_kind {
	REPORT_WANT_KEY,   /* the text of @key is @text */
	REPORT_WANT_DSO,   /* so is the file's, also where rows do not show it */
	REPORT_WANT_LEVEL, /* the level is that of @text's first character, as in report_frame_text
			    */
	REPORT_WANT_PART,  /* the function, or without a function all texts, have @text in them */
};

struct report_want {
	enum report_want_kind kind;
	enum report_key key; /* of the sort keys */
	const char *text;
};

/**
 * Which samples are in the rows that someone looks at: to read the recording again and take these
 * alone. A sample's own row is that of the function it was in, not those of its callers.
 */
struct report_pick;

/** Of rows as @p opts makes and hides them. @p wants: all of them hold, too; copied. NULL: memory
 * is short. */
struct report_pick *report_pick_new(const struct report_feed_opts *opts,
				    const struct report_want *wants, size_t nr);
void report_pick_free(struct report_pick *p);

/** For each event of @p b, in order, samples or not. @return whether it is a sample in these rows;
 * false where memory is short, see report_pick_has_failed(). */
bool report_pick_takes(void *pick, const struct ana_batch *b, const struct ana_event *e);
bool report_pick_has_failed(const struct report_pick *p);

#endif
