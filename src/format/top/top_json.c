/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf_sink.h"
#include "base/cleanup.h"
#include "format/json_put.h"
#include "format/report/report_json.h"
#include "format/top/top_text.h"

enum { VERSION = 1, DECIMALS_OF_NS = 9 };

static void put_levels(struct json_put *j, const struct top_view *v)
{
	static const char *const names[TOP_NR_LEVELS] = {[TOP_USER] = "user",
							 [TOP_KERNEL] = "kernel",
							 [TOP_GUEST] = "guest",
							 [TOP_OTHER] = "other"};

	json_key(j, "levels");
	json_open(j, '{');
	for (size_t i = 0; i < TOP_NR_LEVELS; i++)
		json_put_u64(j, names[i], v->by_level[i]);
	json_close(j, '}');
}

static void put_seconds(struct json_put *j, const char *key, uint64_t ns)
{
	json_key(j, key);
	json_fixed(j, ns, DECIMALS_OF_NS);
}

static void put_head(struct json_put *j, const struct top_view *v)
{
	json_put_string(j, "format", "clew-top");
	json_put_u64(j, "version", VERSION);
	json_put_u64(j, "refresh", v->number);
	put_seconds(j, "seconds", v->interval_ns);
	json_put_u64(j, "samples", v->samples);
	json_put_u64(j, "lost", v->lost);
	json_put_u64(j, "all_samples", v->all_samples);
	json_put_u64(j, "all_lost", v->all_lost);
	put_levels(j, v);
	put_seconds(j, "cpu_seconds", v->cpu_ns);
	put_seconds(j, "all_cpu_seconds", v->all_cpu_ns);
	json_put_u64(j, "analyses", v->stream);
}

static void put_sort(struct json_put *j, const struct report_feed *f)
{
	const struct report_sort *sort = report_feed_sort(f);

	json_key(j, "sort");
	json_open(j, '[');
	for (size_t i = 0; i < sort->nr; i++)
		json_string(j, report_key_name(sort->keys[i]));
	json_close(j, ']');
}

static enum clew_err put_tables(struct report_json *r, const struct top_view *v,
				const struct top_style *style)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < report_feed_nr_events(v->feed) && err == CLEW_OK; i++) {
		struct report_table table;

		if (!report_feed_event(v->feed, i)->nr)
			continue;
		err = top_table_make(v, i, style, &table);
		if (err != CLEW_OK)
			return err;
		err = report_json_table(r, &table);
		report_table_done(&table);
	}
	return err;
}

/* Strings have no newline in JSON: all but the last are between values. */
static void join_lines(struct buf *b)
{
	char *text = (char *)b->data;

	for (size_t i = 0; i + 1 < b->nr; i++)
		text[i] = text[i] == '\n' ? ' ' : text[i];
}

enum clew_err top_json(const struct top_view *v, const struct top_style *style,
		       const struct clew_sink *sink)
{
	clew_auto(buf_done) struct buf out = {0};
	const struct clew_sink to = buf_sink(&out);
	struct report_json r = {.feed = v->feed, .sink = &to};
	struct json_put j = {.out = &r.out};
	enum clew_err err;

	json_open(&j, '{');
	put_head(&j, v);
	put_sort(&j, v->feed);
	json_key(&j, "tables");
	json_open(&j, '[');
	r.needs_comma = j.needs_comma;
	err = put_tables(&r, v, style);
	if (err == CLEW_OK)
		err = report_json_end(&r);
	report_json_done(&r);
	join_lines(&out);
	return err == CLEW_OK ? sink->write(sink->ctx, out.data, out.nr) : err;
}
