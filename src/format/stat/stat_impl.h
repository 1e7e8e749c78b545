/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_STAT_STAT_IMPL_H
#define FORMAT_STAT_STAT_IMPL_H

#include "format/stat/stat_text.h"

/** One event in one part. */
struct stat_row {
	const struct counts *counts;
	const struct count_event *event;
	const struct count_part *part;
	const struct count_cell *cell;
	struct count_metric metric;
	bool is_counted, has_metric;
};

/** Why there is no count: "<not supported>". */
static inline const char *stat_missing(const struct stat_row *r)
{
	return r->event->is_supported ? "<not counted>" : "<not supported>";
}

static inline const char *stat_unit(const struct stat_row *r)
{
	return r->event->kind == COUNT_CLOCK ? "msec" : "";
}

/** Of the time it was enabled; 100 where it never was. */
static inline double stat_running_percent(const struct count_cell *c)
{
	return c->enabled_ns.mean > 0 ? 100 * c->running_ns.mean / c->enabled_ns.mean : 100;
}

/** Seconds with nine decimals; @p width: of the whole ones. */
void stat_put_seconds(struct buf *out, uint64_t ns, int width);

/** stat_fields.c */
void stat_put_fields(struct buf *out, const struct stat_style *style, const struct stat_row *r);
void stat_put_json(struct buf *out, const struct stat_style *style, const struct stat_row *r);

#endif
