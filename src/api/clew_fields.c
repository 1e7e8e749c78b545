/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/misuse.h"
#include "api/session_impl.h"

_Static_assert((int)CLEW_FIELD_SIGNED == (int)TRACEPOINT_SIGNED &&
		       (int)CLEW_FIELD_BYTES == (int)TRACEPOINT_BYTES,
	       "the kinds of fields are numbered alike");

static struct tracepoints *tracepoints_of(struct clew_session *s)
{
	const struct perf_features *f = perf_file_features(analyze_file(s->analysis));

	if (!s->tracepoints)
		s->tracepoints = tracepoints_new(f->section[PERF_FEAT_TRACING_DATA]);
	return s->tracepoints;
}

struct fields {
	enum clew_err (*take)(void *ctx, const struct clew_field *field);
	void *ctx;
	enum clew_err err;
};

static void take_field(void *ctx, const struct tracepoint_field *f)
{
	struct fields *c = ctx;
	const struct clew_field field = {.name = f->name,
					 .kind = (enum clew_field_kind)f->kind,
					 .number = f->number,
					 .bytes = f->bytes.pos,
					 .nr_bytes = bytes_left(&f->bytes)};

	if (!c->err)
		c->err = api_taken(c->take(c->ctx, &field));
}

enum clew_err clew_sample_fields(struct clew_session *s, const struct clew_sample *sample,
				 enum clew_err (*take)(void *ctx, const struct clew_field *field),
				 void *ctx)
{
	struct fields c = {take, ctx, CLEW_OK};
	const uint8_t *raw;
	struct tracepoints *t;

	if (!s || !sample || !take)
		return CLEW_INVALID;
	raw = sample->raw;
	if (!raw || sample->event->type != PERF_TYPE_TRACEPOINT)
		return CLEW_NOT_FOUND;
	t = tracepoints_of(s);
	if (!t ||
	    !tracepoint_each_field(t, sample->event->config,
				   (struct bytes){raw, raw + sample->raw_bytes}, take_field, &c))
		return CLEW_NOT_FOUND;
	return c.err;
}

/* "a,b,c", one after the other. */
static enum clew_err each_name(struct buf *names, enum clew_err (*take)(void *, const char *),
			       void *ctx)
{
	char *name = names->nr ? (char *)(uintptr_t)buf_cstr(names) : NULL, *end;
	enum clew_err err = CLEW_OK;

	while (!err && name) {
		end = strchr(name, ',');
		if (end)
			*end++ = '\0';
		err = api_taken(take(ctx, name));
		name = end;
	}
	return err;
}

enum clew_err clew_event_fields(struct clew_session *s, const struct clew_event *event,
				enum clew_err (*take)(void *ctx, const char *name), void *ctx)
{
	enum clew_err err = CLEW_NOT_FOUND;
	struct tracepoints *t;
	struct buf names = {0};

	if (!s || !event || !take)
		return CLEW_INVALID;
	if (event->type != PERF_TYPE_TRACEPOINT)
		return CLEW_NOT_FOUND;
	t = tracepoints_of(s);
	if (t && tracepoint_add_field_names(t, event->config, &names))
		err = names.is_failed ? CLEW_NO_MEMORY : each_name(&names, take, ctx);
	buf_done(&names);
	return err;
}
