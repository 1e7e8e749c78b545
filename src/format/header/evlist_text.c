/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/header/evlist_text.h"

#include "base/escape.h"
#include "format/header/attr_text.h"
#include "format/json_put.h"

bool evlist_has_tracepoints(const struct perf_evlist *l)
{
	for (size_t i = 0; i < l->evsels.nr; i++) {
		if (l->evsels.data[i]->attr.type == PERF_TYPE_TRACEPOINT)
			return true;
	}
	return false;
}

/* A leader stands for its members, which have no lines of their own. */
static void add_group(struct buf *out, const struct perf_evlist *l, const struct perf_evsel *e)
{
	if (e->leader != e->index)
		return;
	if (e->nr_group < 2) {
		escape_str(out, e->name);
		buf_char(out, '\n');
		return;
	}
	if (e->group_name && strcmp(e->group_name, "{anon_group}") != 0)
		escape_str(out, e->group_name);
	buf_char(out, '{');
	for (uint32_t i = e->index; i < e->index + e->nr_group; i++) {
		if (i > e->index)
			buf_char(out, ',');
		escape_str(out, l->evsels.data[i]->name);
	}
	buf_str(out, "}\n");
}

static void add_event(struct buf *out, const struct perf_evsel *e,
		      const struct evlist_text_opts *opts)
{
	const char *separator = ": ";
	size_t from;

	escape_str(out, e->name);
	if (opts->is_verbose) {
		buf_str(out, separator);
		attr_text(out, &e->attr, ": ");
		separator = ", ";
	} else if (opts->has_freq) {
		buf_str(out, separator);
		buf_str(out, perf_attr_has(&e->attr, PERF_ATTR_FREQ) ? "sample_freq="
								     : "sample_period=");
		buf_dec(out, e->attr.sample_period, 0, ' ');
		separator = ", ";
	}
	if (opts->trace_fields) {
		buf_str(out, separator);
		if (e->attr.type != PERF_TYPE_TRACEPOINT) {
			buf_str(out, "(not a tracepoint)");
		} else {
			buf_str(out, "trace_fields: ");
			from = out->nr;
			if (!opts->trace_fields(opts->ctx, e->attr.config, out))
				buf_str(out, "(no trace field)");
			escape_since(out, from);
		}
	}
	buf_char(out, '\n');
}

void evlist_text(struct buf *out, const struct perf_evlist *l, const struct evlist_text_opts *opts)
{
	for (size_t i = 0; i < l->evsels.nr; i++) {
		if (opts->has_groups)
			add_group(out, l, l->evsels.data[i]);
		else
			add_event(out, l->evsels.data[i], opts);
	}
}

static void json_bit(void *ctx, const char *name)
{
	json_string(ctx, name);
}

static void json_field(void *ctx, const struct attr_field *f)
{
	struct json_put *j = ctx;

	json_key(j, f->json);
	switch (f->kind) {
	case ATTR_DECIMAL:
	case ATTR_HEX:
		json_u64(j, f->value);
		break;
	case ATTR_SIGNED:
		json_i64(j, (int64_t)f->value);
		break;
	case ATTR_SAMPLE_TYPE:
	case ATTR_READ_FORMAT:
	case ATTR_BRANCH:
		json_open(j, '[');
		attr_field_each_bit(f, json_bit, j);
		json_close(j, ']');
		break;
	}
}

static void json_event(struct json_put *j, const struct perf_evsel *e)
{
	json_open(j, '{');
	json_key(j, "index");
	json_u64(j, e->index);
	json_key(j, "name");
	json_string(j, e->name);
	if (e->unit) {
		json_key(j, "unit");
		json_string(j, e->unit);
	}
	json_key(j, "leader");
	json_u64(j, e->leader);
	if (e->group_name) {
		json_key(j, "group");
		json_string(j, e->group_name);
	}
	if (!e->attr.type) { /* left out with the fields that are 0, but what the event is */
		json_key(j, "type");
		json_u64(j, 0);
	}
	if (!e->attr.config) {
		json_key(j, "config");
		json_u64(j, 0);
	}
	attr_each_field(&e->attr, json_field, j);
	json_key(j, "ids");
	json_open(j, '[');
	for (uint32_t i = 0; i < e->nr_ids; i++)
		json_u64(j, e->ids[i]);
	json_close(j, ']');
	json_close(j, '}');
}

void evlist_json(struct buf *out, const struct perf_evlist *l)
{
	struct json_put j = {.out = out};

	json_open(&j, '{');
	json_key(&j, "format");
	json_string(&j, "clew-evlist");
	json_key(&j, "version");
	json_u64(&j, 1);
	json_key(&j, "events");
	json_open(&j, '[');
	for (size_t i = 0; i < l->evsels.nr; i++)
		json_event(&j, l->evsels.data[i]);
	json_close(&j, ']');
	json_close(&j, '}');
}
