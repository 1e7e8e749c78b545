/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_marks.h"

#include "base/search.h"
#include "flow/flow_key.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/trace_threads.h"
#include "trace/trace_decode.h"

/** What a chunk that begins at EL0 shows so far. */
enum start { START_NONE, START_AT_USER, START_OVER };

struct unit_pass {
	struct code_key key;
	enum start start;
	bool has_run; /* some of the chunk ran */
	struct trace_ran_chunk last;
	struct who_cursor cursor;
	uint32_t noted; /* bits of levels and worlds without contexts: bit_of() */
};

struct pass {
	struct perf_trace *p;
	struct who_notes *notes;
	struct unit_pass *units;
	enum who_level level; /* of the host's kernel, as contexts say */
};

/** The host kernel's, by the unit's configuration. */
static enum who_level level_of(const struct perf_trace *p, uint32_t unit)
{
	const struct aux_units *u = perf_trace_units_of(p, unit);

	return u->protocol->kernel_level(u->units, unit - u->first);
}

static bool has_ids(const struct perf_trace *p, uint32_t unit)
{
	const struct aux_units *u = perf_trace_units_of(p, unit);

	return u->protocol->has_ids(u->units, unit - u->first);
}

static enum who_level level_of_all(const struct perf_trace *p)
{
	enum who_level ret = WHO_LEVEL_UNKNOWN;

	for (uint32_t i = 0; i < p->units.nr; i++) {
		enum who_level level =
			perf_trace_has_levels(p, i) ? level_of(p, i) : WHO_LEVEL_UNKNOWN;

		if (level != WHO_LEVEL_UNKNOWN && (ret == WHO_LEVEL_UNKNOWN || level > ret))
			ret = level;
	}
	return ret;
}

/** Does the unit's trace show threads by switches alone? */
static bool needs_switches(const struct perf_trace *p, uint32_t unit)
{
	return !has_ids(p, unit) && p->has_clock && p->has_time_conv &&
	       p->units.data[unit].tid == AUX_NONE && !p->is_of_tasks &&
	       who_ran_has_switches(p->ran.rule);
}

/** The unit is decoded in one thread, which counts switches. */
static void count_switches(const struct perf_trace *p, uint32_t unit)
{
	struct trace_unit_code *code = p->units.data[unit].code->ctx;

	code->source.counts_switches = true;
}

bool trace_marks_begin(struct perf_trace *p, bool *ret_wanted)
{
	enum who_level level = level_of_all(p);
	bool is_wanted = false;

	if (level != WHO_LEVEL_UNKNOWN)
		who_ran_set_kernel_level(p->ran.rule, level);
	for (uint32_t i = 0; i < p->units.nr; i++) {
		bool needs;

		if (!perf_trace_has_levels(p, i) || !p->units.data[i].is_decodable)
			continue;
		if (has_ids(p, i))
			who_ran_assume_root(p->ran.rule);
		needs = needs_switches(p, i);
		if (needs)
			count_switches(p, i);
		ret_wanted[i] = needs || p->ran.has_vcpus;
		is_wanted |= ret_wanted[i];
	}
	return is_wanted;
}

/* --- the pass --- */

static struct trace_chunk_marks *chunk_now(struct pass *s, size_t unit)
{
	struct trace_unit_marks *m = &s->p->marks.units[unit];

	return m->nr ? &m->data[m->nr - 1] : NULL;
}

static bool begin_chunk(struct pass *s, size_t unit, struct clew_perf_ns bound)
{
	const struct trace_chunk_marks c = {.bound = bound};

	s->units[unit].start = START_NONE;
	s->units[unit].has_run = false;
	return vec_push(&s->p->marks.units[unit], c);
}

static uint32_t bit_of(const struct who_question *q)
{
	return 1u << ((unsigned int)q->level * 4 + (unsigned int)q->world);
}

/** Note levels, and contexts of guests. */
static bool note_context(struct pass *s, size_t unit, const struct aux_who *who)
{
	struct who_question q = {.cpu = s->p->units.data[unit].cpu,
				 .level = who->way.level,
				 .world = who_world_of_way(s->level, &who->way)};

	if (q.world == WHO_WORLD_GUEST)
		trace_ran_add_contexts(who, &q);
	if (!q.has && s->units[unit].noted & bit_of(&q))
		return true;
	s->units[unit].noted |= q.has ? 0 : bit_of(&q);
	return who_ran_note(s->p->ran.rule, s->notes, &s->units[unit].cursor, &q);
}

/** Do the unit's times fit the chunk's? */
static bool note_time(struct pass *s, size_t unit)
{
	struct unit_pass *u = &s->units[unit];
	struct who_question q = trace_ran_time_question(s->p, (uint32_t)unit, &u->key, &u->last);

	return who_ran_note(s->p->ran.rule, s->notes, &u->cursor, &q);
}

static void see_level(struct unit_pass *u, struct trace_chunk_marks *c, const struct aux_who *who)
{
	if (u->start == START_NONE && !who->way.level) {
		u->start = START_AT_USER;
		return;
	}
	if (u->start == START_AT_USER && who->way.level == WHO_EL1 && !who->is_firmware)
		c->starts_in_guest = true;
	if (who->way.level)
		u->start = START_OVER;
}

/** While a chunk's first user code is read as the host's: does it contradict that? */
static bool contradicts(const struct pass *s, const struct flow_event *e)
{
	if (e->kind == FLOW_EV_NO_SYNC)
		return e->reason == FLOW_NO_SYNC_BAD_IMAGE;
	return e->kind == FLOW_EV_NACC && trace_code_is_unmapped(s->p, e->space, e->address);
}

static bool take_event(struct pass *s, size_t unit, const struct flow_event *e)
{
	struct unit_pass *u = &s->units[unit];
	struct trace_chunk_marks *c = chunk_now(s, unit);
	struct aux_who who;

	flow_key_take_event(&u->key, e);
	if (e->kind == FLOW_EV_BOUND)
		return begin_chunk(s, unit, e->bound);
	if (!c)
		return true;
	c->is_not_host |= u->start == START_AT_USER && contradicts(s, e);
	switch (e->kind) {
	case FLOW_EV_TIMESTAMP:
		if (!c->first.ticks)
			c->first = e->ticks;
		return note_time(s, unit);
	case FLOW_EV_SWITCH:
		c->nr[u->key.context.arm.el == 2]++;
		return true;
	case FLOW_EV_CONTEXT:
		who = perf_trace_who(s->p, (uint32_t)unit, &e->context);
		see_level(u, c, &who);
		return note_context(s, unit, &who);
	case FLOW_EV_NACC:
		u->has_run = true;
		return true;
	case FLOW_EV_NO_SYNC:
	case FLOW_EV_TRACE_ON:
		if (u->has_run)
			u->start = START_OVER;
		return true;
	default:
		return true;
	}
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct pass *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		if (!(b->items[i] & FLOW_ITEM_EVENT))
			s->units[unit].has_run = true;
		else if (!take_event(s, unit, &b->events[b->items[i] & ~FLOW_ITEM_EVENT]))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static enum clew_err run(struct pass *s, const bool *wanted)
{
	bool *skips = mem_calloc(s->p->units.nr + 1, sizeof(*skips));
	const struct trace_decode_opts opts = {.skips = skips, .batch = take_batch, .ctx = s};
	enum clew_err err = CLEW_NO_MEMORY;

	for (size_t i = 0; skips && i < s->p->units.nr; i++)
		skips[i] = !wanted[i];
	s->p->is_trial = true;
	s->p->marks.is_kernel_only = true;
	if (skips)
		err = trace_decode(&s->p->trace, &opts, NULL);
	s->p->is_trial = s->p->marks.is_kernel_only = false;
	mem_free(skips);
	return err;
}

enum clew_err trace_marks_find(struct perf_trace *p, const bool *wanted, struct who_notes *notes)
{
	struct pass s = {.p = p,
			 .notes = notes,
			 .units = mem_calloc(p->units.nr + 1, sizeof(*s.units)),
			 .level = level_of_all(p)};
	enum clew_err err = CLEW_NO_MEMORY;

	p->marks.units = mem_calloc(p->units.nr + 1, sizeof(*p->marks.units));
	if (s.units && p->marks.units)
		err = run(&s, wanted);
	mem_free(s.units);
	return err;
}

/* --- pairs --- */

static bool pair_unit(struct perf_trace *p, uint32_t unit, bool is_el2)
{
	struct trace_unit_marks *m = &p->marks.units[unit];
	struct who_marked_chunk *chunks = mem_calloc(m->nr + 1, sizeof(*chunks));
	bool is_ok;

	for (size_t i = 0; chunks && i < m->nr; i++) {
		chunks[i].nr = m->data[i].nr[is_el2];
		if (!trace_time_of(p, unit, m->data[i].first, &chunks[i].first))
			chunks[i].first = clew_perf_ns_none();
	}
	is_ok = chunks && who_landmarks_pair(p->ran.rule, p->units.data[unit].cpu, chunks, m->nr,
					     &p->marks.landmarks);
	for (size_t i = 0; is_ok && i < m->nr; i++) {
		m->data[i].is_paired = chunks[i].is_paired;
		m->data[i].at = chunks[i].at;
	}
	mem_free(chunks);
	return is_ok;
}

/** In a trace without ids, the kernel's level is the one at which switches happen. */
static bool is_kernel_at_el2(const struct perf_trace *p)
{
	bool ret = false;

	for (uint32_t i = 0; i < p->units.nr; i++)
		vec_for_each (&p->marks.units[i], c)
			ret |= c->nr[1] != 0;
	return ret;
}

static bool has_switches(const struct perf_trace *p)
{
	for (uint32_t i = 0; i < p->units.nr; i++)
		vec_for_each (&p->marks.units[i], c)
			if (c->nr[0] || c->nr[1])
				return true;
	return false;
}

enum clew_err trace_marks_pair(struct perf_trace *p)
{
	bool is_el2 = is_kernel_at_el2(p);

	if (level_of_all(p) == WHO_LEVEL_UNKNOWN && has_switches(p))
		who_ran_set_kernel_level(p->ran.rule, is_el2 ? WHO_EL2 : WHO_EL1);
	for (uint32_t i = 0; i < p->units.nr; i++) {
		if (p->units.data[i].code->counts_switches && !pair_unit(p, i, is_el2))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

void trace_marks_settle(struct perf_trace *p)
{
	/* Else the process was another one, or some of its mappings may be missing. */
	if (who_ran_facts(p->ran.rule)->is_root.is != WHO_FACT_YES ||
	    who_ran_has_lost(p->ran.rule) || p->history.is_cut)
		return;
	for (uint32_t i = 0; p->marks.units && i < p->units.nr; i++)
		vec_for_each (&p->marks.units[i], c)
			c->starts_in_guest |= c->is_not_host;
}

void trace_marks_done(struct trace_marks *m, size_t nr_units)
{
	for (size_t i = 0; m->units && i < nr_units; i++)
		vec_done(&m->units[i]);
	mem_free(m->units);
	vec_done(&m->landmarks);
}

const struct trace_chunk_marks *trace_marks_of(const struct trace_marks *m, uint32_t unit,
					       struct clew_perf_ns bound)
{
	const struct trace_unit_marks *u = m->units ? &m->units[unit] : NULL;
	size_t at = u ? search_first(u->nr, i, u->data[i].bound.ns >= bound.ns) : 0;

	return u && at < u->nr && u->data[at].bound.ns == bound.ns ? &u->data[at] : NULL;
}
