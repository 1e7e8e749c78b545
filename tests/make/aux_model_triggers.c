/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/aux_model.h"

/*
 * A trigger, in steps: a pause acts, then writes its sample; a resume writes its sample, then acts.
 * To act: check that no other trigger of this buffer is served (else dropped, without a word), set
 * the state, call the driver. Another trigger may come at any point of it (NMI).
 * Spec: Linux 6.12 and 7.3 kernel/events/core.c, "perf_event_aux_pause", "__perf_event_overflow".
 */
enum place { BEFORE, GUARDED, STATE_SET, DRIVER_DONE, AFTER, DONE };

bool model_hit(struct model *m, const struct model_config *c, int trigger)
{
	uint8_t kind = trigger ? TRIGGER_RESUME : TRIGGER_PAUSE;

	if (m->trigger[trigger] != EVENT_ACTIVE || m->nr_hits >= c->max_hits ||
	    m->depth > (c->nests ? 1 : 0) || !m->is_in)
		return false;
	m->nr_hits++;
	if (m->leader == EVENT_CLOSED) {
		m->errors |= MODEL_P6;
		return true;
	}
	m->is_nested |= m->depth > 0;
	m->kind[m->depth] = kind;
	m->at[m->depth] = BEFORE;
	m->has_changed[m->depth] = 0;
	m->depth++;
	return true;
}

static void write_sample(struct model *m, const struct model_config *c, uint8_t kind)
{
	if (m->sample == TRIGGER_RESUME && kind == TRIGGER_PAUSE && !m->has_traced)
		m->is_late |= m->is_nested; /* an interval without trace */
	m->sample = kind;
	m->has_traced = 0;
	model_emit(m, RECORD_OTHER);
	if (c->is_snapshot && m->nr_ring == MODEL_RING) /* without a reader */
		m->nr_ring = 0;
}

static void call_driver(struct model *m, const struct model_config *c, bool resumes)
{
	if (!resumes) {
		m->runs = 0;
		return;
	}
	if (m->leader == EVENT_ACTIVE && !model_begin(m, c))
		model_full(m, c);
}

static uint8_t act(struct model *m, const struct model_config *c, int level)
{
	bool resumes = m->kind[level] == TRIGGER_RESUME;

	switch ((enum place)m->at[level]) {
	case BEFORE:
		if (m->is_served)
			return AFTER;
		m->is_served = 1;
		return GUARDED;
	case GUARDED:
		m->has_changed[level] = m->is_paused == resumes;
		m->is_paused = !resumes;
		return STATE_SET;
	case STATE_SET:
		if (m->has_changed[level])
			call_driver(m, c, resumes);
		return DRIVER_DONE;
	case DRIVER_DONE:
		m->is_served = 0;
		return AFTER;
	case AFTER:
	case DONE:
		return DONE;
	}
	return DONE;
}

bool model_serve(struct model *m, const struct model_config *c)
{
	int level = m->depth - 1;
	bool pauses;

	if (level < 0)
		return false;
	pauses = m->kind[level] == TRIGGER_PAUSE;
	if (m->at[level] == BEFORE && !pauses && !m->has_changed[level]) {
		write_sample(m, c, TRIGGER_RESUME);
		m->has_changed[level] = 1; /* written */
		return true;
	}
	m->at[level] = act(m, c, level);
	if (m->at[level] != DONE)
		return true;
	if (pauses)
		write_sample(m, c, TRIGGER_PAUSE);
	m->last = m->kind[level];
	m->kind[level] = m->at[level] = m->has_changed[level] = 0;
	m->depth--;
	return true;
}

/* A6: leader off, change, leader on; or at once. */
bool model_change(struct model *m, const struct model_config *c, int trigger)
{
	uint8_t *t = &m->trigger[trigger];

	if (!c->changes || m->depth || m->nr_hits >= c->max_hits || *t == EVENT_CLOSED ||
	    *t == EVENT_ERROR)
		return false;
	if (c->bad & MODEL_LATE_TRIGGER) {
		if (*t != EVENT_OFF)
			return false;
		*t = EVENT_INACTIVE; /* only scheduling of the group brings it in */
		return true;
	}
	switch (m->change) {
	case 0:
		model_disable(m);
		m->change = (uint8_t)(1 + trigger);
		return true;
	case 1:
	case 2:
		if (m->change != 1 + trigger)
			return false;
		*t = *t == EVENT_OFF ? EVENT_INACTIVE : EVENT_OFF;
		m->change = (uint8_t)(3 + trigger);
		return true;
	default:
		if (m->change != 3 + trigger)
			return false;
		model_enable(m, c);
		m->change = 0;
		m->nr_hits++;
		return true;
	}
}

static bool is_closed(const struct model *m, int trigger)
{
	return m->trigger[trigger] == EVENT_CLOSED;
}

/* @what: a trigger, or 2: the leader. */
bool model_close(struct model *m, const struct model_config *c, int what)
{
	bool is_bad = c->bad & MODEL_LEADER_FIRST;

	if (!c->changes)
		return false;
	if (m->depth || m->change || m->leader == EVENT_CLOSED) {
		if (!is_bad || what == 2 || m->trigger[what] != EVENT_ERROR)
			return false;
		m->trigger[what] = EVENT_ACTIVE; /* ENABLE of an orphan */
		return true;
	}
	if (what < 2) {
		if (is_bad || is_closed(m, what))
			return false;
		m->trigger[what] = EVENT_CLOSED;
		return true;
	}
	if (!is_bad && (!is_closed(m, 0) || !is_closed(m, 1)))
		return false;
	model_disable(m);
	m->leader = EVENT_CLOSED;
	for (int i = 0; i < 2; i++)
		if (!is_closed(m, i))
			m->trigger[i] = EVENT_ERROR;
	return true;
}

/* What the last trigger says, in truth. */
static bool should_run(const struct model_config *c, const struct model *m)
{
	return m->last == TRIGGER_NONE ? !c->starts_paused : m->last == TRIGGER_RESUME;
}

unsigned int model_check_triggers(const struct model_config *c, const struct model *m)
{
	struct model later = *m;
	unsigned int broken = 0;

	if (m->depth || m->change)
		return 0;
	if (m->runs && m->leader != EVENT_ACTIVE)
		broken |= MODEL_P1;
	if (m->leader != EVENT_ACTIVE)
		return broken;
	for (int i = 0; i < 2; i++)
		if (m->trigger[i] == EVENT_INACTIVE)
			broken |= MODEL_P1; /* its next hit does not act */
	if (!c->is_snapshot)                /* it may be full */
		return broken | (m->runs && !should_run(c, m) ? MODEL_P1 : 0u);
	if (!m->is_nested)
		return broken | (m->runs != should_run(c, m) || m->is_late ? MODEL_P1 : 0u);
	/* The file never shows a running trace that is paused; the reverse, with the next block. */
	if (m->sample == TRIGGER_RESUME && !m->runs)
		broken |= MODEL_P2;
	if (m->sample == TRIGGER_PAUSE && m->runs && (!model_execute(&later, c) || !later.is_late))
		broken |= MODEL_P2;
	return broken;
}
