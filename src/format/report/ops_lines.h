/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_OPS_LINES_H
#define FORMAT_REPORT_OPS_LINES_H

#include "format/report/ops_cells.h"
#include "rows/report_ops.h"

/** The table of cache lines, if there are any. */
void ops_lines_text(struct ops_table *t, const struct report_feed *f);

#endif
