/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_STAT_STAT_IMPL_H
#define FORMAT_STAT_STAT_IMPL_H

#include <math.h>

#include "format/stat/stat_text.h"

/** One event in one part. */
struct stat_row {
	const struct counts *counts;
	const struct count_event *event;
	const struct count_part *part;
	const struct count_cell *cell;
	struct count_metric metric, more; /* in a separate line */
	bool is_counted, has_metric, has_more;
};

/** Why there is no count: "<not supported>". */
static inline const char *stat_missing(const struct stat_row *r)
{
	return r->event->is_supported ? "<not counted>" : "<not supported>";
}

static inline const char *stat_unit(const struct stat_row *r)
{
	return r->event->kind == COUNT_CLOCK ? "msec" : r->event->unit ? r->event->unit : "";
}

/** Clocks are counted in ns and shown in ms. */
static inline double stat_value(const struct stat_row *r)
{
	return r->event->kind == COUNT_CLOCK ? r->cell->value.mean / 1e6 : r->cell->value.mean;
}

/** Decimals of the value: a count that stands for parts of a unit has some. */
static inline int stat_decimals(const struct stat_row *r)
{
	double scale = r->event->scale;

	return r->event->kind == COUNT_CLOCK || scale > floor(scale) ? 2 : 0;
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
