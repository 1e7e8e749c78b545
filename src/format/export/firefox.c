/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/firefox.h"

#include "base/cleanup.h"
#include "format/export/export_name.h"

/*
 * The Firefox Profiler's processed format: threads in order of their first sample, and tables that
 * they share. Readers upgrade older versions; 61 loads in all of them that share tables.
 * Spec: firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md, src/types/profile.ts.
 */
struct pass {
	struct export *x;
	const struct firefox_column *column;
};

static enum clew_err begin(struct export *x)
{
	struct firefox *p = export_state(x);

	p->start = UINT64_MAX;
	return firefox_name_markers(x);
}

/* --- samples and markers --- */

struct firefox_track *firefox_track_at(struct firefox *p, uint32_t n)
{
	while (p->tracks.nr <= n) {
		if (!vec_push(&p->tracks, (struct firefox_track){0}))
			return NULL;
	}
	return &p->tracks.data[n];
}

/* What has no time is as late as what came before it. */
uint64_t firefox_note_time(struct firefox *p, const struct firefox_track *track, uint64_t time)
{
	if (time != UINT64_MAX && time < p->start)
		p->start = time;
	return time == UINT64_MAX || time < track->last ? track->last : time;
}

/* The graph of CPU use is made of it: of a clock what it measured, else at most all time. */
static uint64_t cpu_ns(const struct export *x, const struct export_sample *s,
		       const struct firefox_track *track, uint64_t time)
{
	if (export_unit_of(export_event_at(x, s->event)->evsel) == EXPORT_NANOSECONDS)
		return s->period;
	return track->nr ? time - track->last : 0;
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	const struct export_key *k = export_key_at(x, s->key);
	uint32_t n = k->thread + 1; /* EXPORT_NONE: 0 */
	struct firefox *p = export_state(x);
	struct firefox_track *track = firefox_track_at(p, n);
	struct firefox_item item = {.node = s->node, .weight = export_weight(export_opts(x), s)};
	enum clew_err err;

	if (!track)
		return CLEW_NO_MEMORY;
	item.time = firefox_note_time(p, track, s->time.ns);
	item.more = cpu_ns(x, s, track, item.time);
	track->first = track->nr ? track->first : item.time;
	track->last = item.time;
	track->nr++;
	err = firefox_note_cgroup(p, n, item.time, k->cgroup);
	return err ? err : export_spool_add(&p->spool, 2 * n, &item, sizeof(item));
}

/* --- columns --- */

void firefox_put_ms(struct export *x, uint64_t time)
{
	const struct firefox *p = export_state(x);

	json_fixed(firefox_json(x), time > p->start ? time - p->start : 0, FIREFOX_NS_DECIMALS);
}

static void put_stack(struct export *x, const struct firefox_item *item)
{
	json_u64(firefox_json(x), item->node - 1);
}

static void put_time(struct export *x, const struct firefox_item *item)
{
	firefox_put_ms(x, item->time);
}

static void put_weight(struct export *x, const struct firefox_item *item)
{
	const struct firefox *p = export_state(x);

	json_fixed(firefox_json(x), item->weight, p->is_time ? FIREFOX_NS_DECIMALS : 0);
}

static void put_cpu(struct export *x, const struct firefox_item *item)
{
	json_u64(firefox_json(x), item->more);
}

static const struct firefox_column sample_columns[] = {
	{"stack",          put_stack },
	{"time",           put_time  },
	{"weight",         put_weight},
	{"threadCPUDelta", put_cpu   },
	{NULL,             NULL      }
};

static enum clew_err put_items(void *ctx, const void *data, size_t size)
{
	const struct pass *pass = ctx;
	const char *at = data;
	enum clew_err err = CLEW_OK;
	struct firefox_item item;

	for (; size >= sizeof(item) && err == CLEW_OK; at += sizeof(item), size -= sizeof(item)) {
		memcpy(&item, at, sizeof(item));
		pass->column->put(pass->x, &item);
		err = export_flush(pass->x);
	}
	return err;
}

/* All columns but the length, of one series or of two in a row (@p more; 0: of one). */
static enum clew_err put_columns(struct export *x, const struct firefox_column *columns,
				 uint32_t series, uint32_t more)
{
	struct firefox *p = export_state(x);
	enum clew_err err = CLEW_OK;

	for (; columns->key && err == CLEW_OK; columns++) {
		struct pass pass = {x, columns};

		json_key(firefox_json(x), columns->key);
		json_open(firefox_json(x), '[');
		err = export_spool_read(&p->spool, series, put_items, &pass);
		if (err == CLEW_OK && more)
			err = export_spool_read(&p->spool, more, put_items, &pass);
		json_close(firefox_json(x), ']');
	}
	return err;
}

/* --- threads --- */

static bool find_mains(struct export *x)
{
	struct firefox *p = export_state(x);

	for (uint32_t i = 0; i < export_nr_threads(x); i++) {
		const struct export_thread *t = export_thread_at(x, i);

		if (t->pid == t->tid && !map_u64_put(&p->mains, t->pid, i))
			return false;
	}
	return true;
}

static void put_who(struct export *x, const struct export_thread *t)
{
	const struct export_tables *tables = export_tables(x);
	const struct firefox *p = export_state(x);
	const uint64_t *main = map_u64_get(&p->mains, t->pid);
	const struct export_thread *of = main ? export_thread_at(x, (uint32_t)*main) : t;
	clew_auto(buf_done) struct buf pid = {0}, name = {0};

	export_put_id(&pid, t->pid);
	buf_str(&name, export_text(tables, t->comm));
	export_out(x)->is_failed |= pid.is_failed || name.is_failed;
	json_put_string(firefox_json(x), "processName", export_text(tables, of->comm));
	if (t->inner_pid)
		buf_printf(&name, " (%u)", t->inner_pid);
	json_put_string(firefox_json(x), "name", buf_cstr(&name));
	json_put_string(firefox_json(x), "pid", buf_cstr(&pid));
	json_put_id(firefox_json(x), "tid", t->tid);
	json_put_bool(firefox_json(x), "isMainThread", t->pid == t->tid);
}

static void put_life(struct export *x, const struct firefox_track *track)
{
	struct json_put *j = firefox_json(x);

	json_put_string(j, "processType", "default");
	json_put_u64(j, "processStartupTime", 0);
	json_put_string(j, "processShutdownTime", NULL);
	json_key(j, "registerTime");
	firefox_put_ms(x, track->first);
	json_put_string(j, "unregisterTime", NULL);
	json_key(j, "pausedRanges");
	json_open(j, '[');
	json_close(j, ']');
	json_put_bool(j, "showMarkersInTimeline", false);
}

static enum clew_err put_samples(struct export *x, uint32_t n)
{
	struct firefox *p = export_state(x);
	enum clew_err err;

	json_key(firefox_json(x), "samples");
	json_open(firefox_json(x), '{');
	err = put_columns(x, sample_columns, 2 * n, 0);
	json_put_string(firefox_json(x), "weightType", p->is_time ? "tracing-ms" : "samples");
	json_put_u64(firefox_json(x), "length", p->tracks.data[n].nr);
	json_close(firefox_json(x), '}');
	return err;
}

static enum clew_err put_markers(struct export *x, uint32_t n)
{
	struct firefox *p = export_state(x);
	uint64_t nr = n ? p->tracks.data[n].nr_markers : 0;
	bool has_lost = !p->has_put_lost;
	enum clew_err err;

	nr += has_lost ? p->tracks.data[0].nr_markers : 0;
	p->has_put_lost = true;
	json_key(firefox_json(x), "markers");
	json_open(firefox_json(x), '{');
	err = put_columns(x, firefox_marker_columns, has_lost ? 1 : 2 * n + 1,
			  has_lost && n ? 2 * n + 1 : 0);
	json_put_u64(firefox_json(x), "length", nr);
	json_close(firefox_json(x), '}');
	return err;
}

static enum clew_err put_thread(struct export *x, uint32_t n)
{
	const struct firefox *p = export_state(x);
	enum clew_err err;

	json_open(firefox_json(x), '{');
	put_who(x, export_thread_at(x, n - 1)); /* of track 0: EXPORT_NONE */
	put_life(x, &p->tracks.data[n]);
	err = put_samples(x, n);
	if (err == CLEW_OK)
		err = put_markers(x, n);
	json_close(firefox_json(x), '}');
	return err;
}

/* The unknown thread is the last one. */
static enum clew_err put_threads(struct export *x)
{
	const struct firefox *p = export_state(x);
	enum clew_err err = CLEW_OK;

	json_key(firefox_json(x), "threads");
	json_open(firefox_json(x), '[');
	for (uint32_t i = 1; i < p->tracks.nr && err == CLEW_OK; i++)
		err = p->tracks.data[i].nr ? put_thread(x, i) : CLEW_OK;
	if (err == CLEW_OK && p->tracks.nr && p->tracks.data[0].nr)
		err = put_thread(x, 0);
	json_close(firefox_json(x), ']');
	return err;
}

/* --- about the whole --- */

static void put_empty(struct json_put *j, const char *key)
{
	json_key(j, key);
	json_open(j, '[');
	json_close(j, ']');
}

static enum clew_err put_parts(struct export *x)
{
	enum clew_err err = firefox_put_libs(x);

	if (err == CLEW_OK)
		err = put_threads(x);
	return err ? err : firefox_put_shared(x);
}

static enum clew_err end(struct export *x)
{
	const struct export_event *e = export_first_event(x);
	struct firefox *p = export_state(x);
	uint32_t command = export_command(x);
	enum clew_err err;

	if (command == EXPORT_NONE || !find_mains(x))
		return CLEW_NO_MEMORY;
	p->json.out = export_out(x);
	p->is_time =
		e && !export_opts(x)->by_samples && export_unit_of(e->evsel) == EXPORT_NANOSECONDS;
	json_open(&p->json, '{');
	firefox_put_meta(x, e, command ? export_text(export_tables(x), command) : "clew");
	put_empty(&p->json, "pages");
	err = put_parts(x);
	put_empty(&p->json, "counters");
	put_empty(&p->json, "profilerOverhead");
	json_close(&p->json, '}');
	buf_char(export_out(x), '\n');
	return err;
}

static void done(struct export *x)
{
	struct firefox *p = export_state(x);

	export_spool_done(&p->spool);
	vec_done(&p->tracks);
	map_u64_done(&p->mains);
	mem_free(p->source_of);
	vec_done(&p->sources);
	vec_done(&p->base_names);
}

static const char *why(struct export *x)
{
	const struct firefox *p = export_state(x);

	return export_spool_why(&p->spool);
}

const struct export_format export_firefox = {
	.name = "firefox",
	.summary = "JSON of the Firefox Profiler: profiler.firefox.com, profiler-cli",
	.has_one_event = true,
	.wants_lines = true,
	.keys = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CGROUP,
	.state_bytes = sizeof(struct firefox),
	.begin = begin,
	.sample = put_sample,
	.lost = firefox_put_lost,
	.switched = firefox_put_switch,
	.paused = firefox_put_pause,
	.end = end,
	.done = done,
	.why = why,
};
