/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_level.h"
#include "base/hash.h"
#include "trace/events/trace_events_impl.h"
#include "trace/events/trace_steps.h"

_Static_assert((int)ANA_A64 == (int)ISA_A64 && (int)ANA_A32 == (int)ISA_A32 &&
		       (int)ANA_T32 == (int)ISA_T32 && (int)ANA_X86_16 == (int)ISA_X86_16,
	       "the instruction sets are numbered alike");
_Static_assert(sizeof(((struct ana_synth *)NULL)->insn) == FLOW_MAX_INSN_BYTES, "any instruction");

enum {
	MAX_BATCH_BYTES = 4 << 20, /* of last branches */
	MAX_CHAIN_BYTES = 16 << 20,
};

const struct ana_loc *trace_locate(struct trace_events *e, uint32_t space, uint64_t addr)
{
	const struct ana_loc *loc = e->trace->ops->locate(e->trace, space, addr);

	if (!loc)
		e->err = CLEW_NO_MEMORY;
	return loc;
}

enum clew_err trace_emit_flush(struct trace_events *e)
{
	struct ana_batch b = {.events = e->events, .epoch = e->epoch};

	trace_steps_close(e);
	b.nr = e->nr;
	if (e->steps)
		b.steps = trace_steps_all(e->steps, &b.nr_steps);
	if (e->nr && e->err == CLEW_OK)
		e->err = e->consumer->batch(e->consumer->ctx, &b);
	e->nr = e->nr_ops = 0;
	if (e->steps)
		trace_steps_clear(e->steps);
	e->nr_batches++;
	arena_done(&e->batch_memory);
	if (e->chain_memory.used_bytes > MAX_CHAIN_BYTES) {
		arena_done(&e->chain_memory);
		map_u64_done(&e->chains);
		e->nr_chains = 0;
		e->epoch++;
	}
	return e->err;
}

static uint16_t misc_of(const struct ana_loc *loc)
{
	return loc ? ana_misc_of_level(loc->level) : 0;
}

bool trace_emit_keeps(struct trace_events *e, const struct perf_sample *s,
		      const struct trace_who *who)
{
	struct who_thread t = {.pid = who->pid, .tid = who->tid, .comm = who->comm};

	if (e->nr_skipped < e->opts.itrace.nr_skipped) {
		e->nr_skipped++;
		return false;
	}
	if (ana_filter_keeps(&e->filter, s, &t))
		return true;
	e->summary.nr_filtered++;
	return false;
}

bool trace_emit_keeps_error(const struct trace_synth *s)
{
	struct trace_events *e = s->events;
	const struct perf_sample of = {
		.time = s->now.time.ns, .cpu = s->unit->cpu, .pid = s->now.pid, .tid = s->now.tid};
	const struct who_thread t = {.pid = s->now.pid, .tid = s->now.tid, .comm = s->now.comm};

	return !trace_synth_is_x86(s) || ana_filter_keeps(&e->filter, &of, &t);
}

static bool is_paused(const struct trace_events *e, const struct trace_unit *unit,
		      const struct trace_who *who)
{
	return e->tracing &&
	       !ana_intervals_has(&e->tracing->intervals, who->tid, unit->cpu, who->time);
}

struct ana_event *trace_emit_next(struct trace_events *e, const struct trace_unit *unit,
				  const struct trace_who *who)
{
	struct ana_event *ev;

	trace_steps_close(e);
	if (e->nr == TRACE_BATCH_EVENTS || e->batch_memory.used_bytes > MAX_BATCH_BYTES)
		trace_emit_flush(e);
	if (e->err != CLEW_OK)
		return NULL;
	ev = &e->events[e->nr];
	e->synths_of[e->nr] = (struct ana_synth){.is_paused = is_paused(e, unit, who)};
	*ev = (struct ana_event){
		.record = {.type = PERF_RECORD_SAMPLE},
		.synth = &e->synths_of[e->nr],
		.time = who->time,
		.period = 1,
		.pid = who->pid,
		.tid = who->tid,
		.cpu = unit->cpu,
		.comm = who->comm,
	};
	return ev;
}

static struct ana_event *next_event(struct trace_synth *s, const struct trace_who *who,
				    const struct ana_loc *level_of)
{
	struct trace_events *e = s->events;
	struct ana_event *ev = trace_emit_next(e, s->unit, who);

	if (!ev)
		return NULL;
	ev->record.misc = misc_of(level_of);
	if (who->has_answer) {
		e->answers[e->nr] = who->answer;
		ev->who = &e->answers[e->nr];
	}
	return ev;
}

struct perf_sample *trace_emit_sample(struct trace_events *e, struct ana_event *ev,
				      const struct perf_evsel *evsel, const struct synth_fields *t)
{
	struct perf_sample *sample = &e->samples[e->nr];

	*sample = (struct perf_sample){
		.sample_type = evsel->attr.sample_type,
		.ip = t->ip,
		.addr = t->addr,
		.time = ev->time.ns,
		.id = UINT64_MAX,
		.stream_id = UINT64_MAX,
		.period = t->period,
		.pid = ev->pid,
		.tid = ev->tid,
		.cpu = ev->cpu,
		.misc = ev->record.misc,
	};
	ev->sample = sample;
	ev->evsel = evsel;
	ev->period = t->period;
	ev->loc = t->loc;
	ev->addr = t->to;
	return sample;
}

static void add_synth(struct trace_synth *s, const struct synth_fields *t)
{
	struct trace_events *e = s->events;
	struct ana_synth *y = &e->synths_of[e->nr];

	y->flow = t->flow;
	y->isa = t->isa;
	y->depth = t->calls ? (uint32_t)t->calls->nr : 0;
	if (e->opts.wants_insns && t->loc)
		y->insn_bytes =
			s->code.insns->read(&s->code, t->space, (enum isa)t->isa, t->ip, y->insn);
	if (trace_synth_is_x86(s))
		return;
	if (s->nr_cycles) {
		y->nr_cycles = s->nr_cycles;
		y->nr_insns = s->cycles_until - s->reported_at;
		s->reported_at = s->cycles_until;
		s->nr_cycles = 0;
	}
}

void trace_emit_count(struct trace_events *e, const struct ana_event *ev, uint64_t nr)
{
	e->summary.nr_samples += nr;
	if (ev->who)
		who_counts_add_many(&e->summary.who, ev->who, nr);
	e->nr++;
}

bool trace_emit_has_cycles(const struct trace_synth *s)
{
	return s->nr_cycles && (!trace_synth_is_x86(s) || s->has_ipc);
}

/** Of Intel PT branches have cycles. */
static void add_cycles(struct trace_synth *s)
{
	struct ana_synth *y = &s->events->synths_of[s->events->nr];

	if (!trace_synth_is_x86(s) || !trace_emit_has_cycles(s))
		return;
	y->nr_cycles = s->nr_cycles;
	y->nr_insns = s->nr_insns - s->reported_at;
	s->reported_at = s->nr_insns;
	s->nr_cycles = 0;
	s->has_ipc = false;
}

void trace_emit_branch(struct trace_synth *s, const struct synth_fields *t)
{
	struct trace_events *e = s->events;
	struct ana_event *ev;

	if (trace_steps_emit(s, t))
		return;
	ev = next_event(s, t->who, t->loc ? t->loc : t->to);
	if (!ev || !trace_emit_keeps(e, trace_emit_sample(e, ev, e->branches, t), t->who))
		return;
	add_synth(s, t);
	add_cycles(s);
	trace_emit_count(e, ev, 1);
}

void trace_emit_step(struct trace_synth *s, const struct synth_fields *t, struct ana_step *ret)
{
	*ret = (struct ana_step){
		.ip = t->ip,
		.addr = t->addr,
		.loc = t->loc,
		.to = t->to,
		.flow = t->flow,
		.misc = misc_of(t->loc ? t->loc : t->to),
		.isa = t->isa,
	};
	if (s->events->opts.wants_insns && t->loc)
		ret->insn_bytes =
			s->code.insns->read(&s->code, t->space, (enum isa)t->isa, t->ip, ret->insn);
}

struct ana_event *trace_emit_steps(struct trace_synth *s, const struct perf_evsel *evsel,
				   const struct trace_who *who, bool *ret_is_kept)
{
	const struct synth_fields none = {.who = who, .period = 1};
	struct trace_events *e = s->events;
	struct ana_event *ev = next_event(s, who, NULL);

	if (ev)
		*ret_is_kept = trace_emit_keeps(e, trace_emit_sample(e, ev, evsel, &none), who);
	return ev;
}

static const struct ana_chain *known_chain(struct trace_events *e, uint64_t hash,
					   const struct ana_loc *const *locs, uint32_t nr)
{
	uint64_t *at = map_u64_get(&e->chains, hash);
	const struct ana_chain *c = at ? (const struct ana_chain *)(uintptr_t)*at : NULL;

	return c && c->nr == nr && !memcmp(c->locs, locs, nr * sizeof(*locs)) ? c : NULL;
}

/* Equal chains are one object, except where another chain has the same hash. */
static const struct ana_chain *chain_of(struct trace_events *e, const struct ana_loc *const *locs,
					uint32_t nr)
{
	uint64_t hash = hash_bytes(locs, nr * sizeof(*locs));
	const struct ana_chain *known = known_chain(e, hash, locs, nr);
	struct ana_chain *c;

	if (known)
		return known;
	c = arena_zalloc(&e->chain_memory, sizeof(*c) + nr * sizeof(c->locs[0]));
	if (!c || !map_u64_put(&e->chains, hash, (uintptr_t)c))
		return NULL;
	c->id = e->nr_chains++;
	c->nr = nr;
	memcpy(c->locs, locs, nr * sizeof(*locs));
	return c;
}

/* A caller's place is that of its call. */
static const struct ana_loc *locate_caller(struct trace_events *e, const struct call *c)
{
	if (e->opts.is_as_perf || c->how == CALL_EVENT)
		return trace_locate(e, c->space, c->ret);
	return e->trace->ops->locate_caller(e->trace, c->space, c->ret);
}

/** Its callers are missing, or may be. */
static void mark_cut(struct ana_event *ev, enum unw_stop why)
{
	ev->has_user_state = why;
	ev->user_state = STITCH_PARTIAL;
	ev->user_stop = (uint8_t)why;
}

static bool add_chain(struct trace_events *e, struct ana_event *ev, const struct synth_fields *t)
{
	const struct ana_loc *locs[ITRACE_MAX_DEPTH];
	uint32_t max = e->opts.itrace.max_chain, nr = 0;
	size_t floor = t->calls ? call_stack_floor(t->calls) : 0, i = t->calls ? t->calls->nr : 0;

	locs[nr++] = t->loc;
	while (i > floor && nr < max) {
		const struct call *c = &t->calls->data[--i];

		if (trace_leave_is_label(e, c))
			continue;
		locs[nr] = locate_caller(e, c);
		if (!locs[nr++])
			return false;
	}
	if (t->calls)
		mark_cut(ev, i > floor ? UNW_STOP_MAX_DEPTH : call_stack_why_cut(t->calls, floor));
	ev->chain = chain_of(e, locs, nr);
	return ev->chain;
}

static bool resolve_branches(struct trace_events *e, struct ana_event *ev,
			     const struct branch_ring *r)
{
	const struct ana_loc **locs = arena_alloc(&e->batch_memory, 2 * r->nr * sizeof(*locs));

	for (uint32_t i = 0; locs && i < r->nr; i++) {
		const struct taken_branch *w = branch_ring_at(r, i);

		locs[2 * i] = trace_locate(e, w->from_space, w->from);
		locs[2 * i + 1] = trace_locate(e, w->to_space, w->to);
	}
	ev->branches = locs;
	return locs;
}

static bool add_last_branches(struct trace_synth *s, struct ana_event *ev,
			      struct perf_sample *sample)
{
	enum { CYCLES_SHIFT = 4, MAX_CYCLES = 0xffff, WORDS = 3 };
	const struct branch_ring *r = &s->ring;
	struct trace_events *e = s->events;
	uint64_t *words = arena_alloc(&e->batch_memory, WORDS * (r->nr + !r->nr) * sizeof(*words));

	if (!words)
		return false;
	for (uint32_t i = 0; i < r->nr; i++) {
		const struct taken_branch *w = branch_ring_at(r, i);
		uint32_t cycles = w->cycles < MAX_CYCLES ? w->cycles : MAX_CYCLES;

		words[WORDS * i] = w->from;
		words[WORDS * i + 1] = w->to;
		words[WORDS * i + 2] = PERF_BRANCH_PREDICTED | (uint64_t)cycles << CYCLES_SHIFT;
	}
	sample->branches.nr = r->nr;
	sample->branches.hw_idx = UINT64_MAX;
	sample->branches.words =
		(struct perf_words){.data = (const uint8_t *)words, .nr = WORDS * r->nr};
	return !e->opts.wants_branches || !r->nr || resolve_branches(e, ev, r);
}

void trace_emit_insn(struct trace_synth *s, const struct synth_fields *t)
{
	struct trace_events *e = s->events;
	struct perf_sample *sample;
	struct ana_event *ev;

	if (trace_steps_emit(s, t))
		return;
	ev = next_event(s, t->who, t->loc);
	if (!ev)
		return;
	sample = trace_emit_sample(e, ev, e->insns, t);
	if (!trace_emit_keeps(e, sample, t->who))
		return;
	add_synth(s, t);
	if ((e->opts.itrace.chains && !add_chain(e, ev, t)) ||
	    (e->opts.itrace.last_branches && !add_last_branches(s, ev, sample))) {
		e->err = CLEW_NO_MEMORY;
		return;
	}
	trace_emit_count(e, ev, 1);
}

/** Its data lives as long as the batch. */
static bool keep_note(struct trace_events *e, const struct ana_note *note)
{
	struct ana_note *kept = &e->notes[e->nr];
	size_t bytes;
	struct ana_evd *evds;

	*kept = *note;
	e->synths_of[e->nr].note = kept;
	if (note->kind != ANA_NOTE_EVT || !note->evt.nr_evds)
		return true;
	bytes = note->evt.nr_evds * sizeof(*evds);
	evds = arena_alloc(&e->batch_memory, bytes);
	if (!evds)
		return false;
	memcpy(evds, note->evt.evds, bytes);
	kept->evt.evds = evds;
	return true;
}

void trace_emit_note(struct trace_synth *s, const struct perf_evsel *evsel,
		     const struct synth_fields *t, const struct ana_note *note)
{
	struct trace_events *e = s->events;
	struct ana_event *ev = next_event(s, t->who, t->loc);

	if (!ev || !trace_emit_keeps(e, trace_emit_sample(e, ev, evsel, t), t->who))
		return;
	e->synths_of[e->nr].flow = t->flow;
	if (note && !keep_note(e, note)) {
		e->err = CLEW_NO_MEMORY;
		return;
	}
	trace_emit_count(e, ev, 1);
}

void trace_emit_recorded(struct trace_synth *s, const struct perf_evsel *evsel,
			 const struct synth_fields *t, const struct perf_sample *with)
{
	struct trace_events *e = s->events;
	struct ana_event *ev = next_event(s, t->who, t->loc);
	struct perf_sample *sample;

	if (!ev)
		return;
	sample = trace_emit_sample(e, ev, evsel, t);
	if (!trace_emit_keeps(e, sample, t->who))
		return;
	sample->weight = with->weight;
	sample->data_src = with->data_src;
	sample->regs_intr.abi = with->regs_intr.abi;
	sample->regs_intr.mask = with->regs_intr.mask;
	sample->regs_intr.words = with->regs_intr.words;
	trace_emit_count(e, ev, 1);
}

void trace_emit_error(struct trace_synth *s, const struct trace_error *error)
{
	struct trace_events *e = s->events;
	struct ana_event *ev;
	struct ana_synth *y;

	if (!error->is_of_no_unit && !trace_emit_keeps_error(s))
		return;
	e->summary.nr_errors++;
	if (!e->opts.itrace.errors)
		return;
	ev = next_event(s, &s->now, NULL);
	if (!ev)
		return;
	ev->record.type = PERF_RECORD_AUXTRACE_ERROR;
	if (error->is_of_no_unit) {
		ev->cpu = error->cpu;
		ev->pid = ev->tid = UINT32_MAX;
		ev->time = clew_perf_ns_none();
		ev->comm = NULL;
	}
	y = &e->synths_of[e->nr++];
	y->error = error->words;
	y->error_why = error->why;
	y->error_code = error->code;
	y->error_ip = error->ip;
}
