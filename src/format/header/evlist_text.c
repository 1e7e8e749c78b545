/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/header/evlist_text.h"

#include "base/escape.h"
#include "format/header/attr_text.h"
#include "format/json_put.h"

bool evlist_has_tracepoints(struct clew_session *s)
{
	const struct clew_event *e;

	for (size_t i = 0; (e = clew_session_event(s, i)); i++) {
		if (e->type == PERF_TYPE_TRACEPOINT)
			return true;
	}
	return false;
}

static struct perf_attr attr_of(const struct clew_event *e)
{
	const uint8_t *bytes = e->attr;
	struct perf_attr a = {0};

	return perf_attr_parse((struct bytes){bytes, bytes + e->attr_bytes}, false, &a) == CLEW_OK
		     ? a
		     : (struct perf_attr){0};
}

/* A leader stands for its members, which have no separate lines. */
static void add_group(struct buf *out, struct clew_session *s, const struct clew_event *e)
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
		escape_str(out, clew_session_event(s, i)->name);
	}
	buf_str(out, "}\n");
}

struct names {
	struct buf *out;
	bool needs_comma;
};

static enum clew_err add_name(void *ctx, const char *name)
{
	struct names *n = ctx;

	if (n->needs_comma)
		buf_char(n->out, ',');
	n->needs_comma = true;
	escape_str(n->out, name);
	return CLEW_OK;
}

static void add_fields(struct buf *out, struct clew_session *s, const struct clew_event *e)
{
	struct names names = {.out = out};

	if (e->type != PERF_TYPE_TRACEPOINT) {
		buf_str(out, "(not a tracepoint)");
		return;
	}
	buf_str(out, "trace_fields: ");
	if (clew_event_fields(s, e, add_name, &names) == CLEW_NOT_FOUND)
		buf_str(out, "(no trace field)");
}

static void add_event(struct buf *out, struct clew_session *s, const struct clew_event *e,
		      const struct evlist_text_opts *opts)
{
	const char *separator = ": ";
	struct perf_attr attr;

	escape_str(out, e->name);
	if (opts->is_verbose) {
		attr = attr_of(e);
		buf_str(out, separator);
		attr_text(out, &attr, ": ");
		separator = ", ";
	} else if (opts->has_freq) {
		buf_str(out, separator);
		buf_str(out, e->has_frequency ? "sample_freq=" : "sample_period=");
		buf_dec(out, e->sample_period, 0, ' ');
		separator = ", ";
	}
	if (opts->has_trace_fields) {
		buf_str(out, separator);
		add_fields(out, s, e);
	}
	buf_char(out, '\n');
}

void evlist_text(struct buf *out, struct clew_session *s, const struct evlist_text_opts *opts)
{
	const struct clew_event *e;

	for (size_t i = 0; (e = clew_session_event(s, i)); i++) {
		if (opts->has_groups)
			add_group(out, s, e);
		else
			add_event(out, s, e, opts);
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

static void json_event(struct json_put *j, const struct clew_event *e)
{
	struct perf_attr attr = attr_of(e);

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
	if (!e->type) { /* omitted as a field that is 0, but it says what the event is */
		json_key(j, "type");
		json_u64(j, 0);
	}
	if (!e->config) {
		json_key(j, "config");
		json_u64(j, 0);
	}
	attr_each_field(&attr, json_field, j);
	json_key(j, "ids");
	json_open(j, '[');
	for (size_t i = 0; i < e->nr_ids; i++)
		json_u64(j, e->ids[i]);
	json_close(j, ']');
	json_close(j, '}');
}

void evlist_json(struct buf *out, struct clew_session *s)
{
	struct json_put j = {.out = out};
	const struct clew_event *e;

	json_open(&j, '{');
	json_key(&j, "format");
	json_string(&j, "clew-evlist");
	json_key(&j, "version");
	json_u64(&j, 1);
	json_key(&j, "events");
	json_open(&j, '[');
	for (size_t i = 0; (e = clew_session_event(s, i)); i++)
		json_event(&j, e);
	json_close(&j, ']');
	json_close(&j, '}');
}
