/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "make/aux_model.h"
#include "record/aux/aux_window.h"

enum { BYTES = MODEL_LEN * MODEL_BLOCK };

enum phase { IDLE, STOPPED, HEAD_READ, TAKEN };

/* A block's bytes: its number, so never equal to those of another. */
static void spread(const uint8_t blocks[MODEL_LEN], uint8_t bytes[BYTES])
{
	for (int i = 0; i < MODEL_LEN; i++)
		memset(bytes + i * MODEL_BLOCK, blocks[i], MODEL_BLOCK);
}

static uint64_t head_of(const struct model_config *c, uint8_t blocks)
{
	return (uint64_t)(c->is_counter ? blocks : blocks % MODEL_LEN) * MODEL_BLOCK;
}

/* clew's rule. @return blocks, the newest last. */
static uint8_t take_window(struct model *m, const struct model_config *c, uint8_t ret[MODEL_LEN])
{
	uint8_t area[BYTES], before[BYTES];
	struct aux_window_state s = {.area = BYTES,
				     .is_counter = c->is_counter,
				     .has_true_sizes = c->has_true_sizes,
				     .head = head_of(c, m->old),
				     .count = (uint64_t)m->count * MODEL_BLOCK,
				     .before = before,
				     .nr_before = m->has_before ? BYTES : 0};
	struct aux_window_ask ask = {.head = head_of(c, m->head),
				     .has_sum = c->has_true_sizes && !m->was_lost,
				     .sum = (uint64_t)(m->head - m->old) * MODEL_BLOCK,
				     .limit = (size_t)c->limit * MODEL_BLOCK};
	struct aux_window w;
	uint8_t nr = 0;

	spread(m->area, area);
	spread(m->before, before);
	w = aux_window_next(&s, area, &ask);
	for (uint64_t at = w.from; at < w.to; at += MODEL_BLOCK)
		ret[nr++] = area[at % BYTES];
	aux_window_taken(&s, area, ask.head, &w);
	m->count = (uint8_t)(s.count / MODEL_BLOCK);
	m->has_before = s.nr_before != 0;
	for (int i = 0; m->has_before && i < MODEL_LEN; i++)
		m->before[i] = before[i * MODEL_BLOCK];
	return nr;
}

/* perf's rules. */
static uint8_t take_bad_window(struct model *m, const struct model_config *c,
			       uint8_t ret[MODEL_LEN])
{
	uint8_t d = (uint8_t)(m->head - m->old) % MODEL_LEN, n = d;

	if (c->bad & MODEL_MODULO && !d && m->head != m->old)
		n = MODEL_LEN;
	if (c->bad & MODEL_STICKY) {
		m->has_before |= m->area[MODEL_LEN - 1] != 0;
		n = m->has_before ? MODEL_LEN : d;
	}
	for (uint8_t i = 0; i < n; i++)
		ret[i] = m->area[(uint8_t)(m->head - n + i) % MODEL_LEN];
	return n;
}

/* What a reader shows that wants whole slices. */
static uint8_t contain(const struct model *m, const struct model_config *c,
		       uint8_t blocks[MODEL_LEN], uint8_t nr)
{
	uint8_t skip = 0;

	if (!(c->bad & MODEL_CONTAIN))
		return nr;
	while (skip < nr && !(m->slices >> (blocks[skip] - 1) & 1))
		skip++;
	memmove(blocks, blocks + skip, nr - skip);
	return nr - skip;
}

static bool is_newest(const struct model *m, const struct model_config *c,
		      const uint8_t blocks[MODEL_LEN], uint8_t nr)
{
	uint8_t fresh = m->made - m->taken, most = c->limit ? c->limit : MODEL_LEN;
	uint8_t want = fresh < most ? fresh : most;

	if (nr != want)
		return false;
	for (uint8_t i = 0; i < nr; i++)
		if (blocks[i] != m->made - nr + 1 + i)
			return false;
	return true;
}

static void take(struct model *m, const struct model_config *c)
{
	uint8_t blocks[MODEL_LEN], nr;

	if (c->bad & (MODEL_MODULO | MODEL_STICKY))
		nr = take_bad_window(m, c, blocks);
	else
		nr = take_window(m, c, blocks);
	if (!is_newest(m, c, blocks, contain(m, c, blocks, nr)))
		m->errors |= c->bad & MODEL_CONTAIN ? MODEL_P3 : MODEL_P4;
	m->old = m->head;
	m->taken = m->made;
	m->was_lost = 0;
	m->given++;
	m->merged = (uint8_t)(m->merged + m->requests - 1);
	m->requests = 0;
}

static void empty_ring(struct model *m)
{
	memset(m->ring, 0, sizeof(m->ring));
	m->was_lost |= m->is_losing;
	m->nr_ring = m->is_losing = 0;
}

/* clew holds the trace from the first request on: nothing is traced between it and those that one
 * window answers with it. */
bool model_request(struct model *m, const struct model_config *c)
{
	if (m->asked >= c->max_requests)
		return false;
	m->asked++;
	if (c->bad & MODEL_DROP && m->phase != IDLE)
		return true;
	if (m->requests && m->held_at != m->made)
		m->errors |= MODEL_P5;
	if (!m->requests)
		m->held_at = m->made;
	m->requests++;
	if (m->phase != IDLE)
		return true;
	m->phase = STOPPED;
	m->is_wanted = 0;
	if (!(c->bad & MODEL_STALE_HEAD))
		model_disable(m);
	return true;
}

const char *model_snapshot(struct model *m, const struct model_config *c)
{
	switch ((enum phase)m->phase) {
	case IDLE:
		return NULL;
	case STOPPED:
		empty_ring(m);
		m->head = m->shown;
		m->phase = HEAD_READ;
		return "snapshot: read head";
	case HEAD_READ:
		take(m, c);
		m->phase = TAKEN;
		return "snapshot: copy";
	case TAKEN:
		m->phase = m->requests ? STOPPED : IDLE;
		m->is_wanted = !m->requests;
		if (!m->requests)
			model_enable(m, c);
		return "snapshot: ENABLE";
	}
	return NULL;
}
