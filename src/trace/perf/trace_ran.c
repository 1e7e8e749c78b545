/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_ran.h"

#include <string.h>

#include "perfdata/perf_clock.h"
#include "perfdata/perf_feature_lists.h"
#include "perfdata/perf_guest_fits.h"
#include "perfdata/perf_tracing.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/trace_threads.h"
#include "trace/trace_decode.h"
#include "who/vcpu_name.h"

enum { KEEP_BYTES = 16 << 20, KEEP_OPS_BYTES = 16 << 20 };

/* --- side-band --- */

/** A filter, of whichever event, may have omitted samples. */
static bool may_have_filter(const struct perf_features *f)
{
	struct perf_list args;
	const char *arg;

	if (!perf_features_cmdline(f, &args))
		return false;
	while (perf_string_next(&args, &arg)) {
		if (!strncmp(arg, "--fi", 4))
			return true;
	}
	return false;
}

static void look_for_tracepoints(struct perf_trace *p)
{
	const struct perf_features *f = perf_file_features(p->file);
	struct bytes formats = f->section[PERF_FEAT_TRACING_DATA];

	p->ran.has_sched = perf_sched_switch_find(formats, &p->ran.sched);
	p->ran.has_kvm =
		perf_kvm_find(formats, &p->ran.kvm_entry, &p->ran.kvm_exit) && !may_have_filter(f);
}

/** How far guests' times may be from the truth. */
static enum clew_err take_bands(struct perf_trace *p)
{
	struct perf_guest_fits fits;
	enum clew_err err = perf_guest_fits_parse(perf_file_features(p->file), &fits);

	vec_for_each (&fits.guests, g) {
		if (!who_ran_set_band(p->ran.rule, g->machine, g->band_ns))
			err = CLEW_NO_MEMORY;
	}
	perf_guest_fits_done(&fits);
	return err == CLEW_NO_MEMORY ? err : CLEW_OK;
}

enum clew_err trace_ran_init(struct perf_trace *p)
{
	const struct who_spill spill = trace_spill_of(&p->ran.spill);

	p->ran.rule = who_ran_new(&p->history);
	if (!p->ran.rule)
		return CLEW_NO_MEMORY;
	who_ran_set_spill(p->ran.rule, &spill, budget_part(p->input.budget, KEEP_BYTES));
	look_for_tracepoints(p);
	return take_bands(p);
}

void trace_ran_done(struct trace_ran *r)
{
	who_ran_free(r->rule);
	trace_spill_done(&r->spill);
	mem_free(r->memos);
}

enum clew_err trace_ran_begin(struct perf_trace *p)
{
	const struct perf_who_facts *f = perf_file_who_facts(p->file);

	for (; p->ran.nr_begun < f->enabled.nr; p->ran.nr_begun++) {
		const struct perf_who_enabled *e = &f->enabled.data[p->ran.nr_begun];

		if (!who_ran_begin_cpu(p->ran.rule, e->cpu, (struct clew_perf_ns){e->ns}))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static enum clew_err take_sched(struct trace_ran *t, const struct perf_record *r,
				const struct perf_sample *s, const struct who_ran_stamp *stamp)
{
	struct who_root_id prev, next;

	if (!perf_tracepoint_u32(s->raw, t->sched.offsets[0], r->swap, &prev.n) ||
	    !perf_tracepoint_u32(s->raw, t->sched.offsets[1], r->swap, &next.n))
		return CLEW_OK;
	return who_ran_take_sched(t->rule, prev, next, stamp);
}

static enum clew_err take_kvm(struct trace_ran *t, const struct perf_record *r,
			      const struct perf_sample *s, const struct who_ran_stamp *stamp,
			      bool is_entry)
{
	const struct perf_tracepoint *of = is_entry ? &t->kvm_entry : &t->kvm_exit;
	uint32_t vcpu = WHO_NONE;

	perf_tracepoint_u32(s->raw, of->offsets[0], r->swap, &vcpu);
	t->has_vcpus = true;
	return who_ran_take_kvm(t->rule, is_entry, vcpu, stamp);
}

/** Does each occurrence make a sample, with its thread and CPU? */
static bool has_all(const struct perf_attr *a)
{
	enum { NEEDED = PERF_SAMPLE_TID | PERF_SAMPLE_CPU };

	return a->sample_period == 1 && !perf_attr_has(a, PERF_ATTR_FREQ) &&
	       (a->sample_type & NEEDED) == NEEDED;
}

static enum clew_err take_sample(struct perf_trace *p, const struct perf_record *r,
				 const struct perf_evsel *e, struct who_ran_stamp *stamp)
{
	struct trace_ran *t = &p->ran;
	uint64_t id = e->attr.config;
	bool is_sched = t->has_sched && id == t->sched.id;
	bool is_kvm = t->has_kvm && (id == t->kvm_entry.id || id == t->kvm_exit.id);
	struct perf_sample s;

	if (e->attr.type != PERF_TYPE_TRACEPOINT || (!is_sched && !is_kvm) ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &e->attr, &s))
		return CLEW_OK;
	stamp->cpu = s.cpu;
	stamp->pid = s.pid;
	stamp->tid = s.tid;
	if (is_sched)
		return take_sched(t, r, &s, stamp);
	return has_all(&e->attr) ? take_kvm(t, r, &s, stamp, id == t->kvm_entry.id) : CLEW_OK;
}

static void look_for_vcpu(struct trace_ran *t, const struct perf_record *r)
{
	struct perf_comm c;
	uint32_t vcpu;

	if (r->type == PERF_RECORD_COMM && !t->has_vcpus && !perf_comm_parse(r, &c))
		t->has_vcpus = who_vcpu_of_name(c.comm, &vcpu);
}

static struct who_ran_stamp stamp_of(const struct perf_trace *p, const struct perf_sample_id *id,
				     struct clew_perf_ns time)
{
	return (struct who_ran_stamp){.time = time,
				      .cpu = id->cpu,
				      .pid = id->pid,
				      .tid = id->tid,
				      .has_time = p->has_clock};
}

enum clew_err trace_ran_take(struct perf_trace *p, const struct perf_record *r,
			     const struct perf_evsel *e, const struct perf_sample_id *id,
			     struct clew_perf_ns time)
{
	struct who_ran_stamp stamp = stamp_of(p, id, time);

	if (!e)
		return CLEW_OK;
	look_for_vcpu(&p->ran, r);
	stamp.is_inherited = perf_attr_has(&e->attr, PERF_ATTR_INHERIT);
	stamp.has_clockid = perf_attr_has(&e->attr, PERF_ATTR_USE_CLOCKID);
	if (r->type == PERF_RECORD_SAMPLE)
		return take_sample(p, r, e, &stamp);
	return who_ran_takes(r->type) ? who_ran_take(p->ran.rule, r, &stamp) : CLEW_OK;
}

enum clew_err trace_ran_take_guest(struct perf_trace *p, const struct perf_record *r,
				   const struct perf_sample_id *id, struct clew_perf_ns time)
{
	const struct who_vcpu vcpu = who_guests_vcpu_of(&p->history.guests, id->id);
	const struct who_ran_stamp stamp = stamp_of(p, id, time);

	return who_ran_take_guest(p->ran.rule, &vcpu, r, &stamp);
}

/* --- questions --- */

static void add_chunk(const struct perf_trace *p, const struct aux_chunk *c, struct who_question *q)
{
	q->owner = c->owner;
	q->has |= WHO_Q_OWNER;
	if (!p->has_clock)
		return;
	q->to = c->time;
	q->from = c->since;
	q->has |= WHO_Q_TO | (c->since.ns ? (uint32_t)WHO_Q_FROM : 0);
}

void trace_ran_add_contexts(const struct aux_who *who, struct who_question *q)
{
	q->context_el1 = who->el1;
	q->context_el2 = who->el2;
	q->has |= (who->has_el1 ? (uint32_t)WHO_Q_CONTEXT_EL1 : 0) |
		  (who->has_el2 ? (uint32_t)WHO_Q_CONTEXT_EL2 : 0);
}

/**
 * Instructions after a timestamp ran at that tick or later: in user code, before any exception, in
 * the thread of that tick; all other code, at any time up to the end of the chunk.
 */
static void add_ticks(const struct perf_trace *p, const struct code_key *k,
		      struct trace_ran_chunk *c, struct who_question *q)
{
	bool may_have_switched = k->may_have_switched || code_context_el(&k->context);

	if (!c->is_timed)
		return;
	q->ticks = k->ticks;
	q->has |= k->ticks.ticks ? (uint32_t)WHO_Q_TICKS : 0;
	if (!c->has_levels || !may_have_switched || !(q->has & WHO_Q_TO))
		return;
	if (!c->has_end)
		c->has_end = perf_ticks_of_ns(&p->time_conv, q->to, &c->end);
	q->ticks_to = c->end;
	q->has |= c->has_end ? (uint32_t)WHO_Q_TICKS_TO : 0;
}

/** Are the unit's ticks comparable with times of records? Operations are always treated so. */
static bool is_timed(const struct perf_trace *p, uint32_t unit)
{
	struct clew_perf_ns time;

	return !perf_trace_has_levels(p, unit) ||
	       (p->has_clock && trace_time_of(p, unit, (struct clew_ticks){1}, &time));
}

/** Successive questions are often about the same chunk. */
static void find_chunk(const struct perf_trace *p, uint32_t unit, struct clew_perf_ns bound,
		       struct trace_ran_chunk *c)
{
	if (c->is_set && c->bound.ns == bound.ns)
		return;
	*c = (struct trace_ran_chunk){.is_set = true,
				      .bound = bound,
				      .has_levels = perf_trace_has_levels(p, unit),
				      .is_timed = is_timed(p, unit),
				      .chunk = trace_chunk_of(p, unit, bound),
				      .marks = trace_marks_of(&p->marks, unit, bound)};
}

static struct who_question place_of(const struct perf_trace *p, uint32_t unit,
				    const struct code_key *k, struct trace_ran_chunk *c)
{
	const struct trace_unit *u = &p->units.data[unit];
	struct who_question q = {.cpu = u->cpu, .world = WHO_WORLD_OF_SPE};

	q.has = u->cpu != AUX_NONE ? (uint32_t)WHO_Q_CPU : 0;
	if (u->tid != AUX_NONE) {
		q.has |= WHO_Q_QUEUE;
		q.queue = who_local_id_of(u->tid);
	}
	find_chunk(p, unit, k->bound, c);
	if (c->chunk)
		add_chunk(p, c->chunk, &q);
	add_ticks(p, k, c, &q);
	return q;
}

/** The thread between the previous and the next switch; it runs since the previous one. */
static void add_landmark(const struct perf_trace *p, const struct trace_chunk_marks *c,
			 const struct code_key *k, struct who_question *q)
{
	uint32_t nr = c->nr[who_ran_facts(p->ran.rule)->kernel_level == WHO_EL2];
	const struct who_landmark *l =
		&p->marks.landmarks.data[c->at + (k->nr_switches < nr ? k->nr_switches : nr)];
	struct clew_ticks since;

	q->landmark = l->id;
	q->has |= WHO_Q_LANDMARK | (l->sleeps ? (uint32_t)WHO_Q_LANDMARK_SLEEPS : 0);
	q->has &= ~(uint32_t)WHO_Q_TICKS_TO;
	if (q->has & WHO_Q_TICKS && perf_ticks_of_ns(&p->time_conv, l->since, &since) &&
	    perf_ticks_order(&p->time_conv, since) > perf_ticks_order(&p->time_conv, q->ticks))
		q->ticks = since;
}

static enum who_world world_of(const struct perf_trace *p, const struct who_way *way)
{
	const struct who_facts *facts = who_ran_facts(p->ran.rule);
	enum who_world world = who_world_of_way(facts->kernel_level, way);

	/* All threads have names, and none is that of a virtual CPU. */
	if (world == WHO_WORLD_UNKNOWN && !p->ran.has_vcpus && facts->is_root.is == WHO_FACT_YES)
		return WHO_WORLD_HOST;
	return world;
}

/** What an operation led down to: its contexts are those of the level above, so that the lack of
 * EL1's says nothing. */
static bool is_led_down(const struct perf_trace *p, const struct who_way *way)
{
	return way->upper != way->level && who_ran_facts(p->ran.rule)->kernel_level == WHO_EL2;
}

static struct who_question question_of(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *k, struct trace_ran_chunk *chunk)
{
	struct who_question q = place_of(p, unit, k, chunk);
	struct aux_who who = perf_trace_who(p, unit, &k->context);
	const struct trace_chunk_marks *c;

	q.level = (enum who_level)(code_context_el(&k->context) & 3);
	q.security = k->context.arch == CODE_X86 ? ARM_SECURITY_UNKNOWN
						 : (enum arm_security)(k->context.arm.security & 3);
	trace_ran_add_contexts(&who, &q);
	if (!chunk->has_levels) {
		q.world = is_led_down(p, &who.way) ? world_of(p, &who.way) : q.world;
		return q;
	}
	c = chunk->marks;
	if (c && c->starts_in_guest && k->context.arm.is_at_start)
		who.way.start = WHO_WORLD_GUEST;
	if (c && c->is_paired)
		add_landmark(p, c, k, &q);
	q.world = world_of(p, &who.way);
	return q;
}

bool trace_ran_is_host_kernel(const struct perf_trace *p, uint32_t unit, const struct code_key *key)
{
	const struct code_arm_context *c = &key->context.arm;
	struct aux_who who;
	uint8_t el = code_context_el(&key->context);

	if (!el || el == 3 || c->security != ARM_NONSECURE || !perf_trace_has_levels(p, unit))
		return false;
	if (el == 2)
		return true;
	who = perf_trace_who(p, unit, &key->context);
	return world_of(p, &who.way) == WHO_WORLD_HOST;
}

struct who_question trace_ran_time_question(const struct perf_trace *p, uint32_t unit,
					    const struct code_key *k, struct trace_ran_chunk *last)
{
	struct who_question q = place_of(p, unit, k, last);

	q.level = WHO_LEVEL_UNKNOWN;
	q.has &= ~(uint32_t)WHO_Q_TICKS_TO;
	return q;
}

/** Are two questions of one kind (trace_ran_known_of) equal, apart from their ticks? */
static bool is_same(const struct code_key *a, const struct code_key *b)
{
	const struct code_arm_context *x = &a->context.arm, *y = &b->context.arm;

	if (a->context.arch != b->context.arch)
		return false;
	if (a->context.arch == CODE_X86)
		return a->bound.ns == b->bound.ns && a->nr_switches == b->nr_switches &&
		       a->context.x86.is_kernel == b->context.x86.is_kernel &&
		       a->context.x86.is_guest == b->context.x86.is_guest;
	return a->bound.ns == b->bound.ns && x->el == y->el && x->security == y->security &&
	       x->has_cid == y->has_cid && x->has_vmid == y->has_vmid && x->cid == y->cid &&
	       x->vmid == y->vmid && x->upper_el == y->upper_el && x->entry == y->entry &&
	       x->is_at_start == y->is_at_start && a->nr_switches == b->nr_switches;
}

/** Is the last answer still right? A thread usually runs through many timestamps. */
static bool is_known(const struct perf_trace *p, struct trace_ran_known *a,
		     const struct code_key *key)
{
	uint64_t ticks = key->ticks.ticks, last = a->key.ticks.ticks;

	return a->is_set && is_same(&a->key, key) &&
	       (ticks == last ||
		(ticks && last && who_ran_holds(p->ran.rule, &a->cursor, key->ticks)));
}

static enum trace_ran_known_of known_of(const struct code_key *k)
{
	if (code_context_el(&k->context))
		return TRACE_RAN_OTHER;
	return k->may_have_switched ? TRACE_RAN_USER_LATER : TRACE_RAN_USER;
}

static struct who_question ask_anew(const struct perf_trace *p, uint32_t unit,
				    const struct code_key *key, struct trace_ran_memo *m,
				    struct trace_ran_known *a)
{
	struct who_question q = question_of(p, unit, key, &m->chunk);

	who_ran_ask(p->ran.rule, &a->cursor, &q, &a->answer);
	if (key->context.arch == CODE_X86 && a->answer.level < WHO_LEVEL_UNKNOWN)
		a->answer.level = a->answer.level == WHO_EL0 ? WHO_X86_USER : WHO_X86_KERNEL;
	a->key = *key;
	a->chunk = m->chunk.chunk;
	a->space.holds = TRACE_RAN_SPACE_UNKNOWN;
	a->is_set = true;
	return q;
}

static struct trace_ran_known *ask(const struct perf_trace *p, uint32_t unit,
				   const struct code_key *key, struct trace_ran_memo *m)
{
	struct trace_ran_known *a = &m->known[known_of(key)];

	if (!is_known(p, a, key))
		ask_anew(p, unit, key, m, a);
	return a;
}

const struct who_answer *trace_ran_ask(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *key)
{
	return &ask(p, unit, key, &p->ran.memos[unit].of_consumer)->answer;
}

static void begin_memo(struct trace_ran_memo *m)
{
	m->chunk.is_set = false;
	for (unsigned int i = 0; i < TRACE_RAN_NR_KNOWN; i++) {
		m->known[i].is_set = false;
		m->known[i].cursor.owner = NULL;
	}
}

void trace_ran_borrow(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		      struct trace_ran_loan *ret)
{
	struct trace_ran_memos *m = &p->ran.memos[unit];

	/* Pairs with the release below: one thread uses the memo at a time. */
	ret->is_own = __atomic_test_and_set(&m->is_taken, __ATOMIC_ACQUIRE);
	if (ret->is_own)
		begin_memo(&ret->own);
	ret->known = ask(p, unit, key, ret->is_own ? &ret->own : &m->of_decoders);
}

void trace_ran_give_back(const struct perf_trace *p, uint32_t unit,
			 const struct trace_ran_loan *loan)
{
	if (!loan->is_own)
		__atomic_clear(&p->ran.memos[unit].is_taken, __ATOMIC_RELEASE);
}

/** If a short counter may wrap within @p s, only the tick @p at. */
struct trace_stay trace_ran_ticks_of_stay(const struct perf_trace *p, struct clew_ticks at,
					  const struct who_stay *s)
{
	uint64_t order = perf_ticks_order(&p->time_conv, at), from = at.ticks - (order - s->from);
	uint64_t ahead = s->to - order, room = UINT64_MAX - at.ticks;

	if (p->time_conv.is_short && p->time_conv.mask - order < room)
		room = p->time_conv.mask - order;
	if (order < s->from || order >= s->to || from > at.ticks)
		return (struct trace_stay){at.ticks, at.ticks + 1};
	return (struct trace_stay){from, at.ticks + (ahead < room ? ahead : room)};
}

void trace_ran_clip(const struct perf_trace *p, struct clew_perf_ns from, struct clew_perf_ns to,
		    struct who_stay *s)
{
	struct clew_ticks t;
	uint64_t order;

	if (clew_perf_ns_is_known(from) && perf_ticks_of_ns(&p->time_conv, from, &t)) {
		order = perf_ticks_order(&p->time_conv, t);
		s->from = order > s->from ? order : s->from;
	}
	if (clew_perf_ns_is_known(to) && perf_ticks_of_ns(&p->time_conv, to, &t)) {
		order = perf_ticks_order(&p->time_conv, t);
		s->to = order < s->to ? order : s->to;
	}
}

bool trace_ran_stay(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		    struct who_stay *ret)
{
	struct trace_ran_memo *m = &p->ran.memos[unit].of_consumer;
	struct trace_ran_known *a = &m->known[known_of(key)];
	struct who_question q = ask_anew(p, unit, key, m, a);

	return who_ran_stay(p->ran.rule, &a->cursor, &q, ret);
}

/* --- what the trace itself proves --- */

struct noting {
	struct perf_trace *p;
	struct who_notes *notes;
};

static enum clew_err note_ops(void *ctx, size_t unit, const struct trace_ops_batch *b)
{
	struct noting *n = ctx;
	struct trace_ran *r = &n->p->ran;
	struct trace_ran_chunk c = {.is_set = false};

	for (size_t i = 0; i < b->nr; i++) {
		const struct code_key key = trace_op_key(&b->ops[i], b->bound);
		struct who_question q = question_of(n->p, (uint32_t)unit, &key, &c);

		if (!who_ran_note_many(r->rule, n->notes,
				       &r->memos[unit].of_consumer.known[0].cursor, &q,
				       b->ops[i].nr))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static struct trace_stay stay_of_notes(void *ctx, size_t unit, const struct code_key *key)
{
	struct noting *n = ctx;
	struct trace_ran *r = &n->p->ran;
	struct trace_ran_chunk c = {.is_set = false};
	struct who_question q = question_of(n->p, (uint32_t)unit, key, &c);
	struct who_stay stay;

	if (!who_ran_note_stay(r->rule, &r->memos[unit].of_consumer.known[0].cursor, &q, &stay))
		return (struct trace_stay){key->ticks.ticks, key->ticks.ticks + 1};
	return trace_ran_ticks_of_stay(n->p, key->ticks, &stay);
}

/** Counts for the later pass, if that counts at all. */
static bool make_kept(struct perf_trace *p)
{
	struct trace_ops_kept *kept;

	if (p->wishes.fold == TRACE_OPS_EACH)
		return true;
	p->ran.kept.limit = budget_part(p->input.budget, KEEP_OPS_BYTES);
	p->trace.kept = kept = mem_calloc(p->units.nr + 1, sizeof(*kept));
	for (uint32_t i = 0; kept && i < p->units.nr; i++)
		kept[i] = (struct trace_ops_kept){p->wishes.fold, &p->ran.kept, NULL};
	return kept;
}

void trace_ran_free_kept(struct perf_trace *p)
{
	struct trace_ops_kept *kept = p->trace.kept;

	for (uint32_t i = 0; kept && i < p->units.nr; i++) {
		if (kept[i].data)
			p->units.data[i].decoder->ops->kept_free(kept[i].data);
	}
	mem_free(kept);
	p->trace.kept = NULL;
}

static enum clew_err note_ops_of(struct perf_trace *p, struct who_notes *notes)
{
	bool *skips = mem_calloc(p->units.nr + 1, sizeof(*skips)), has_some = false;
	struct noting n = {p, notes};
	const struct trace_decode_opts opts = {.nr_threads = 1,
					       .skips = skips,
					       .ops = note_ops,
					       .ops_fold = TRACE_OPS_BY_OWNER,
					       .ops_keeps = true,
					       .has_no_helper = p->wishes.is_single_threaded,
					       .ops_stay = stay_of_notes,
					       .ctx = &n};
	enum clew_err err = skips ? CLEW_OK : CLEW_NO_MEMORY;

	for (uint32_t i = 0; !err && i < p->units.nr; i++) {
		skips[i] = !trace_ran_is_op(&p->ran, i);
		has_some |= !skips[i];
	}
	if (!err && has_some && !make_kept(p))
		err = CLEW_NO_MEMORY;
	if (!err && has_some)
		err = trace_decode(&p->trace, &opts, NULL);
	mem_free(skips);
	return err;
}

/** Facts that only a pass over the trace can prove, if anything depends on them. */
static enum clew_err note_trace(struct perf_trace *p, struct who_notes *notes)
{
	bool *wanted = mem_calloc(p->units.nr + 1, sizeof(*wanted));
	enum clew_err err = wanted ? CLEW_OK : CLEW_NO_MEMORY;

	for (uint32_t i = 0; !err && i < p->nr_protocols; i++) {
		const struct aux_units *u = &p->protocols[i];

		if (u->protocol->find_ids && !u->protocol->find_ids(u->units, p, u->first))
			err = CLEW_NO_MEMORY;
	}
	if (!err && trace_marks_begin(p, wanted))
		err = trace_marks_find(p, wanted, notes);
	if (!err && p->marks.units)
		err = trace_marks_pair(p);
	mem_free(wanted);
	return err;
}

/** Discard the answers that were given to the pass. */
static void forget_answers(struct perf_trace *p)
{
	for (size_t i = 0; i < p->units.nr; i++)
		p->ran.memos[i] = (struct trace_ran_memos){.is_op = p->ran.memos[i].is_op};
}

static enum clew_err settle(struct perf_trace *p, struct who_notes *notes)
{
	enum clew_err err = note_ops_of(p, notes);

	if (!err)
		err = note_trace(p, notes);
	if (!err && !who_ran_add_notes(p->ran.rule, notes))
		err = CLEW_NO_MEMORY;
	forget_answers(p);
	err = err ? err : who_ran_settle(p->ran.rule);
	if (!err)
		trace_marks_settle(p);
	return err;
}

enum clew_err trace_ran_close(struct perf_trace *p)
{
	struct who_notes *notes = who_notes_new();
	enum clew_err err = CLEW_OK;

	p->ran.memos = mem_calloc(p->units.nr + 1, sizeof(*p->ran.memos));
	if (!notes || !p->ran.memos ||
	    !who_ran_take_facts(p->ran.rule, perf_file_who_facts(p->file)))
		err = CLEW_NO_MEMORY;
	for (size_t i = 0; !err && i < p->units.nr; i++) {
		const struct trace_unit *u = &p->units.data[i];

		p->ran.memos[i].is_op = u->decoder && u->decoder->ops;
	}
	if (!err && p->has_time_conv)
		who_ran_set_clock(p->ran.rule, &p->time_conv);
	if (!err)
		err = who_ran_close(p->ran.rule);
	if (!err)
		err = settle(p, notes);
	who_notes_free(notes);
	return err;
}
