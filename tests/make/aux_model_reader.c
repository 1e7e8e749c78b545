/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/aux_model.h"
#include "record/aux/aux_restart.h"

enum { BYTES = MODEL_LEN * MODEL_BLOCK };

#define TICK_NS UINT64_C(1000000) /* of code that is executed */

/* --- A full trace --- */

enum phase { READ_RING, LOAD_HEAD, COPY, STORE_TAIL, DECIDE, RESTART };

/* A gap is known by what was read, or by the restart. */
static void read_ring(struct model *m, const struct model_config *c)
{
	for (uint8_t i = 0; i < m->nr_ring; i++) {
		m->is_truncated |= m->ring[i] == RECORD_TRUNCATED;
		m->is_lost |= m->ring[i] == RECORD_LOST;
		m->ring[i] = 0;
	}
	m->nr_ring = 0;
	if (!(c->bad & MODEL_NO_LOST))
		m->is_lost |= m->was_lost; /* the event's own count */
	m->was_lost = 0;
	if (m->is_truncated || m->is_lost)
		m->has_gap = 0;
}

static void copy(struct model *m)
{
	for (uint8_t b = m->head - m->fill; b != m->head; b++)
		if (m->area[b % MODEL_LEN] != b + 1)
			m->errors |= MODEL_P3;
}

static bool is_due(const struct model *m, const struct model_config *c)
{
	/* As long as another event, or as it was enabled. */
	uint64_t due = (uint64_t)m->ran + m->idle + (c->bad & MODEL_NO_PEER ? 0 : m->off);
	const struct aux_restart r = {.has_truncated = m->is_truncated,
				      .has_lost = m->is_lost,
				      .area = BYTES,
				      .fill = (size_t)m->fill * MODEL_BLOCK,
				      .watermark = 2 * MODEL_BLOCK,
				      .page = 2 * MODEL_BLOCK - 1,
				      .has_times = true,
				      .ran = m->ran * TICK_NS,
				      .due = due * TICK_NS};

	if (c->bad & MODEL_ENABLE_ONLY)
		return m->is_truncated;
	return aux_restart_is_due(&r);
}

static void forget(struct model *m)
{
	m->is_truncated = m->is_lost = m->idle = m->ran = m->off = 0;
	m->head = m->fill = 0;
}

static void decide(struct model *m, const struct model_config *c)
{
	bool due = is_due(m, c);

	forget(m);
	m->phase = due ? RESTART : READ_RING;
	if (!due)
		return;
	m->has_gap = 0;
	if (!(c->bad & MODEL_ENABLE_ONLY))
		model_disable(m);
}

const char *model_read(struct model *m, const struct model_config *c)
{
	switch ((enum phase)m->phase) {
	case READ_RING:
		read_ring(m, c);
		m->phase = LOAD_HEAD;
		return "reader: data ring";
	case LOAD_HEAD:
		m->head = m->shown;
		m->fill = (uint8_t)(m->head - m->tail);
		if (c->bad & MODEL_EARLY_TAIL)
			m->tail = m->head;
		m->phase = COPY;
		return "reader: load head";
	case COPY:
		copy(m);
		m->phase = STORE_TAIL;
		return "reader: copy";
	case STORE_TAIL:
		m->tail = m->head;
		m->phase = DECIDE;
		return "reader: store tail";
	case DECIDE:
		decide(m, c);
		return m->phase == RESTART ? "reader: restart, DISABLE" : "reader: no restart";
	case RESTART:
		model_enable(m, c);
		m->has_gap = m->idle = m->ran = m->off = 0; /* times are read again */
		m->phase = READ_RING;
		return "reader: restart, ENABLE";
	}
	return NULL;
}

/* The reader brings the trace back while the code that should be traced is executed, and reports
 * the gap. Of a task that is away nothing can be seen: it comes first. */
unsigned int model_check_progress(const struct model_config *c, const struct model *m)
{
	struct model later = *m;
	bool runs;

	if ((m->runs && !m->has_gap) || m->depth)
		return 0;
	model_schedule_in(&later, c, m->cpu);
	for (int i = 0; i < 3; i++) {
		model_execute(&later, c);
		do
			model_read(&later, c);
		while (later.phase != READ_RING);
	}
	runs = later.runs || later.is_paused;
	return (runs && !later.has_gap ? 0u : MODEL_P3) | later.errors;
}
