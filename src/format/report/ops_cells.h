/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_OPS_CELLS_H
#define FORMAT_REPORT_OPS_CELLS_H

#include <stdbool.h>

#include "base/buf.h"
#include "report/latency.h"

/** A table as it is written: columns aligned, or @separator between them. */
struct ops_table {
	struct buf *out;
	const char *separator;
	bool has_cell; /* in this line */
};

struct ops_column {
	const char *title;
	unsigned int gap; /* blanks before it */
	int width;        /* negative: left-aligned */
};

/** Put what separates a cell from the one before it; the caller adds the text. */
void ops_begin_cell(struct ops_table *t, unsigned int gap);

void ops_put(struct ops_table *t, const struct ops_column *c, const char *text);
/** The text after the columns. */
void ops_put_last(struct ops_table *t, const char *text);
void ops_put_number(struct ops_table *t, const struct ops_column *c, uint64_t v);
void ops_put_mean(struct ops_table *t, const struct ops_column *c, const struct latency *l);
/** In percent. */
void ops_put_share(struct ops_table *t, const struct ops_column *c, uint64_t part, uint64_t whole);

/** Text that may have wide characters, left-aligned. */
void ops_put_wide(struct ops_table *t, unsigned int gap, const struct buf *text, size_t width);

void ops_end_line(struct ops_table *t);

/** Titles, after the '#' of their line. */
void ops_put_titles(struct ops_table *t, const struct ops_column *columns, size_t nr);
void ops_end_titles(struct ops_table *t);

#endif
