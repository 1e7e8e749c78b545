/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "export/export_spool.h"
#include "format/export/export_formats.h"
#include "format/export/export_name.h"
#include "format/json_put.h"

/*
 * speedscope's own JSON: a profile per thread and event, the largest first. A frame has no line:
 * with it, a function at three lines would be three. Spec: speedscope 1.25,
 * file-format-schema.json.
 */

/* As it stands in the spool. */
struct item {
	uint32_t node, padding;
	uint64_t weight;
};

struct profile {
	uint32_t thread, event;
	uint64_t weight;
};

struct speedscope {
	struct export_spool spool; /* a series per profile */
	struct map_u64 profile_of; /* thread << 32 | event -> profile */
	struct {
		VEC(struct profile);
	} profiles;
	struct json_put json;
	bool is_weights; /* which of the two lists is written */
};

enum { MAX_PROFILES = 1 << 20 };

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	struct speedscope *p = export_state(x);
	uint32_t thread = export_key_at(x, s->key)->thread;
	const struct item item = {.node = s->node, .weight = export_weight(export_opts(x), s)};
	size_t n;

	if (!map_u64_number(&p->profile_of, (uint64_t)thread << 32 | s->event, p->profiles.nr,
			    MAX_PROFILES, &n))
		return CLEW_NO_MEMORY;
	if (n == p->profiles.nr && !vec_push(&p->profiles, (struct profile){thread, s->event, 0}))
		return CLEW_NO_MEMORY;
	p->profiles.data[n].weight += item.weight;
	return export_spool_add(&p->spool, (uint32_t)n, &item, sizeof(item));
}

/* --- the document --- */

static enum clew_err put_frames(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct speedscope *p = export_state(x);
	struct buf name = {0};
	enum clew_err err = CLEW_OK;

	json_key(&p->json, "shared");
	json_open(&p->json, '{');
	json_key(&p->json, "frames");
	json_open(&p->json, '[');
	for (uint32_t i = 0; i < t->functions.nr && err == CLEW_OK; i++) {
		const struct export_function *f = &t->functions.data[i];
		uint32_t file = f->file                  ? f->file
			      : f->binary != EXPORT_NONE ? t->binaries.data[f->binary].path
							 : 0;

		buf_clear(&name);
		export_put_function(&name, x, i);
		json_open(&p->json, '{');
		json_put_string(&p->json, "name", buf_cstr(&name));
		if (file)
			json_put_string(&p->json, "file", export_text(t, file));
		json_close(&p->json, '}');
		err = name.is_failed ? CLEW_NO_MEMORY : export_flush(x);
	}
	json_close(&p->json, ']');
	json_close(&p->json, '}');
	buf_done(&name);
	return err;
}

static void put_stack(struct json_put *j, const struct export_stack *s)
{
	json_open(j, '[');
	for (size_t i = s->nr; i-- > 0;)
		json_u64(j, s->at[i]);
	json_close(j, ']');
}

static enum clew_err put_items(void *ctx, const void *data, size_t size)
{
	struct export *x = ctx;
	struct speedscope *p = export_state(x);
	const char *at = data;
	struct export_stack stack;
	enum clew_err err = CLEW_OK;
	struct item item;

	for (; size >= sizeof(item) && err == CLEW_OK; at += sizeof(item), size -= sizeof(item)) {
		memcpy(&item, at, sizeof(item));
		if (p->is_weights) {
			json_u64(&p->json, item.weight);
		} else {
			if (!export_stack(x, item.node, &stack))
				return CLEW_NO_MEMORY;
			put_stack(&p->json, &stack);
		}
		err = export_flush(x);
	}
	return err;
}

static enum clew_err put_list(struct export *x, uint32_t n, const char *key, bool is_weights)
{
	struct speedscope *p = export_state(x);
	enum clew_err err;

	p->is_weights = is_weights;
	json_key(&p->json, key);
	json_open(&p->json, '[');
	err = export_spool_read(&p->spool, n, put_items, x);
	json_close(&p->json, ']');
	return err;
}

static const char *unit_of(const struct export *x, const struct export_event *e)
{
	bool is_time = export_unit_of(e->evsel) == EXPORT_NANOSECONDS;

	return is_time && !export_opts(x)->by_samples ? "nanoseconds" : "none";
}

/* "COMM pid P tid T EVENT" */
static void put_name(struct export *x, const struct profile *profile)
{
	const struct export_thread *t = export_thread_at(x, profile->thread);
	struct speedscope *p = export_state(x);
	const struct export_tables *tables = export_tables(x);
	struct buf name = {0};

	buf_str(&name, export_text(tables, t->comm));
	buf_str(&name, " pid ");
	export_put_id(&name, t->pid);
	buf_str(&name, " tid ");
	export_put_id(&name, t->tid);
	buf_char(&name, ' ');
	buf_str(&name, export_text(tables, export_event_at(x, profile->event)->name));
	json_put_string(&p->json, "name", buf_cstr(&name));
	buf_done(&name);
}

static enum clew_err put_profile(struct export *x, uint32_t n)
{
	struct speedscope *p = export_state(x);
	const struct profile *profile = &p->profiles.data[n];
	enum clew_err err;

	json_open(&p->json, '{');
	json_put_string(&p->json, "type", "sampled");
	put_name(x, profile);
	json_put_string(&p->json, "unit", unit_of(x, export_event_at(x, profile->event)));
	json_put_u64(&p->json, "startValue", 0);
	json_put_u64(&p->json, "endValue", profile->weight);
	err = put_list(x, n, "samples", false);
	if (err == CLEW_OK)
		err = put_list(x, n, "weights", true);
	json_close(&p->json, '}');
	return err;
}

static int heavier(const void *a, const void *b, void *profiles)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile *p = profiles;

	if (p[i].weight != p[j].weight)
		return p[i].weight < p[j].weight ? 1 : -1;
	return i < j ? -1 : i > j;
}

static enum clew_err put_profiles(struct export *x)
{
	struct speedscope *p = export_state(x);
	uint32_t *order = mem_calloc(p->profiles.nr + 1, sizeof(*order));
	enum clew_err err = order ? CLEW_OK : CLEW_NO_MEMORY;

	for (uint32_t i = 0; order && i < p->profiles.nr; i++)
		order[i] = i;
	if (order)
		qsort_r(order, p->profiles.nr, sizeof(*order), heavier, p->profiles.data);
	json_key(&p->json, "profiles");
	json_open(&p->json, '[');
	for (size_t i = 0; i < p->profiles.nr && err == CLEW_OK; i++)
		err = put_profile(x, order[i]);
	json_close(&p->json, ']');
	mem_free(order);
	return err;
}

static enum clew_err end(struct export *x)
{
	struct speedscope *p = export_state(x);
	uint32_t command = export_command(x);
	enum clew_err err;

	if (command == EXPORT_NONE)
		return CLEW_NO_MEMORY;
	p->json.out = export_out(x);
	json_open(&p->json, '{');
	json_put_string(&p->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_string(&p->json, "exporter", "clew");
	json_put_string(&p->json, "name",
			command ? export_text(export_tables(x), command) : "clew");
	json_put_u64(&p->json, "activeProfileIndex", 0);
	err = put_frames(x);
	if (err == CLEW_OK)
		err = put_profiles(x);
	json_close(&p->json, '}');
	buf_char(export_out(x), '\n');
	return err;
}

static void done(struct export *x)
{
	struct speedscope *p = export_state(x);

	export_spool_done(&p->spool);
	map_u64_done(&p->profile_of);
	vec_done(&p->profiles);
}

static const char *why(struct export *x)
{
	const struct speedscope *p = export_state(x);

	return export_spool_why(&p->spool);
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.summary = "speedscope's JSON: a profile per thread, in order of time",
	.by_function = true,
	.wants_lines = true,
	.keys = EXPORT_BY_PID | EXPORT_BY_TID,
	.state_bytes = sizeof(struct speedscope),
	.sample = put_sample,
	.end = end,
	.done = done,
	.why = why,
};
