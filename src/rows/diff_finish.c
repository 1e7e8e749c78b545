/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/same_text.h"
#include "rows/diff_feed.h"

bool diff_table_has_samples(const struct diff_feed *d, const struct diff_table *t)
{
	for (uint32_t i = 0; i < d->nr_inputs; i++) {
		if (t->events[i].all.nr)
			return true;
	}
	return false;
}

const char *diff_row_text(const struct diff_table *t, const struct report_diff_row *row, size_t key)
{
	const char *at = intern_get(&t->diff.names, row->name);

	while (key--)
		at += strlen(at) + 1;
	return at;
}

static const char *name_of(const struct diff_table *t, uint32_t input)
{
	return t ? t->events[input].name : NULL;
}

/* An event with samples of @p input that @p other does not have at all. */
static const struct diff_table *alone(const struct diff_feed *d, uint32_t input, uint32_t other)
{
	vec_for_each (&d->tables, t) {
		if ((*t)->events[input].all.nr && !(*t)->events[other].name)
			return *t;
	}
	return NULL;
}

static struct diff_doubt check_units(const struct diff_feed *d, uint32_t input)
{
	vec_for_each (&d->tables, t) {
		const struct diff_event *a = &(*t)->events[0], *b = &(*t)->events[input];

		if (a->name && b->name && diff_table_has_samples(d, *t) &&
		    !is_same_text(a->unit, b->unit))
			return (struct diff_doubt){DIFF_OTHER_UNIT, 0, input, a->name, b->name};
	}
	return (struct diff_doubt){DIFF_FITS};
}

static struct diff_doubt check_events(const struct diff_feed *d)
{
	for (uint32_t i = 1; i < d->nr_inputs; i++) {
		const struct diff_table *a = alone(d, 0, i), *b = alone(d, i, 0);
		struct diff_doubt units;

		if (a || b)
			return (struct diff_doubt){DIFF_OTHER_EVENT, 0, i, name_of(a, 0),
						   name_of(b, i)};
		units = check_units(d, i);
		if (units.fault != DIFF_FITS)
			return units;
	}
	return (struct diff_doubt){DIFF_FITS};
}

/* CPU time of a recording: what its clock event counted; task-clock runs only with its tasks. */
static uint64_t cpu_ns(const struct diff_feed *d, uint32_t input)
{
	uint64_t ns = 0;

	vec_for_each (&d->tables, t) {
		const struct diff_event *e = &(*t)->events[input];

		if (!e->name || !e->unit || strcmp(e->unit, "ns") != 0)
			continue;
		if (!strncmp(e->name, "task-clock", strlen("task-clock")))
			return e->all.period;
		ns = ns ? ns : e->all.period;
	}
	return ns;
}

static enum diff_fault fault_of(enum report_diff_norm n)
{
	switch (n) {
	case REPORT_DIFF_TIME:
		return DIFF_NO_TIME;
	case REPORT_DIFF_CPU:
		return DIFF_NO_CPU_TIME;
	case REPORT_DIFF_REF:
		return DIFF_NO_REF;
	case REPORT_DIFF_SHARE:
	case REPORT_DIFF_NONE:
		break;
	}
	return DIFF_FITS;
}

static struct diff_doubt scale(const struct diff_feed *d, struct diff_table *t)
{
	for (uint32_t i = 0; i < d->nr_inputs; i++) {
		struct diff_event *e = &t->events[i];

		e->whole.all = d->opts.is_relative_total ? e->kept : e->all;
		e->whole.ns = d->ns[i];
		e->whole.cpu_ns = cpu_ns(d, i);
		if (!report_diff_scale_of(d->opts.norm, &e->whole, &e->scale))
			return (struct diff_doubt){fault_of(d->opts.norm), i, i, e->name, NULL};
		e->value = (double)e->whole.all.period * e->scale.factor;
	}
	return (struct diff_doubt){DIFF_FITS};
}

static void compare(const struct diff_feed *d, struct diff_table *t)
{
	struct report_diff_opts o = d->opts.diff;

	for (uint32_t i = 0; i < d->nr_inputs; i++) {
		o.scales[i] = t->events[i].scale;
		o.min_values[i] = t->events[i].value * d->opts.min_share;
	}
	report_diff_finish(&t->diff, &o);
}

struct diff_doubt diff_feed_finish(struct diff_feed *d)
{
	struct diff_doubt doubt = check_events(d);

	if (doubt.fault != DIFF_FITS && !d->opts.is_forced)
		return doubt;
	doubt.fault = DIFF_FITS;
	for (size_t i = 0; i < d->tables.nr && doubt.fault == DIFF_FITS; i++) {
		if (!diff_table_has_samples(d, d->tables.data[i]))
			continue;
		doubt = scale(d, d->tables.data[i]);
		if (doubt.fault == DIFF_FITS)
			compare(d, d->tables.data[i]);
	}
	return doubt;
}
