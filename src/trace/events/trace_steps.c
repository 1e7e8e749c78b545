/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_steps.h"

#include "base/hash.h"
#include "base/mem.h"

enum {
	MAX_STEPS = 256 << 10, /* then all are forgotten */
	BATCH_STEPS = 8192,
	NR_BRANCHES = 1 << 15,
};

/** A branch's step is found by the blocks it is between. */
struct known_branch {
	uint32_t from, to, id; /* id: + 1; 0: none */
	uint32_t stamp;        /* of their numbers: trace_synth.stamp */
};

/** What else is known of a step. */
struct step_facts {
	uint32_t space;
	bool is_event; /* else it is only a call, or a return */
};

struct trace_steps {
	struct {
		VEC(struct ana_step);
	} all;
	struct {
		VEC(struct step_facts);
	} facts; /* of each */
	uint32_t generation;
	uint32_t nr_stamps;
	/* The event that steps are added to. */
	struct ana_event *event; /* NULL: none */
	const struct trace_unit *unit;
	struct trace_who who;
	size_t from; /* its first step of the batch's */
	uint64_t nr_filtered;
	bool is_kept;
	/* The batch. */
	size_t nr;
	uint32_t ids[BATCH_STEPS], depths[BATCH_STEPS];
	struct ana_steps of_events[TRACE_BATCH_EVENTS];
	struct known_branch branches[NR_BRANCHES];
	uint32_t by_place[NR_BRANCHES]; /* steps that are between no blocks, + 1 */
};

/** Blocks in a row. */
struct run {
	struct trace_synth *synth;
	struct trace_steps *steps;
	const struct flow_batch *batch;
	const struct trace_who *who; /* NULL: not asked yet */
	bool is_reported;            /* who: of what runs now, not of what was reported before */
	bool keeps_calls;
};

bool trace_steps_new(struct trace_steps **ret, const struct trace_events *e)
{
	const struct itrace_opts *o = &e->opts.itrace;
	bool is_each = e->insns && o->unit == ITRACE_INSNS && o->period == 1 && !e->branches &&
		       !e->opts.wants_depth;

	*ret = NULL;
	if (!e->opts.wants_steps || e->tracing || o->nr_skipped || o->chains || o->last_branches ||
	    (e->insns ? !is_each : !e->branches))
		return true;
	*ret = mem_zalloc(sizeof(**ret));
	return *ret;
}

void trace_steps_free(struct trace_steps *t)
{
	if (!t)
		return;
	vec_done(&t->all);
	vec_done(&t->facts);
	mem_free(t);
}

const struct ana_step *trace_steps_all(const struct trace_steps *t, size_t *ret_nr)
{
	*ret_nr = t->all.nr;
	return t->all.data;
}

void trace_steps_clear(struct trace_steps *t)
{
	t->nr = 0;
}

/* --- events --- */

void trace_steps_close(struct trace_events *e)
{
	struct trace_steps *t = e->steps;
	struct ana_event *ev = t ? t->event : NULL;

	if (!ev)
		return;
	t->event = NULL;
	e->summary.nr_filtered += t->nr_filtered;
	if (t->nr == t->from)
		return;
	t->of_events[e->nr] =
		(struct ana_steps){t->ids + t->from, t->depths + t->from, t->nr - t->from};
	ev->steps = &t->of_events[e->nr];
	trace_emit_count(e, ev, t->nr - t->from);
}

static bool is_same(const struct trace_who *a, const struct trace_who *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->comm == b->comm &&
	       a->time.ns == b->time.ns && a->has_answer == b->has_answer &&
	       (!a->has_answer || !memcmp(&a->answer, &b->answer, sizeof(a->answer)));
}

/** Steps of @p who can be added. @return false: e->err. */
static bool open_event(struct trace_synth *s, const struct trace_who *who)
{
	struct trace_events *e = s->events;
	struct trace_steps *t = e->steps;

	if (t->event && t->nr < BATCH_STEPS && t->unit == s->unit && is_same(&t->who, who))
		return true;
	trace_steps_close(e);
	if (t->nr == BATCH_STEPS)
		trace_emit_flush(e);
	t->event = trace_emit_steps(s, e->insns ? e->insns : e->branches, who, &t->is_kept);
	t->unit = s->unit;
	t->who = *who;
	t->from = t->nr;
	t->nr_filtered = 0;
	return t->event;
}

/** For what runs now, or, if not @p is_reported, what ran since the last report. */
static bool set_event(struct run *r, bool is_reported)
{
	if (r->who && r->is_reported == is_reported && r->steps->event &&
	    r->steps->nr < BATCH_STEPS)
		return true;
	r->synth->is_reported_now = is_reported;
	r->is_reported = is_reported;
	r->who = trace_exec_who_reported(r->synth);
	return open_event(r->synth, r->who);
}

static inline void put(struct trace_steps *t, uint32_t id, uint32_t depth)
{
	if (!t->is_kept) {
		t->nr_filtered++;
		return;
	}
	t->ids[t->nr] = id;
	t->depths[t->nr++] = depth;
}

/* --- steps --- */

/** All numbers are given again. */
static void forget_all(struct trace_synth *s)
{
	struct trace_steps *t = s->events->steps;

	trace_emit_flush(s->events);
	t->all.nr = t->facts.nr = 0;
	t->generation++;
	s->events->epoch++;
	memset(t->branches, 0, sizeof(t->branches));
	memset(t->by_place, 0, sizeof(t->by_place));
	s->runs.nr = 0;
	s->generation = t->generation;
}

static bool has_room(struct trace_synth *s, size_t nr)
{
	struct trace_steps *t = s->events->steps;

	if (t->all.nr + nr > MAX_STEPS)
		forget_all(s);
	if (!vec_reserve(&t->all, t->all.nr + nr) || !vec_reserve(&t->facts, t->facts.nr + nr))
		s->events->err = CLEW_NO_MEMORY;
	return s->events->err == CLEW_OK;
}

static uint32_t add_branch(struct run *r, uint32_t before, uint32_t item)
{
	struct trace_synth *s = r->synth;
	struct trace_steps *t = r->steps;
	const struct trace_place to = trace_at_block(&r->batch->blocks[item >> 1], item >> 1);
	struct ana_step *step;

	if (!has_room(s, 1))
		return 0;
	trace_runs_set_last(s, r->batch, before);
	step = &t->all.data[t->all.nr];
	trace_exec_step(s, &to, step);
	t->facts.data[t->facts.nr++] =
		(struct step_facts){s->last.space, trace_exec_is_wanted(s, step->flow)};
	return (uint32_t)++t->all.nr;
}

static bool is_step(const struct trace_steps *t, uint32_t id, const struct synth_fields *f)
{
	const struct ana_step *x = &t->all.data[id];

	return x->ip == f->ip && x->addr == f->addr && x->flow == f->flow && x->loc == f->loc &&
	       x->to == f->to && x->isa == f->isa && t->facts.data[id].space == f->space;
}

/** The step of an event, + 1; 0: s->events->err. */
static uint32_t find_step(struct trace_synth *s, const struct synth_fields *f)
{
	struct trace_steps *t = s->events->steps;
	uint64_t hash = hash_two(f->ip + ((uint64_t)f->flow << 48), f->addr);
	uint32_t *at = &t->by_place[hash % NR_BRANCHES];

	if (*at && is_step(t, *at - 1, f))
		return *at;
	if (!has_room(s, 1))
		return 0;
	trace_emit_step(s, f, &t->all.data[t->all.nr++]);
	t->facts.data[t->facts.nr++] = (struct step_facts){.space = f->space, .is_event = true};
	*at = (uint32_t)t->all.nr;
	return *at;
}

bool trace_steps_emit(struct trace_synth *s, const struct synth_fields *f)
{
	struct trace_steps *t = s->events->steps;
	uint32_t id;

	if (!t || trace_emit_has_cycles(s))
		return false;
	id = find_step(s, f);
	if (id && open_event(s, f->who))
		put(t, id - 1, f->calls ? (uint32_t)f->calls->nr : 0);
	return true;
}

static struct known_branch *slot_of(struct run *r, uint32_t from, uint32_t to)
{
	uint64_t hash = hash_two((uint64_t)from << 32 | to, r->synth->stamp);

	return &r->steps->branches[hash % NR_BRANCHES];
}

/** The step of the branch between two blocks, of which the first went elsewhere last, or never;
 * 0: s->events->err. */
static uint32_t find_branch(struct run *r, uint32_t before, uint32_t item)
{
	struct trace_synth *s = r->synth;
	uint32_t from = before >> 1, to = item >> 1, id = 0;
	const struct trace_run_block last = s->runs.data[from];

	if (last.id) {
		const struct known_branch *k = slot_of(r, from, to);

		if (k->from == from && k->to == to && k->stamp == s->stamp)
			id = k->id;
		*slot_of(r, from, last.to) =
			(struct known_branch){from, last.to, last.id, s->stamp};
	}
	if (!id)
		id = add_branch(r, before, item);
	if (from < s->runs.nr) { /* not all were forgotten */
		s->runs.data[from].to = to;
		s->runs.data[from].id = id;
	}
	return id;
}

/** As trace_exec_branch() does, of a return to another call than the last one. */
static bool take_return(struct run *r, struct call_stack *calls, uint32_t before, uint32_t item,
			uint32_t flow)
{
	const struct trace_place to = trace_at_block(&r->batch->blocks[item >> 1], item >> 1);

	trace_runs_set_last(r->synth, r->batch, before);
	return trace_leave_branch(r->synth, calls, flow, &to);
}

static void take_call(struct run *r, struct call_stack *calls, uint32_t before,
		      const struct ana_step *step)
{
	const struct flow_block *b = &r->batch->blocks[before >> 1];
	const struct call c = {
		.ret = b->start + b->bytes,
		.callee = step->addr,
		.space = b->space,
		.how = step->flow & ANA_FLOW_SYSCALL ? CALL_SYSTEM : CALL_NEAR,
		.is_inner = calls->nr && calls->data[calls->nr - 1].callee == b->start,
	};

	if (c.ret != step->addr && !call_stack_push(calls, &c))
		r->synth->events->err = CLEW_NO_MEMORY;
}

/** @return whether it is a call, though by a return. */
static bool change_calls(struct run *r, struct call_stack *calls, uint32_t before, uint32_t item,
			 const struct ana_step *step)
{
	if (step->flow & ANA_FLOW_CALL)
		take_call(r, calls, before, step);
	else if (!(step->flow & ANA_FLOW_RETURN))
		return false;
	else if (calls->nr && calls->data[calls->nr - 1].ret == step->addr)
		calls->nr--;
	else
		return take_return(r, calls, before, item, step->flow);
	return false;
}

/** Its event has another step, which is found by its contents. */
static void emit_call(struct run *r, uint32_t before, uint32_t item, uint32_t flow,
		      struct call_stack *calls)
{
	const struct trace_place to = trace_at_block(&r->batch->blocks[item >> 1], item >> 1);

	trace_runs_set_last(r->synth, r->batch, before);
	trace_exec_emit_call(r->synth, &to, flow, calls);
	r->who = NULL;
}

static void take_branch_of_calls(struct run *r, uint32_t before, uint32_t item, uint32_t id)
{
	struct trace_synth *s = r->synth;
	const struct ana_step *step = &r->steps->all.data[id];
	struct call_stack *calls =
		trace_exec_calls_of(s, step->flow & ANA_FLOW_RETURN ? trace_exec_who(s) : r->who);

	if (!calls)
		return;
	if (change_calls(r, calls, before, item, step) && s->events->opts.itrace.calls)
		emit_call(r, before, item, step->flow, calls);
	else if (r->steps->facts.data[id].is_event)
		put(r->steps, id, (uint32_t)calls->nr);
}

static void take_branch(struct run *r, uint32_t before, uint32_t item, bool is_reported)
{
	const struct trace_run_block *x = &r->synth->runs.data[before >> 1];
	uint32_t id = x->to == item >> 1 && x->id ? x->id : find_branch(r, before, item);

	if (!id || !set_event(r, is_reported))
		return;
	if (r->keeps_calls)
		take_branch_of_calls(r, before, item, id - 1);
	else if (r->steps->facts.data[id - 1].is_event)
		put(r->steps, id - 1, 0);
}

/** One that reports cycles, too: its event has more than a step. */
static void take_whole_branch(struct run *r, uint32_t before, uint32_t item, bool is_reported)
{
	const struct trace_place to = trace_at_block(&r->batch->blocks[item >> 1], item >> 1);

	trace_runs_set_last(r->synth, r->batch, before);
	r->synth->is_reported_now = is_reported;
	trace_exec_branch(r->synth, &to);
}

static size_t take_branches(struct run *r, size_t i)
{
	const struct flow_batch *b = r->batch;
	struct trace_synth *s = r->synth;
	uint32_t before = b->items[i - 1], item;
	const struct trace_run_block *x = trace_runs_get(s, b, before >> 1);
	bool branches = x && x->branches, is_reported = s->is_reported_now;
	uint64_t nr_insns = 0;

	for (; x && i < b->nr && !((item = b->items[i]) & FLOW_ITEM_EVENT); i++) {
		if (branches & before) {
			s->nr_insns += nr_insns;
			nr_insns = 0;
			if (trace_emit_has_cycles(s))
				take_whole_branch(r, before, item, is_reported);
			else
				take_branch(r, before, item, is_reported);
		}
		x = s->events->err == CLEW_OK ? trace_runs_get(s, b, item >> 1) : NULL;
		if (!x)
			break;
		branches = x->branches;
		is_reported |= x->reports;
		nr_insns += x->nr_insns;
		before = item;
	}
	s->is_reported_now = is_reported;
	s->nr_insns += nr_insns;
	return i;
}

/* --- instructions --- */

/** Steps of the block's instructions, and after them, of an architecture that has it, of the last
 * one where its branch is not taken. @return the first one + 1; 0: s->events->err. */
static uint32_t add_insns(struct run *r, uint32_t item)
{
	const struct flow_block *b = &r->batch->blocks[item >> 1];
	const struct last_insn last = trace_last_of_block(b, item >> 1, true);
	struct trace_place here = trace_at_block(b, item >> 1);
	struct trace_steps *t = r->steps;
	struct trace_synth *s = r->synth;
	uint32_t first;

	if (!has_room(s, b->nr_insns + 1u))
		return 0;
	first = (uint32_t)t->all.nr;
	for (unsigned int i = 0; i < b->nr_insns; i++) {
		uint32_t flow = i + 1 == b->nr_insns ? trace_exec_flow(&last) : 0;

		if (i) {
			here.ip = trace_exec_insn_at(s, &here, 1);
			here.block = TRACE_NO_BLOCK;
		}
		trace_exec_insn_step(s, &here, flow, &t->all.data[t->all.nr++]);
	}
	t->all.data[t->all.nr] = t->all.data[t->all.nr - 1];
	t->all.data[t->all.nr++].flow = 0;
	memset(&t->facts.data[t->facts.nr], 0, (b->nr_insns + 1u) * sizeof(*t->facts.data));
	t->facts.nr = t->all.nr;
	s->runs.data[item >> 1].id = first + 1;
	return first + 1;
}

static void take_insns_of(struct run *r, uint32_t item, bool is_reported)
{
	const struct trace_run_block *x = &r->synth->runs.data[item >> 1];
	uint32_t id = x->id, nr = r->batch->blocks[item >> 1].nr_insns;
	bool reports = x->reports, is_branch = item & 1 || trace_synth_is_x86(r->synth);

	if (!id)
		id = add_insns(r, item);
	for (uint32_t i = 0; id && i < nr; i++) {
		bool is_last = i + 1 == nr;

		if (!set_event(r, is_reported || (is_last && reports)))
			return;
		put(r->steps, id - 1 + i + (is_last && !is_branch), 0);
	}
}

static size_t take_insns(struct run *r, size_t i)
{
	const struct flow_batch *b = r->batch;
	struct trace_synth *s = r->synth;
	bool is_reported = s->is_reported_now;
	uint32_t item;

	for (; i < b->nr && !((item = b->items[i]) & FLOW_ITEM_EVENT); i++) {
		const struct trace_run_block *x = trace_runs_get(s, b, item >> 1);

		bool reports = x && x->reports;

		if (x)
			take_insns_of(r, item, is_reported);
		if (s->events->err)
			break;
		is_reported |= reports;
		s->nr_insns += b->blocks[item >> 1].nr_insns;
	}
	s->sampled_at = s->nr_insns;
	s->is_reported_now = is_reported;
	return i;
}

size_t trace_steps_take(struct trace_synth *s, const struct flow_batch *b, size_t i)
{
	struct trace_steps *t = s->events->steps;
	struct run r = {
		.synth = s, .steps = t, .batch = b, .keeps_calls = trace_exec_keeps_calls(s)};

	if (s->generation != t->generation)
		s->runs.nr = 0;
	s->generation = t->generation;
	if (!s->runs.nr)
		s->stamp = ++t->nr_stamps;
	return s->events->insns ? take_insns(&r, i) : take_branches(&r, i);
}
