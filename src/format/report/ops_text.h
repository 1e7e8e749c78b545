/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_OPS_TEXT_H
#define FORMAT_REPORT_OPS_TEXT_H

#include "rows/report_ops.h"

/** Append the tables of memory accesses: by data source, by the sort keys, by cache line. Rows
 * below @p min_share of the latency (without any: of the accesses) are omitted. @p separator:
 * between columns, instead of aligning them; NULL: align. */
void ops_memory_text(struct buf *out, const struct report_feed *f, double min_share,
		     const char *separator);

/** Append the table of sampled branches. @p min_share: of all. */
void ops_branches_text(struct buf *out, const struct report_feed *f, double min_share,
		       const char *separator);

struct ana_summary;
/** Append the same as one JSON document. @p kind: of the feed. */
void ops_json(struct buf *out, const struct report_feed *f, enum report_ops_kind kind,
	      const struct ana_summary *s);

/** Append a data source: "L2D", "source 29 (unknown)", "L1 hit". */
void ops_source_text(struct buf *out, const struct report_op_source *s);

#endif
