/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/chrome.h"
#include "format/export/export_name.h"

/* Chrome's JSON of samples with a tree of stacks. Spec: Google, "Trace Event Format". */

enum { EVENTS = 0 /* series of the spool */ };

static enum clew_err begin_samples(struct export *x)
{
	struct chrome *p = chrome_begin(x);

	p->events.out = &p->event;
	json_key(&p->json, "samples");
	json_open(&p->json, '[');
	return CLEW_OK;
}

static enum clew_err spool_event(struct chrome *p)
{
	enum clew_err err = p->event.is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	err = err ? err : export_spool_add(&p->spool, EVENTS, p->event.data, p->event.nr);
	buf_clear(&p->event);
	return err;
}

static enum clew_err name_samples(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	struct chrome *p = export_state(x);

	chrome_put_names(x, &p->events, thread, chrome_since_start(p, time, 0));
	return spool_event(p);
}

static enum clew_err lose_samples(struct export *x, const struct export_lost *l)
{
	struct chrome *p = export_state(x);

	chrome_put_lost(&p->events, l, chrome_since_start(p, l->time, 0));
	return spool_event(p);
}

static enum clew_err pause_samples(struct export *x, const struct ana_pause *pause)
{
	struct chrome *p = export_state(x);

	chrome_put_pause(p, &p->events, pause);
	return spool_event(p);
}

/* The name of a stack is a text. */
static const char *node_name(uint32_t node, char room[DEC_DIGITS + 1])
{
	unsigned int nr = dec_digits(room, node);

	room[DEC_DIGITS] = '\0';
	return room + DEC_DIGITS - nr;
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	const struct export_key *k = export_key_at(x, s->key);
	struct chrome *p = export_state(x);
	struct json_put *j = &p->json;
	char room[DEC_DIGITS + 1];

	json_open(j, '{');
	json_put_id(j, "cpu", k->cpu);
	chrome_put_who(x, j, k->thread);
	chrome_put_ts(j, chrome_since_start(p, s->time, 0));
	json_put_string(j, "name",
			export_text(export_tables(x), export_event_at(x, s->event)->name));
	if (k->cgroup)
		json_put_string(j, "cat", export_text(export_tables(x), k->cgroup));
	json_put_string(j, "sf", node_name(s->node, room));
	json_put_u64(j, "weight", export_weight(export_opts(x), s));
	json_close(j, '}');
	return CLEW_OK;
}

static void put_frame(struct export *x, uint32_t node)
{
	const struct export_tables *t = export_tables(x);
	uint32_t function = export_innermost_frame(x, node), callers = export_callers(x, node);
	uint32_t binary = t->functions.data[function].binary;
	struct chrome *p = export_state(x);
	struct json_put *j = &p->json;
	char room[DEC_DIGITS + 1];

	json_key(j, node_name(node, room));
	json_open(j, '{');
	chrome_put_function(x, j, function);
	if (binary != EXPORT_NONE)
		json_put_string(j, "category", export_path_of(x, binary));
	if (callers)
		json_put_string(j, "parent", node_name(callers, room));
	json_close(j, '}');
}

static enum clew_err copy_events(void *ctx, const void *data, size_t size)
{
	struct export *x = ctx;

	buf_add(export_out(x), data, size);
	return export_flush(x);
}

static enum clew_err finish_samples(struct export *x)
{
	struct chrome *p = export_state(x);
	enum clew_err err = CLEW_OK;

	json_close(&p->json, ']');
	json_key(&p->json, "stackFrames");
	json_open(&p->json, '{');
	for (uint32_t i = 1; i <= export_nr_nodes(x) && err == CLEW_OK; i++) {
		put_frame(x, i);
		err = export_flush(x);
	}
	json_close(&p->json, '}');
	json_key(&p->json, "traceEvents");
	json_open(&p->json, '[');
	if (err == CLEW_OK)
		err = export_spool_read(&p->spool, EVENTS, copy_events, x);
	json_close(&p->json, ']');
	json_close(&p->json, '}');
	buf_char(export_out(x), '\n');
	return err;
}

static const char *why(struct export *x)
{
	const struct chrome *p = export_state(x);

	return export_spool_why(&p->spool);
}

const struct export_format export_chrome_samples = {
	.name = "chrome-samples",
	.summary = "the same JSON with samples and a tree of stacks, for what sums them up",
	.by_function = true,
	.keys = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CPU | EXPORT_BY_CGROUP,
	.state_bytes = sizeof(struct chrome),
	.begin = begin_samples,
	.thread = name_samples,
	.sample = put_sample,
	.lost = lose_samples,
	.paused = pause_samples,
	.end = finish_samples,
	.done = chrome_done,
	.why = why,
};
