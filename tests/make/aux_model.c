/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/aux_model.h"

#include <string.h>

/* The kernel's side: the event, its area and its data ring. */

void model_init(struct model *m, const struct model_config *c)
{
	memset(m, 0, sizeof(*m));
	m->is_in = 1;
	m->cpu = c->is_wide ? c->cpu : 0;
	m->is_paused = c->starts_paused;
	m->is_wanted = 1;
	m->trigger[0] = m->trigger[1] = EVENT_INACTIVE;
	if (c->bad & MODEL_LATE_TRIGGER)
		m->trigger[0] = m->trigger[1] = EVENT_OFF;
	m->is_new_slice = 1;
	model_enable(m, c);
}

/* LOST comes before the next record that fits, with it. */
void model_emit(struct model *m, uint8_t record)
{
	if (m->nr_ring + m->is_losing >= MODEL_RING) {
		m->is_losing = m->was_lost = 1;
		return;
	}
	if (m->is_losing)
		m->ring[m->nr_ring++] = RECORD_LOST;
	m->is_losing = 0;
	m->ring[m->nr_ring++] = record;
}

static bool is_full(const struct model *m, const struct model_config *c)
{
	/* One byte stays free: the last block does not fit. */
	return !c->is_snapshot && m->made - m->tail >= MODEL_LEN - 1;
}

bool model_begin(struct model *m, const struct model_config *c)
{
	if (m->is_paused)
		return true;
	if (is_full(m, c))
		return false;
	m->runs = 1;
	m->is_new_slice = 1;
	return true;
}

static void set_triggers(struct model *m, uint8_t from, uint8_t to)
{
	for (int i = 0; i < 2; i++)
		if (m->trigger[i] == from)
			m->trigger[i] = to;
}

static bool may_disable_later(const struct model *m, const struct model_config *c)
{
	/* Linux 6.12 keeps the number of the CPU, and 0 is nothing. */
	return c->is_73 || m->cpu != 0;
}

static void activate(struct model *m, const struct model_config *c)
{
	if (m->leader != EVENT_INACTIVE || !m->is_in)
		return;
	if (!model_begin(m, c)) { /* no record at all */
		m->is_pending |= may_disable_later(m, c);
		return;
	}
	m->leader = EVENT_ACTIVE;
	set_triggers(m, EVENT_INACTIVE, EVENT_ACTIVE);
}

static void deactivate(struct model *m)
{
	if (m->leader != EVENT_ACTIVE)
		return;
	if (m->shown != m->made)
		model_emit(m, RECORD_OTHER);
	m->shown = m->made;
	m->runs = 0;
	m->leader = m->is_pending ? EVENT_OFF : EVENT_INACTIVE;
	m->is_pending = 0;
	set_triggers(m, EVENT_ACTIVE, EVENT_INACTIVE);
}

void model_full(struct model *m, const struct model_config *c)
{
	m->shown = m->made;
	m->runs = 0;
	model_emit(m, RECORD_TRUNCATED);
	if (!c->is_73) {
		m->is_pending |= may_disable_later(m, c);
		return;
	}
	deactivate(m);
	m->leader = EVENT_OFF;
}

void model_enable(struct model *m, const struct model_config *c)
{
	if (m->leader != EVENT_OFF)
		return;
	m->leader = EVENT_INACTIVE;
	activate(m, c);
}

/* An event that is not on its CPU keeps what is pending: only scheduling out acts on it. */
void model_disable(struct model *m)
{
	if (m->leader != EVENT_ACTIVE && m->leader != EVENT_INACTIVE)
		return;
	deactivate(m);
	m->leader = EVENT_OFF;
}

static bool is_interrupted(const struct model *m)
{
	return m->depth != 0;
}

bool model_schedule_out(struct model *m, const struct model_config *c)
{
	if (c->is_wide || !m->is_in || is_interrupted(m))
		return false;
	deactivate(m);
	m->is_in = 0;
	return true;
}

bool model_schedule_in(struct model *m, const struct model_config *c, uint8_t cpu)
{
	if (c->is_wide || m->is_in)
		return false;
	m->is_in = 1;
	m->cpu = cpu;
	activate(m, c);
	return true;
}

static void make_block(struct model *m, const struct model_config *c)
{
	m->has_traced = m->sample != TRIGGER_NONE;
	m->is_late |= m->sample == TRIGGER_PAUSE;
	if (!c->max_blocks)
		return;
	if (c->bad & MODEL_CONTAIN && m->is_new_slice)
		m->slices |= (uint8_t)(1u << m->made);
	m->is_new_slice = 0;
	m->made++;
	m->area[(m->made - 1) % MODEL_LEN] = m->made;
	if (!c->is_snapshot)
		m->shown = m->made;
}

/* The traced code goes on for a while. */
bool model_execute(struct model *m, const struct model_config *c)
{
	if (!m->is_in || (m->runs && c->max_blocks && m->made >= c->max_blocks))
		return false;
	m->off |= m->leader == EVENT_OFF;
	m->idle |= m->leader == EVENT_INACTIVE;
	m->ran |= m->leader == EVENT_ACTIVE;
	if (m->runs && is_full(m, c))
		model_full(m, c);
	else if (m->runs)
		make_block(m, c);
	m->has_gap |= m->is_wanted && !m->runs && !m->is_paused && !m->depth;
	return true;
}

/* --- What may come next --- */

struct list {
	const struct model_config *c;
	const struct model *from;
	struct model_step *step;
	size_t nr;
};

static struct model *next(struct list *l)
{
	l->step[l->nr].next = *l->from;
	return &l->step[l->nr].next;
}

static void add(struct list *l, const char *name, bool is_possible)
{
	l->step[l->nr].name = name;
	l->nr += is_possible;
}

static bool other_record(struct model *m, const struct model_config *c)
{
	if (m->nr_records >= c->max_records)
		return false;
	m->nr_records++;
	model_emit(m, RECORD_OTHER);
	return true;
}

static void add_triggers(struct list *l)
{
	static const char *const names[][3] = {
		{"hit of pause",  "change of pause",  "close pause, or ENABLE its orphan" },
		{"hit of resume", "change of resume", "close resume, or ENABLE its orphan"},
	};

	for (int i = 0; i < 2; i++) {
		add(l, names[i][0], model_hit(next(l), l->c, i));
		add(l, names[i][1], model_change(next(l), l->c, i));
		add(l, names[i][2], model_close(next(l), l->c, i));
	}
	add(l, "trigger goes on", model_serve(next(l), l->c));
	add(l, "close leader", model_close(next(l), l->c, 2));
}

static void add_reader(struct list *l)
{
	const char *name =
		l->c->is_snapshot ? model_snapshot(next(l), l->c) : model_read(next(l), l->c);

	add(l, name, name);
	if (l->c->is_snapshot)
		add(l, "request", model_request(next(l), l->c));
}

size_t model_steps(const struct model_config *c, const struct model *m, struct model_step *ret)
{
	struct list l = {c, m, ret, 0};

	add(&l, "execute", model_execute(next(&l), c));
	add(&l, "schedule out", model_schedule_out(next(&l), c));
	add(&l, "schedule in on CPU 0", model_schedule_in(next(&l), c, 0));
	add(&l, "schedule in on CPU 1", model_schedule_in(next(&l), c, 1));
	add(&l, "another record", other_record(next(&l), c));
	if (c->has_triggers)
		add_triggers(&l);
	if (c->max_blocks)
		add_reader(&l);
	return l.nr;
}

unsigned int model_check(const struct model_config *c, const struct model *m)
{
	unsigned int broken = m->errors;

	if (c->has_triggers)
		broken |= model_check_triggers(c, m);
	if (c->max_blocks && !c->is_snapshot)
		broken |= model_check_progress(c, m);
	if (c->is_snapshot && m->asked != m->given + m->merged + m->requests)
		broken |= MODEL_P5;
	return broken;
}
