/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "api/frame.h"
#include "api/left_out.h"
#include "api/session_impl.h"

/* --- events --- */

/** @p text may be NULL. @return false: out of memory. */
static bool keep_text(struct session_events *l, const char *text, const char **ret)
{
	uint32_t id = text ? intern_str(&l->texts, text) : 0;

	*ret = text && id != INTERN_FAILED ? intern_get(&l->texts, id) : NULL;
	return id != INTERN_FAILED;
}

/* As many bytes as the attr says it has, so that readers of attrs take them. */
static bool keep_attr(struct session_events *l, const struct perf_attr *a, struct clew_event *ret)
{
	uint8_t *bytes;

	ret->attr_bytes = a->size > PERF_ATTR_SIZE_VER9 ? a->size : PERF_ATTR_SIZE_VER9;
	bytes = arena_zalloc(&l->memory, ret->attr_bytes);
	ret->attr = bytes;
	if (bytes)
		perf_attr_for_kernel(a, bytes);
	return bytes;
}

static bool keep_ids(struct session_events *l, const struct perf_evsel *e, struct clew_event *ret)
{
	uint64_t *ids = arena_alloc(&l->memory, (e->nr_ids + 1) * sizeof(*ids));

	if (ids && e->nr_ids)
		memcpy(ids, e->ids, e->nr_ids * sizeof(*ids));
	ret->ids = ids;
	ret->nr_ids = e->nr_ids;
	return ids;
}

static bool fill(struct session_events *l, const struct perf_evsel *e, struct clew_event *ret)
{
	ret->index = e->index;
	ret->leader = e->leader;
	ret->nr_group = e->nr_group;
	ret->type = e->attr.type;
	ret->config = e->attr.config;
	ret->sample_type = e->attr.sample_type;
	ret->sample_period = e->attr.sample_period;
	ret->has_frequency = perf_attr_has(&e->attr, PERF_ATTR_FREQ);
	return keep_text(l, e->name ? e->name : "", &ret->name) &&
	       keep_text(l, e->unit, &ret->unit) && keep_text(l, e->group_name, &ret->group_name) &&
	       (ret->nr_ids == e->nr_ids || keep_ids(l, e, ret));
}

static bool add(struct session_events *l, const struct perf_evsel *e)
{
	struct clew_event *ret = arena_zalloc(&l->memory, sizeof(*ret));

	return ret && keep_attr(l, &e->attr, ret) && keep_ids(l, e, ret) && fill(l, e, ret) &&
	       vec_push(&l->all, ret);
}

bool session_events_update(struct clew_session *s)
{
	struct session_events *l = &s->events;
	const struct perf_evlist *from = perf_file_evlist(analyze_file(s->analysis));

	/* Names may come after the events. A second pass begins without either. */
	for (size_t i = 0; i < l->all.nr && i < from->evsels.nr; i++) {
		if (!fill(l, from->evsels.data[i], l->all.data[i]))
			return false;
	}
	while (l->all.nr < from->evsels.nr) {
		if (!add(l, from->evsels.data[l->all.nr]))
			return false;
	}
	return true;
}

const struct clew_event *clew_session_event(struct clew_session *s, size_t i)
{
	if (!s || (perf_file_is_pipe(analyze_file(s->analysis)) && !session_events_update(s)))
		return NULL;
	return i < s->events.all.nr ? s->events.all.data[i] : NULL;
}

/* --- threads --- */

bool session_threads_note(struct session_threads *t, const struct ana_event *e)
{
	uint64_t key = (uint64_t)e->pid << 32 | e->tid, *place;

	if (!t->last || t->last->pid != e->pid || t->last->tid != e->tid) {
		place = map_u64_get(&t->index, key);
		if (place) {
			t->last = t->all.data[*place];
		} else {
			t->last = arena_zalloc(&t->memory, sizeof(*t->last));
			if (!t->last || !map_u64_put(&t->index, key, t->all.nr) ||
			    !vec_push(&t->all, t->last))
				return false;
			t->last->pid = e->pid;
			t->last->tid = e->tid;
		}
	}
	t->last->comm = e->comm;
	t->last->nr_samples++;
	return true;
}

void session_threads_done(struct session_threads *t)
{
	map_u64_done(&t->index);
	vec_done(&t->all);
	arena_done(&t->memory);
	*t = (struct session_threads){0};
}

const struct clew_thread *clew_session_thread(const struct clew_session *s, size_t i)
{
	return s && i < s->threads.all.nr ? s->threads.all.data[i] : NULL;
}

const struct clew_binary *clew_session_binary(const struct clew_session *s, size_t i)
{
	return s ? binary_of(dso_store_at(s->dsos, i)) : NULL;
}

/* --- the outcome --- */

static void sum_user_stacks(struct clew_summary *ret, const struct ana_outcomes *o)
{
	ret->nr_user_partial = o->nr_partial;
	ret->nr_user_unproven = o->nr_unproven;
	ret->nr_user_complete = o->by_reason[STITCH_NO_REASON] - o->nr_partial - o->nr_unproven;
	for (enum stitch_reason r = STITCH_IDLE; r < NR_STITCH_REASONS; r++) {
		if (r <= STITCH_NOT_ASKED)
			ret->nr_user_none_expected += o->by_reason[r];
		else
			ret->nr_user_lost += o->by_reason[r];
	}
}

const struct clew_summary *clew_session_summary(struct clew_session *s)
{
	const struct ana_summary *a;

	if (!s)
		return NULL;
	a = analyze_summary(s->analysis);
	s->left_out = left_out_of(&s->budget);
	s->summary = (struct clew_summary){
		.nr_samples = a->nr_samples,
		.nr_lost = a->nr_lost,
		.nr_bad = a->nr_bad,
		.first_bad_offset = a->first_bad_offset,
		.nr_late = a->order.nr_late,
		.nr_mappings_dropped = a->nr_maps_dropped,
		.first_time = a->first_time,
		.last_time = a->last_time,
		.nr_aux_bytes = a->nr_aux_bytes,
		.nr_aux_missing = a->nr_aux_missing,
		.kernel_note = a->kernel_note,
		.stacks_note = a->stacks_note,
		.end = s->end.code,
		.end_offset = s->end.offset,
		.left_out = &s->left_out,
	};
	for (size_t i = 0; i < a->nr_unresolved; i++)
		s->summary.nr_without_symbol += a->unresolved[i].nr;
	sum_user_stacks(&s->summary, &a->users);
	return &s->summary;
}
