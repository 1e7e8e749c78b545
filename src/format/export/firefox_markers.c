/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "format/export/export_name.h"
#include "format/export/firefox.h"

/* What is shown beside the samples of a thread. */

/* What a marker says: one field. */
static const struct {
	const char *name, *type, *key, *label, *format;
} kinds[FIREFOX_NR_KINDS] = {
	[FIREFOX_LOST] = {"lost",   "clew-lost",   "records", "Lost records",  "integer"},
	[FIREFOX_CGROUP] = {"cgroup", "clew-cgroup", "group",   "Control group", "string" },
	[FIREFOX_SWITCH] = {"switch", "clew-switch", "reason",  "Off CPU",       "string" },
	[FIREFOX_PAUSED] = {"paused", "clew-paused", "reason",  "Not recorded",  "string" },
};

enum clew_err firefox_name_markers(struct export *x)
{
	struct export_tables *t = export_tables_mut(x);
	struct firefox *p = export_state(x);
	bool ok = true;

	for (int i = FIREFOX_LOST; i < FIREFOX_NR_KINDS; i++) {
		p->marker_names[i] = export_text_add(t, kinds[i].name);
		ok &= p->marker_names[i] != EXPORT_NONE;
	}
	p->waiting = export_text_add(t, "waiting");
	p->preempted = export_text_add(t, "preempted");
	return ok && p->waiting != EXPORT_NONE && p->preempted != EXPORT_NONE ? CLEW_OK
									      : CLEW_NO_MEMORY;
}

/* --- the spool --- */

static enum clew_err add(struct firefox *p, uint32_t track, const struct firefox_item *item)
{
	p->tracks.data[track].nr_markers++;
	return export_spool_add(&p->spool, 2 * track + 1, item, sizeof(*item));
}

enum clew_err firefox_note_cgroup(struct firefox *p, uint32_t n, uint64_t time, uint32_t cgroup)
{
	struct firefox_track *track = &p->tracks.data[n];
	const struct firefox_item item = {.time = time, .weight = cgroup, .kind = FIREFOX_CGROUP};

	if (!n || track->cgroup == cgroup)
		return CLEW_OK;
	track->cgroup = cgroup;
	return cgroup ? add(p, n, &item) : CLEW_OK;
}

/* They belong to no thread: they are shown in the first one. */
enum clew_err firefox_put_lost(struct export *x, const struct export_lost *l)
{
	struct firefox *p = export_state(x);
	struct firefox_track *none = firefox_track_at(p, 0);
	struct firefox_item item = {.weight = l->nr, .kind = FIREFOX_LOST};

	if (!none)
		return CLEW_NO_MEMORY;
	item.time = firefox_note_time(p, none, l->time.ns);
	return add(p, 0, &item);
}

/* Of threads without samples nothing is shown. */
enum clew_err firefox_put_switch(struct export *x, const struct export_switch *s)
{
	struct firefox *p = export_state(x);
	struct firefox_item item = {.kind = FIREFOX_SWITCH, .more = s->time.ns};
	struct firefox_track *t;
	uint32_t n = s->thread + 1;

	if (s->thread == EXPORT_NONE || !clew_perf_ns_is_known(s->time))
		return CLEW_OK;
	t = firefox_track_at(p, n);
	if (!t)
		return CLEW_NO_MEMORY;
	item.time = t->out;
	item.weight = t->is_ready ? p->preempted : p->waiting;
	if (!s->is_out && t->is_off && s->time.ns > t->out) {
		t->is_off = false;
		return add(p, n, &item);
	}
	t->is_off = s->is_out;
	t->is_ready = s->is_preempted;
	t->out = s->time.ns;
	return CLEW_OK;
}

/* Of a thread, if it is known; else in the first one. */
enum clew_err firefox_put_pause(struct export *x, const struct ana_pause *pause)
{
	struct firefox *p = export_state(x);
	struct firefox_track *none = firefox_track_at(p, 0);
	uint32_t why = export_text_add(export_tables_mut(x), pause->why);
	const struct firefox_item item = {.time = pause->from.ns,
					  .more = pause->to.ns,
					  .weight = why,
					  .kind = FIREFOX_PAUSED};

	return none && why != EXPORT_NONE ? add(p, 0, &item) : CLEW_NO_MEMORY;
}

/* --- columns --- */

static void put_data(struct export *x, const struct firefox_item *item)
{
	struct json_put *j = firefox_json(x);

	json_open(j, '{');
	json_put_string(j, "type", kinds[item->kind].type);
	if (item->kind == FIREFOX_LOST)
		json_put_u64(j, kinds[item->kind].key, item->weight);
	else
		json_put_string(j, kinds[item->kind].key,
				export_text(export_tables(x), (uint32_t)item->weight));
	json_close(j, '}');
}

static void put_name(struct export *x, const struct firefox_item *item)
{
	const struct firefox *p = export_state(x);

	json_u64(firefox_json(x), p->marker_names[item->kind]);
}

/* Markers outside of the time of all samples would not be shown. */
static uint64_t clip(struct export *x, uint64_t time)
{
	uint64_t from = export_first_time(x).ns, to = export_last_time(x).ns;

	if (from == UINT64_MAX || to == UINT64_MAX || from > to)
		return time;
	return time < from ? from : time > to ? to : time;
}

static bool is_interval(const struct firefox_item *item)
{
	return item->kind == FIREFOX_SWITCH || item->kind == FIREFOX_PAUSED;
}

static void put_start(struct export *x, const struct firefox_item *item)
{
	bool is_moved = clip(x, item->time) != item->time ||
			(is_interval(item) && clip(x, item->more) != item->more);

	if (is_moved)
		export_count_clipped(x);
	firefox_put_ms(x, clip(x, item->time));
}

static void put_end(struct export *x, const struct firefox_item *item)
{
	if (is_interval(item))
		firefox_put_ms(x, clip(x, item->more));
	else
		json_string(firefox_json(x), NULL);
}

static void put_phase(struct export *x, const struct firefox_item *item)
{
	enum { INSTANT, INTERVAL };

	json_u64(firefox_json(x), is_interval(item) ? INTERVAL : INSTANT);
}

static void put_category(struct export *x, const struct firefox_item *item)
{
	(void)item;
	json_u64(firefox_json(x), FIREFOX_OTHER);
}

const struct firefox_column firefox_marker_columns[] = {
	{"data",      put_data    },
        {"name",      put_name    },
        {"startTime", put_start   },
	{"endTime",   put_end     },
        {"phase",     put_phase   },
        {"category",  put_category},
	{NULL,        NULL        }
};

/* --- schemas --- */

static void put_schema(struct json_put *j, const char *name, const char *key, const char *label,
		       const char *format)
{
	clew_auto(buf_done) struct buf text = {0};

	buf_printf(&text, "{marker.data.%s}", key);
	json_open(j, '{');
	json_put_string(j, "name", name);
	json_put_string(j, "tooltipLabel", label);
	json_put_string(j, "chartLabel", buf_cstr(&text));
	json_put_string(j, "tableLabel", buf_cstr(&text));
	json_key(j, "display");
	json_open(j, '[');
	json_string(j, "marker-chart");
	json_string(j, "marker-table");
	json_string(j, "timeline-overview");
	json_close(j, ']');
	json_key(j, "fields");
	json_open(j, '[');
	json_open(j, '{');
	json_put_string(j, "key", key);
	json_put_string(j, "label", label);
	json_put_string(j, "format", format);
	json_close(j, '}');
	json_close(j, ']');
	json_close(j, '}');
	j->out->is_failed |= text.is_failed;
}

void firefox_put_schemas(struct json_put *j)
{
	json_key(j, "markerSchema");
	json_open(j, '[');
	for (int i = FIREFOX_LOST; i < FIREFOX_NR_KINDS; i++)
		put_schema(j, kinds[i].type, kinds[i].key, kinds[i].label, kinds[i].format);
	json_close(j, ']');
}
