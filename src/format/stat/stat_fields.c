/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"
#include "format/json_put.h"
#include "format/stat/stat_impl.h"

/* What machines read: fields with a separator, and JSON. */

static void put_part(struct buf *out, const char *sep, enum count_by by, const struct count_part *p)
{
	switch (by) {
	case COUNT_BY_ALL:
		break;
	case COUNT_BY_CPU:
		buf_printf(out, "CPU%d%s", p->cpu, sep);
		break;
	case COUNT_BY_CORE:
		buf_printf(out, "S%d-D%d-C%d%s%u%s", p->socket, p->die, p->core, sep, p->nr_cpus,
			   sep);
		break;
	case COUNT_BY_SOCKET:
		buf_printf(out, "S%d%s%u%s", p->socket, sep, p->nr_cpus, sep);
		break;
	case COUNT_BY_THREAD:
		escape_str(out, p->comm);
		buf_printf(out, "-%d%s", p->tid, sep);
		break;
	}
}

static void put_value(struct buf *out, const struct stat_row *r)
{
	if (!r->is_counted)
		buf_str(out, stat_missing(r));
	else
		buf_printf(out, "%.*f", stat_decimals(r), stat_value(r));
}

static void put_begin(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	if (style->is_interval) {
		stat_put_seconds(out, r->counts->at_ns, 6);
		buf_str(out, style->separator);
	}
	put_part(out, style->separator, r->counts->by, r->part);
}

static void put_metric(struct buf *out, const char *sep, const struct count_metric *m)
{
	if (m)
		buf_printf(out, "%.*f", (int)m->decimals, m->value);
	buf_printf(out, "%s%s\n", sep, m ? m->unit : "");
}

/* The fields of the count are empty. */
static void put_more(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	int nr = r->counts->nr_runs > 1 ? 6 : 5;

	put_begin(out, style, r);
	for (int i = 0; i < nr; i++)
		buf_str(out, style->separator);
	put_metric(out, style->separator, &r->more);
}

void stat_put_fields(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	const char *sep = style->separator;

	put_begin(out, style, r);
	put_value(out, r);
	buf_str(out, sep);
	escape_str(out, stat_unit(r));
	buf_str(out, sep);
	escape_str(out, r->event->name);
	if (r->counts->nr_runs > 1)
		buf_printf(out, "%s%.2f%%", sep, count_stats_percent(&r->cell->value));
	buf_printf(out, "%s%.0f%s%.2f%s", sep, r->cell->running_ns.mean, sep,
		   stat_running_percent(r->cell), sep);
	put_metric(out, sep, r->has_metric ? &r->metric : NULL);
	if (r->has_more)
		put_more(out, style, r);
}

/* perf puts blanks around ':' and after ','. */
static void put_string(struct buf *out, const char *key, const char *value)
{
	struct json_put j = {.out = out};

	buf_printf(out, "\"%s\" : ", key);
	json_string(&j, value);
	buf_str(out, ", ");
}

static void put_json_part(struct buf *out, enum count_by by, const struct count_part *p)
{
	struct buf name = {0};

	switch (by) {
	case COUNT_BY_ALL:
		break;
	case COUNT_BY_CPU:
		buf_printf(out, "\"cpu\" : \"%d\", ", p->cpu);
		break;
	case COUNT_BY_CORE:
		buf_printf(out, "\"core\" : \"S%d-D%d-C%d\", \"aggregate-number\" : %u, ",
			   p->socket, p->die, p->core, p->nr_cpus);
		break;
	case COUNT_BY_SOCKET:
		buf_printf(out, "\"socket\" : \"S%d\", \"aggregate-number\" : %u, ", p->socket,
			   p->nr_cpus);
		break;
	case COUNT_BY_THREAD:
		buf_printf(&name, "%s-%d", p->comm, p->tid);
		put_string(out, "thread", buf_cstr(&name));
		break;
	}
	out->is_failed |= name.is_failed;
	buf_done(&name);
}

static void put_json_value(struct buf *out, const struct stat_row *r)
{
	if (r->is_counted)
		buf_printf(out, "\"counter-value\" : \"%f\", ", stat_value(r));
	else
		buf_printf(out, "\"counter-value\" : \"%s\", ", stat_missing(r));
}

static void put_json_begin(struct buf *out, const struct stat_style *style,
			   const struct stat_row *r)
{
	buf_char(out, '{');
	if (style->is_interval) {
		buf_str(out, "\"interval\" : ");
		stat_put_seconds(out, r->counts->at_ns, 1);
		buf_str(out, ", ");
	}
	put_json_part(out, r->counts->by, r->part);
}

static void put_json_metric(struct buf *out, const struct count_metric *m)
{
	buf_printf(out, "\"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n", m ? m->value : 0.0,
		   m ? m->unit : "");
}

void stat_put_json(struct buf *out, const struct stat_style *style, const struct stat_row *r)
{
	put_json_begin(out, style, r);
	put_json_value(out, r);
	put_string(out, "unit", stat_unit(r));
	put_string(out, "event", r->event->name);
	if (r->counts->nr_runs > 1)
		buf_printf(out, "\"variance\" : %.2f, ", count_stats_percent(&r->cell->value));
	buf_printf(out, "\"event-runtime\" : %.0f, \"pcnt-running\" : %.2f, ",
		   r->cell->running_ns.mean, stat_running_percent(r->cell));
	put_json_metric(out, r->has_metric ? &r->metric : NULL);
	if (!r->has_more)
		return;
	put_json_begin(out, style, r);
	put_json_metric(out, &r->more);
}
