/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_STAT_STAT_TEXT_H
#define FORMAT_STAT_STAT_TEXT_H

#include "base/buf.h"
#include "report/counts.h"

/*
 * What `clew stat` prints, in the forms of perf stat 6.1: text, fields with a separator (-x), and
 * one JSON object per line (-j). docs/decisions/stat.md has the differences.
 */

enum stat_form { STAT_TEXT, STAT_FIELDS, STAT_JSON };

struct stat_style {
	enum stat_form form;
	const char *separator; /* of STAT_FIELDS */
	const char *thousands; /* between groups of three digits in text; "": none */
	bool is_interval;      /* rows begin with the time */
};

/** Before all rows. @p subject: "'sleep 1'", "process id '17'", as it is. */
void stat_put_head(struct buf *out, const struct stat_style *style, const struct counts *c,
		   const char *subject);

/** The line that names the columns of intervals; text only. */
void stat_put_columns(struct buf *out, const struct stat_style *style, const struct counts *c);

void stat_put_rows(struct buf *out, const struct stat_style *style, const struct counts *c);

/** Times, after all rows; text only. */
void stat_put_times(struct buf *out, const struct stat_style *style, const struct counts *c);

#endif
