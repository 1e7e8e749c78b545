/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/perfetto.h"

#include <time.h>

#include "analyze/ana_level.h"
#include "base/hash.h"
#include "format/export/export_name.h"

/*
 * A trace of Perfetto, as recorded: what a sample names is written before its first use, and known
 * by our number + 1 then. Numbers hold in a sequence of packets alone, and each event has its own,
 * as readers take a sequence for one sampling session. Spec: perfetto_fields.h.
 */
enum { SEQUENCE_OF_ALL = 1, FIRST_SEQUENCE };
enum { LOST_TRACK = 1, FIRST_TRACK };

/* --- packets --- */

static void end_packet(struct export *x, struct clew_perf_ns time, uint32_t sequence,
		       uint32_t flags)
{
	struct perfetto *p = export_state(x);

	if (time.ns != UINT64_MAX)
		pb_num0(&p->packet, PACKET_TIMESTAMP, time.ns);
	pb_num(&p->packet, PACKET_SEQUENCE_ID, sequence);
	pb_num(&p->packet, PACKET_SEQUENCE_FLAGS, flags);
	pb_move(export_out(x), TRACE_PACKET, &p->packet);
}

/* @p defaults: more of them; may be empty. */
static void begin_sequence(struct export *x, uint32_t sequence, struct buf *defaults)
{
	struct perfetto *p = export_state(x);

	pb_num(defaults, DEFAULTS_CLOCK_ID, p->clock);
	pb_move(&p->packet, PACKET_DEFAULTS, defaults);
	end_packet(x, clew_perf_ns_none(), sequence, FLAG_CLEARED);
}

static uint32_t clock_of(uint32_t clockid)
{
	switch (clockid) {
	case CLOCK_REALTIME:
		return CLOCK_OF_REALTIME;
	case CLOCK_MONOTONIC:
		return CLOCK_OF_MONOTONIC;
	case CLOCK_MONOTONIC_RAW:
		return CLOCK_OF_MONOTONIC_RAW;
	case CLOCK_BOOTTIME:
		return CLOCK_OF_BOOTTIME;
	default:
		return CLOCK_OF_PERF;
	}
}

static void put_clock(struct perfetto *p, uint32_t clock, uint64_t ns)
{
	pb_num(&p->part, CLOCK_ID, clock);
	pb_num0(&p->part, CLOCK_TIMESTAMP, ns);
	pb_move(&p->message, SNAPSHOT_CLOCK, &p->part);
}

static enum clew_err begin(struct export *x)
{
	struct perfetto *p = export_state(x);
	struct perf_file *file = export_opts(x)->file;
	struct perf_clock_data clock = {0};
	bool is_known = file && perf_features_clock_data(perf_file_features(file), &clock);

	p->is_old = export_opts(x)->format == &export_perfetto_v57;
	p->clock = is_known ? clock_of(clock.clockid) : CLOCK_OF_PERF;
	begin_sequence(x, SEQUENCE_OF_ALL, &p->message);
	put_clock(p, p->clock, clock.clockid_ns);
	if (is_known && p->clock != CLOCK_OF_REALTIME)
		put_clock(p, CLOCK_OF_REALTIME, clock.wall_clock_ns);
	pb_num(&p->message, SNAPSHOT_PRIMARY, p->clock);
	pb_move(&p->packet, PACKET_CLOCK_SNAPSHOT, &p->message);
	end_packet(x, clew_perf_ns_none(), SEQUENCE_OF_ALL, 0);
	return CLEW_OK;
}

void perfetto_put_id(struct buf *out, uint32_t field, uint32_t id)
{
	if (id != UINT32_MAX)
		pb_num0(out, field, id);
}

/* A thread's descriptor has no place for it. */
static void put_inner_pid(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	struct perfetto *p = export_state(x);

	pb_num(&p->message, EVENT_TYPE, TYPE_INSTANT);
	pb_num(&p->message, EVENT_TRACK, (uint64_t)thread + FIRST_TRACK);
	pb_text(&p->message, EVENT_NAME, "PID namespace");
	pb_text(&p->part, ANNOTATION_NAME, "pid_in_ns");
	pb_num0(&p->part, ANNOTATION_UINT, export_thread_at(x, thread)->inner_pid);
	pb_move(&p->message, EVENT_ANNOTATION, &p->part);
	pb_move(&p->packet, PACKET_TRACK_EVENT, &p->message);
	end_packet(x, time, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
}

static enum clew_err put_thread(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	const struct export_thread *t = export_thread_at(x, thread);
	struct perfetto *p = export_state(x);

	perfetto_put_id(&p->part, THREAD_PID, t->pid);
	perfetto_put_id(&p->part, THREAD_TID, t->tid);
	pb_text(&p->part, THREAD_NAME, export_text(export_tables(x), t->comm));
	pb_num(&p->message, TRACK_UUID, (uint64_t)thread + FIRST_TRACK);
	pb_move(&p->message, TRACK_THREAD, &p->part);
	pb_move(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->message);
	end_packet(x, time, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
	if (t->inner_pid)
		put_inner_pid(x, thread, time);
	return CLEW_OK;
}

static void put_lost_track(struct export *x, struct clew_perf_ns time)
{
	struct perfetto *p = export_state(x);

	p->has_lost_track = true;
	pb_num(&p->message, TRACK_UUID, LOST_TRACK);
	pb_text(&p->message, TRACK_NAME, "lost records");
	pb_move(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->message);
	end_packet(x, time, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
}

static enum clew_err put_lost(struct export *x, const struct export_lost *l)
{
	struct perfetto *p = export_state(x);

	if (!p->has_lost_track)
		put_lost_track(x, l->time);
	pb_num(&p->message, EVENT_TYPE, TYPE_INSTANT);
	pb_num(&p->message, EVENT_TRACK, LOST_TRACK);
	pb_text(&p->message, EVENT_NAME, "lost");
	pb_text(&p->part, ANNOTATION_NAME, "records");
	pb_num0(&p->part, ANNOTATION_UINT, l->nr);
	pb_move(&p->message, EVENT_ANNOTATION, &p->part);
	pb_move(&p->packet, PACKET_TRACK_EVENT, &p->message);
	end_packet(x, l->time, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
	return export_flush(x);
}

static enum clew_err put_switch(struct export *x, const struct export_switch *s)
{
	struct perfetto *p = export_state(x);

	perfetto_put_id(&p->message, TASK_STATE_CPU, s->cpu);
	pb_text(&p->message, TASK_STATE_COMM, export_text(export_tables(x), s->comm));
	perfetto_put_id(&p->message, TASK_STATE_TID, s->tid);
	pb_num(&p->message, TASK_STATE_STATE,
	       !s->is_out        ? TASK_RUNNING
	       : s->is_preempted ? TASK_RUNNABLE
				 : TASK_SLEEPING);
	pb_move(&p->packet, PACKET_TASK_STATE, &p->message);
	end_packet(x, s->time, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
	return export_flush(x);
}

/* --- times without recording: slices of a track per CPU and reason --- */

static void put_pause_track(struct export *x, const struct ana_pause *pause, uint64_t uuid)
{
	struct perfetto *p = export_state(x);

	buf_clear(&p->word);
	buf_str(&p->word, "trace state");
	if (pause->cpu != UINT32_MAX)
		buf_printf(&p->word, ", CPU %u", pause->cpu);
	if (pause->tid != UINT32_MAX)
		buf_printf(&p->word, ", thread %u", pause->tid);
	pb_num(&p->message, TRACK_UUID, uuid);
	pb_move(&p->message, TRACK_NAME, &p->word);
	pb_move(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->message);
	end_packet(x, pause->from, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
}

static void put_pause_edge(struct export *x, const struct ana_pause *pause, uint64_t uuid,
			   bool is_begin)
{
	struct perfetto *p = export_state(x);

	pb_num(&p->message, EVENT_TYPE, is_begin ? TYPE_SLICE_BEGIN : TYPE_SLICE_END);
	pb_num(&p->message, EVENT_TRACK, uuid);
	if (is_begin) {
		pb_text(&p->message, EVENT_NAME, "paused");
		pb_text(&p->part, ANNOTATION_NAME, "reason");
		pb_text(&p->part, ANNOTATION_TEXT, pause->why);
		pb_move(&p->message, EVENT_ANNOTATION, &p->part);
	}
	pb_move(&p->packet, PACKET_TRACK_EVENT, &p->message);
	end_packet(x, is_begin ? pause->from : pause->to, SEQUENCE_OF_ALL, FLAG_NEEDS_STATE);
}

static enum clew_err put_pause(struct export *x, const struct ana_pause *pause)
{
	const uint64_t parts[] = {pause->cpu, pause->tid};
	uint64_t uuid =
		hash_bytes(parts, sizeof(parts)) ^ hash_bytes(pause->why, strlen(pause->why));

	uuid |= UINT64_C(1) << 63; /* none of a thread */
	put_pause_track(x, pause, uuid);
	put_pause_edge(x, pause, uuid, true);
	put_pause_edge(x, pause, uuid, false);
	return export_flush(x);
}

/* --- samples --- */

static void put_source(struct export *x, const struct export_event *e)
{
	struct perfetto *p = export_state(x);

	buf_clear(&p->word);
	buf_printf(&p->word, "clew %s", export_text(export_tables(x), e->name));
	pb_move(&p->part, STACK_DEFAULTS_SOURCE, &p->word);
	pb_move(&p->message, DEFAULTS_STACK_SAMPLE, &p->part);
}

static void put_timebase(struct export *x, const struct export_event *e)
{
	const struct perf_attr *a = &e->evsel->attr;
	bool is_frequency = perf_attr_has(a, PERF_ATTR_FREQ);
	struct perfetto *p = export_state(x);

	pb_num(&p->part, is_frequency ? TIMEBASE_FREQUENCY : TIMEBASE_PERIOD, a->sample_period);
	pb_text(&p->part, TIMEBASE_NAME, export_text(export_tables(x), e->name));
	pb_move(&p->word, PERF_DEFAULTS_TIMEBASE, &p->part);
	pb_move(&p->message, DEFAULTS_PERF_SAMPLE, &p->word);
}

static struct perfetto_sequence *sequence_of(struct export *x, uint32_t event)
{
	struct perfetto *p = export_state(x);
	struct perfetto_sequence *s;

	while (p->sequences.nr <= event) {
		if (!vec_push(&p->sequences, (struct perfetto_sequence){0}))
			return NULL;
	}
	s = &p->sequences.data[event];
	if (s->has_begun)
		return s;
	s->has_begun = true;
	buf_clear(&p->word);
	if (p->is_old)
		put_timebase(x, export_event_at(x, event));
	else
		put_source(x, export_event_at(x, event));
	begin_sequence(x, FIRST_SEQUENCE + event, &p->message);
	return s;
}

static void end_sample(struct export *x, const struct export_sample *s, uint32_t field)
{
	struct perfetto *p = export_state(x);

	if (p->interned.nr || p->interned.is_failed)
		pb_move(&p->packet, PACKET_INTERNED_DATA, &p->interned);
	pb_move(&p->packet, field, &p->message);
	end_packet(x, s->time, FIRST_SEQUENCE + s->event, FLAG_NEEDS_STATE);
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	const struct export_key k = *export_key_at(x, s->key);
	struct perfetto *p = export_state(x);
	struct perfetto_sequence *q = sequence_of(x, s->event);
	uint32_t execution;

	if (!q)
		return CLEW_NO_MEMORY;
	perfetto_put_stack(x, q, s->node);
	execution = perfetto_put_execution(p, q, &k);
	if (k.thread != EXPORT_NONE)
		perfetto_put_task(x, q, k.thread);
	perfetto_put_counter(x, q, s->event);
	if (k.thread != EXPORT_NONE)
		pb_num(&p->message, STACK_TASK, perfetto_iid(k.thread));
	pb_num(&p->message, STACK_EXECUTION, perfetto_iid(execution));
	pb_num(&p->message, STACK_CALLSTACK, perfetto_iid(s->node));
	if (k.cut)
		pb_text(&p->message, STACK_UNWIND_ERROR, export_text(export_tables(x), k.cut));
	pb_num(&p->message, STACK_COUNTER, perfetto_iid(s->event));
	pb_num0(&p->message, STACK_WEIGHT, export_weight(export_opts(x), s));
	end_sample(x, s, PACKET_STACK_SAMPLE);
	return export_flush(x);
}

static enum clew_err put_perf_sample(struct export *x, const struct export_sample *s)
{
	const struct export_key k = *export_key_at(x, s->key);
	struct perfetto *p = export_state(x);
	struct perfetto_sequence *q = sequence_of(x, s->event);

	if (!q)
		return CLEW_NO_MEMORY;
	perfetto_put_stack(x, q, s->node);
	q->total += export_weight(export_opts(x), s);
	perfetto_put_id(&p->message, PERF_CPU, k.cpu);
	perfetto_put_id(&p->message, PERF_PID, export_thread_at(x, k.thread)->pid);
	perfetto_put_id(&p->message, PERF_TID, export_thread_at(x, k.thread)->tid);
	pb_num(&p->message, PERF_CALLSTACK, perfetto_iid(s->node));
	pb_num(&p->message, PERF_CPU_MODE, ana_misc_of_level(k.level));
	pb_num0(&p->message, PERF_TIMEBASE_COUNT, q->total);
	end_sample(x, s, PACKET_PERF_SAMPLE);
	return export_flush(x);
}

static enum clew_err end(struct export *x)
{
	(void)x;
	return CLEW_OK;
}

static void done(struct export *x)
{
	struct perfetto *p = export_state(x);

	buf_done(&p->packet);
	buf_done(&p->interned);
	buf_done(&p->message);
	buf_done(&p->part);
	buf_done(&p->word);
	vec_for_each (&p->sequences, s) {
		for (size_t i = 0; i < NR_KINDS; i++)
			vec_done(&s->written[i]);
	}
	vec_done(&p->sequences);
	map_u64_done(&p->executions);
}

enum {
	KEYS = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CPU | EXPORT_BY_LEVEL | EXPORT_BY_CUT,
};

const struct export_format export_perfetto = {
	.name = "perfetto",
	.summary = "a trace of stack samples: ui.perfetto.dev, trace_processor from v58 on",
	.is_binary = true,
	.wants_lines = true,
	.keys = KEYS,
	.state_bytes = sizeof(struct perfetto),
	.begin = begin,
	.thread = put_thread,
	.sample = put_sample,
	.lost = put_lost,
	.switched = put_switch,
	.paused = put_pause,
	.end = end,
	.done = done,
};

const struct export_format export_perfetto_v57 = {
	.name = "perfetto-v57",
	.summary = "the same with samples as older ones read them",
	.is_binary = true,
	.wants_lines = true,
	.keys = KEYS,
	.state_bytes = sizeof(struct perfetto),
	.begin = begin,
	.thread = put_thread,
	.sample = put_perf_sample,
	.lost = put_lost,
	.switched = put_switch,
	.paused = put_pause,
	.end = end,
	.done = done,
};
