/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/top_select.h"

#include <string.h>

#include "base/mem.h"

static bool is_kept(const struct report_feed *f, const struct report_table *t,
		    const struct report_row *row, const struct top_select *s)
{
	char level = report_feed_frame(f, report_feed_row_frame(f, row)).level;
	uint64_t nr = 0;

	if (s->hides_kernel && (level == 'k' || level == 'g'))
		return false;
	if (s->hides_user && (level == '.' || level == 'u'))
		return false;
	for (uint32_t e = 0; e < t->nr_events; e++)
		nr += report_row_value(&t->rows, row, e)->nr;
	return nr >= s->min_samples;
}

enum clew_err top_select_rows(const struct report_feed *f, struct report_table *t,
			      const struct top_select *s)
{
	struct report_row *rows = t->rows.rows.data;
	struct report_row *others = mem_calloc(t->nr_shown, sizeof(*others));
	size_t kept = 0, hidden = 0;

	if (!others)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < t->nr_shown; i++) {
		if ((!s->max_rows || kept < s->max_rows) && is_kept(f, t, &rows[i], s))
			rows[kept++] = rows[i];
		else
			others[hidden++] = rows[i];
	}
	if (hidden)
		memcpy(rows + kept, others, hidden * sizeof(*others));
	mem_free(others);
	t->nr_shown = kept;
	return CLEW_OK;
}
