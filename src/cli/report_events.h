/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_REPORT_EVENTS_H
#define CLI_REPORT_EVENTS_H

#include "cli/report_args.h"

/* Which events of a report have a table, alone or as a group, and with which columns. */

/** Has it samples, and is it not a column of another event's table? */
bool report_has_table(const struct report_args *a, const struct report_feed *f, size_t event);

/** Were call chains recorded with it, and are they wanted? */
bool report_has_chains(const struct report_args *a, const struct report_feed *f, size_t event);

/** The table of @p event, and of its group. Sets what a->text and a->table say of its columns.
 * CLEW_NO_MEMORY. */
enum clew_err report_make_table(struct report_args *a, struct report_feed *f, size_t event,
				struct report_table *ret);

#endif
