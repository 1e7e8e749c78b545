/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TOP_TOP_SELECT_H
#define TOP_TOP_SELECT_H

#include "rows/report_feed.h"

/** Which rows are shown. */
struct top_select {
	bool hides_kernel, hides_user; /* of guests, too; totals stay */
	uint64_t min_samples;          /* rows with fewer are hidden */
	size_t max_rows;               /* 0: all */
};

/** Of the rows shown in @p t, made of @p f: those that @p s keeps, in their order. CLEW_NO_MEMORY.
 */
enum clew_err top_select_rows(const struct report_feed *f, struct report_table *t,
			      const struct top_select *s);

#endif
