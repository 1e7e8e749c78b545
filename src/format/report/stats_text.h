/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_REPORT_STATS_TEXT_H
#define FORMAT_REPORT_STATS_TEXT_H

#include "rows/report_feed.h"

/**
 * Append the counts of a whole recording: records by type, samples by event (perf report --stats
 * prints the same numbers), and the outcomes of the samples.
 */
void stats_text(struct buf *out, const struct perf_file_counts *counts, const struct report_feed *f,
		const struct ana_summary *s);

/**
 * Append what a reader of the report must know about its gaps: lost records, a cut file, trace that
 * was not decoded, addresses without a name with the reason and the remedy. Lines begin with '#';
 */
void report_gaps_text(struct buf *out, const struct ana_summary *s);

/** Append where each file's symbols came from, or why it has none. Lines begin with '#'. */
void report_symbol_files_text(struct buf *out, struct dso_store *dsos);

#endif
