/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_DELIVER_H
#define ANALYZE_ANA_DELIVER_H

#include "analyze/analyze.h"

struct stitch_item;

/* Samples and records into events of the batch. */

/** A sample, or one event each member where a group was read. One that cannot be parsed is counted
 * and omitted. @p item: what its stack's queue says; NULL: not asked yet. */
enum clew_err ana_deliver_sample(struct analyze *a, const struct perf_record *r,
				 const struct stitch_item *item);
enum clew_err ana_deliver_record(struct analyze *a, const struct perf_record *r,
				 struct clew_perf_ns time);
void ana_note_bad(struct analyze *a, const struct perf_record *r);

#endif
