/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/counts.h"

#include <math.h>
#include <string.h>

/* Spec: Welford, "Note on a method for calculating corrected sums of squares and products". */
void count_stats_add(struct count_stats *s, double value)
{
	double from = value - s->mean;

	s->nr++;
	s->mean += from / (double)s->nr;
	s->squares += from * (value - s->mean);
}

double count_stats_error(const struct count_stats *s)
{
	double nr = (double)s->nr;

	return s->nr < 2 ? 0 : sqrt(s->squares / (nr - 1) / nr);
}

double count_stats_percent(const struct count_stats *s)
{
	double error = count_stats_error(s);

	return error > 0 && s->mean > 0 ? 100 * error / s->mean : 0;
}

enum clew_err counts_make(struct counts *c, uint32_t nr_events, uint32_t nr_parts)
{
	size_t nr_cells = (size_t)nr_events * nr_parts;

	/* One more, so that none of them is empty. */
	c->events = arena_zalloc(&c->memory, (nr_events + 1) * sizeof(*c->events));
	c->parts = arena_zalloc(&c->memory, (nr_parts + 1) * sizeof(*c->parts));
	c->cells = arena_zalloc(&c->memory, (nr_cells + 1) * sizeof(*c->cells));
	if (!c->events || !c->parts || !c->cells)
		return CLEW_NO_MEMORY;
	c->nr_events = nr_events;
	c->nr_parts = nr_parts;
	return CLEW_OK;
}

void counts_add(struct counts *c, uint32_t event, uint32_t part, double value, uint64_t enabled_ns,
		uint64_t running_ns)
{
	struct count_cell *cell = &c->cells[(uint64_t)event * c->nr_parts + part];

	count_stats_add(&cell->value, value);
	count_stats_add(&cell->enabled_ns, (double)enabled_ns);
	count_stats_add(&cell->running_ns, (double)running_ns);
}

void counts_clear(struct counts *c)
{
	memset(c->cells, 0, (size_t)c->nr_events * c->nr_parts * sizeof(*c->cells));
	c->elapsed_ns = (struct count_stats){0};
}

void counts_done(struct counts *c)
{
	arena_done(&c->memory);
	*c = (struct counts){0};
}
