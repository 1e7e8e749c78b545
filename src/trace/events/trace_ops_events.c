/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_own_ids.h"
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

/* Sampled operations as events. Those of one operation share its ana_op, time and thread; which
 * there are, and what is in them, is as in perf.
 * Spec: tools/perf/util/arm-spe.c, arm_spe_sample (Linux 7.3). */

static bool is_wanted(const struct itrace_opts *o, enum trace_op_event what)
{
	switch (what) {
	case OP_L1D_MISS:
	case OP_L1D_ACCESS:
		return o->l1;
	case OP_LLC_MISS:
	case OP_LLC_ACCESS:
		return o->last_level;
	case OP_TLB_MISS:
	case OP_TLB_ACCESS:
		return o->tlb;
	case OP_BRANCH:
		return o->branches || o->calls || o->returns;
	case OP_REMOTE_ACCESS:
		return o->remote;
	case OP_MEMORY:
		return o->memory;
	case OP_INSTRUCTIONS:
	case NR_OP_EVENTS:
		break;
	}
	return o->insns || o->is_default;
}

static const struct {
	const char *name;
	uint64_t events; /* of an operation that is one; 0: see is_one() */
} kinds[NR_OP_EVENTS] = {
	[OP_L1D_MISS] = {"l1d-miss",      ANA_OP_L1D_MISS  },
	[OP_L1D_ACCESS] = {"l1d-access",    ANA_OP_L1D_ACCESS},
	[OP_LLC_MISS] = {"llc-miss",      ANA_OP_LLC_MISS  },
	[OP_LLC_ACCESS] = {"llc-access",    ANA_OP_LLC_ACCESS},
	[OP_TLB_MISS] = {"tlb-miss",      ANA_OP_TLB_WALK  },
	[OP_TLB_ACCESS] = {"tlb-access",    ANA_OP_TLB_ACCESS},
	[OP_BRANCH] = {"branch",        0                },
	[OP_REMOTE_ACCESS] = {"remote-access", ANA_OP_REMOTE    },
	[OP_MEMORY] = {"memory",        0                },
	[OP_INSTRUCTIONS] = {"instructions",  0                },
};

/* Periods in time have no meaning: the hardware samples at its own. */
uint64_t trace_ops_period(const struct itrace_opts *o)
{
	return o->insns && o->unit == ITRACE_INSNS && o->period ? o->period : 1;
}

bool trace_ops_add_evsels(struct trace_events *e)
{
	const struct itrace_opts *o = &e->opts.itrace;
	struct perf_attr a = trace_events_attr(e);

	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	a.sample_period = trace_ops_period(o);
	a.sample_type |= PERF_SAMPLE_TID | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT |
			 PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR;
	for (enum trace_op_event i = 0; i < NR_OP_EVENTS; i++) {
		struct perf_attr x = a;

		if (!is_wanted(o, i))
			continue;
		if (o->last_branches && (i == OP_BRANCH || i == OP_INSTRUCTIONS))
			x.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		e->of_ops[i] = perf_evlist_add(&e->list, &x, kinds[i].name, NULL, 0, false);
		if (!e->of_ops[i])
			return false;
	}
	return true;
}

static bool is_one(const struct ana_op *op, enum trace_op_event what)
{
	if (what == OP_BRANCH)
		return op->has & ANA_OP_HAS_KIND && op->kind == ANA_OP_BRANCH;
	if (what == OP_MEMORY)
		return op->data_src; /* loads, stores, and what perf takes for memory, too */
	return what == OP_INSTRUCTIONS || op->events & kinds[what].events;
}

/* --- branches --- */

enum { OP_COND = 1, OP_INDIRECT = 2, OP_CR_SHIFT = 3, OP_CR_BITS = 3 };
enum cr { CR_UNKNOWN, CR_CALL, CR_RETURN, CR_NEITHER };

static enum cr cr_of(const struct ana_op *op)
{
	return (enum cr)(op->op >> OP_CR_SHIFT & OP_CR_BITS);
}

static uint32_t flow_of(const struct ana_op *op)
{
	uint32_t flow = ANA_FLOW_BRANCH;

	if (!(op->has & ANA_OP_HAS_KIND) || op->kind != ANA_OP_BRANCH)
		return 0;
	flow |= op->op & OP_COND ? ANA_FLOW_COND : 0u;
	flow |= cr_of(op) == CR_CALL ? ANA_FLOW_CALL : 0u;
	flow |= cr_of(op) == CR_RETURN ? ANA_FLOW_RETURN : 0u;
	flow |= op->events & ANA_OP_MISPREDICTED ? ANA_FLOW_MISS : 0u;
	flow |= op->events & ANA_OP_NOT_TAKEN ? ANA_FLOW_NOT_TAKEN : 0u;
	flow |= op->events & ANA_OP_TRANSACTION ? ANA_FLOW_OP_IN_TX : 0u;
	return flow;
}

static uint64_t branch_type_of(const struct ana_op *op)
{
	enum { COND = 1, UNCOND = 2, IND = 3, CALL = 4, RET = 6, COND_CALL = 9, COND_RET = 10 };
	bool is_cond = op->op & OP_COND;

	switch (cr_of(op)) {
	case CR_CALL:
		return is_cond ? COND_CALL : CALL;
	case CR_RETURN:
		return is_cond ? COND_RET : RET;
	case CR_UNKNOWN:
	case CR_NEITHER:
		break;
	}
	if (is_cond)
		return COND;
	return op->op & OP_INDIRECT ? IND : cr_of(op) == CR_NEITHER ? UNCOND : 0;
}

static uint64_t branch_flags_of(const struct ana_op *op)
{
	uint64_t flags =
		op->events & ANA_OP_MISPREDICTED ? PERF_BRANCH_MISPRED : PERF_BRANCH_PREDICTED;

	flags |= op->events & ANA_OP_NOT_TAKEN ? PERF_BRANCH_NOT_TAKEN : 0;
	flags |= op->events & ANA_OP_TRANSACTION ? (uint64_t)PERF_BRANCH_IN_TX : 0;
	return flags | (uint64_t)op->total << PERF_BRANCH_CYCLES_SHIFT |
	       branch_type_of(op) << PERF_BRANCH_TYPE_SHIFT;
}

/* --- where and who --- */

/** One operation, and what all its events share. */
struct op_at {
	const struct trace_op *op;
	struct code_key key;
	struct trace_who who;
	const struct ana_loc *loc, *to;
	uint32_t space; /* at the operation's level */
	uint16_t misc;
	bool is_in_batch;
};

/** By the exception level, whatever the address. */
static uint16_t misc_of(const struct ana_op *op, const struct ana_loc *loc)
{
	if (loc && loc->level == ANA_GUEST_USER)
		return PERF_RECORD_MISC_GUEST_USER;
	if (loc && loc->level == ANA_GUEST_KERNEL)
		return PERF_RECORD_MISC_GUEST_KERNEL;
	if (op->level == 3 || op->security != ARM_NONSECURE)
		return PERF_RECORD_MISC_HYPERVISOR;
	if (op->level == 2)
		/* A kernel at EL2 writes its contexts there. */
		return op->has & ANA_OP_HAS_CONTEXT_EL2 ||
				       (loc && loc->dso && loc->level == ANA_KERNEL)
			     ? PERF_RECORD_MISC_KERNEL
			     : PERF_RECORD_MISC_HYPERVISOR;
	return op->level ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

enum { NR_STAYS = 8, NR_LOCS = 256 };

struct trace_ops_memo {
	/** Answers that hold for a while, by what was asked. */
	struct known_who {
		bool is_set;
		struct code_key key;
		struct trace_stay stay;
		struct trace_who who;
		uint32_t space;
		uint64_t number; /* of all answers to the unit */
	} stays[NR_STAYS];
	uint64_t nr_stays;
	struct known_loc {
		uint64_t addr;
		const struct ana_loc *loc; /* NULL: unused */
		uint32_t space;
	} locs[NR_LOCS];
};

static size_t slot_of(uint64_t v, unsigned int bits)
{
	return (size_t)(v * 0x9e3779b97f4a7c15U >> (64 - bits));
}

static const struct ana_loc *locate_in(struct trace_synth *s, uint32_t space, uint64_t addr)
{
	struct known_loc *k = &s->ops_memo->locs[slot_of(addr ^ (uint64_t)space << 40, 8)];

	if (!k->loc || k->addr != addr || k->space != space)
		*k = (struct known_loc){addr, trace_locate(s->events, space, addr), space};
	return k->loc;
}

static const struct ana_loc *locate(struct trace_synth *s, struct op_at *x, uint8_t level,
				    uint64_t addr)
{
	const struct code_source *code = s->unit->code;
	struct code_key key = x->key;

	if (level == key.context.arm.el)
		return locate_in(s, x->space, addr);
	trace_op_key_at(code, level, x->op->pc, &key);
	return locate_in(s, code->space(code->ctx, &key), addr);
}

static bool is_known(const struct known_who *k, const struct code_key *key)
{
	const struct code_arm_context *a = &k->key.context.arm, *b = &key->context.arm;

	return k->is_set && k->key.bound.ns == key->bound.ns && a->el == b->el &&
	       a->security == b->security && a->has_cid == b->has_cid &&
	       a->has_vmid == b->has_vmid && a->cid == b->cid && a->vmid == b->vmid &&
	       key->ticks.ticks - k->stay.from < k->stay.to - k->stay.from;
}

static void ask(struct trace_synth *s, const struct code_key *key, struct known_who *k)
{
	struct trace_input *trace = s->events->trace;
	const struct code_source *code = s->unit->code;
	struct trace_thread t;

	trace->ops->thread(trace, s->index, key, &t);
	*k = (struct known_who){
		.is_set = trace->ops->stay,
		.key = *key,
		.who = {.pid = t.pid,
			.tid = t.tid,
			.comm = t.comm,
			.time = clew_perf_ns_none(),
			.has_answer = t.who},
		.space = code->space(code->ctx, key)
        };
	if (t.who)
		k->who.answer = *t.who;
	if (!k->is_set)
		return;
	k->stay = trace->ops->stay(trace, s->index, key);
	k->number = ++s->ops_memo->nr_stays;
}

static const struct known_who *who_of(struct trace_synth *s, const struct code_key *key)
{
	const struct code_arm_context *c = &key->context.arm;
	uint64_t asked = (uint64_t)c->vmid << 32 ^ c->cid ^ (uint64_t)c->el << 30;
	struct known_who *k = &s->ops_memo->stays[slot_of(asked, 3)];

	if (!is_known(k, key))
		ask(s, key, k);
	return k;
}

static struct clew_perf_ns time_of(struct trace_synth *s, const struct ana_op *op)
{
	const struct clew_ticks ticks = {op->ticks};

	return op->has & ANA_OP_HAS_TIME ? trace_events_time_or_none(s->events, s->index, ticks)
					 : clew_perf_ns_none();
}

/** What is no thread has the name of what it is; an unknown owner none. */
static void name_kind(struct op_at *x)
{
	enum who_kind kind = x->who.answer.kind;

	if (x->who.has_answer && !x->who.comm && kind != WHO_TASK && kind != WHO_UNKNOWN)
		x->who.comm = ana_name_of_kind(kind);
}

static bool settle(struct trace_synth *s, const struct trace_op *o, struct op_at *ret)
{
	struct trace_events *e = s->events;

	ret->loc = locate(s, ret, o->op.level, o->pc);
	ana_settle_idle(&ret->who.answer, ret->loc);
	name_kind(ret);
	if (e->opts.wants_addr && flow_of(&o->op))
		ret->to = locate(s, ret, o->op.target_level, o->op.target);
	ret->misc = misc_of(&o->op, ret->loc);
	return e->err == CLEW_OK;
}

/* --- branch stacks --- */

enum { WORDS = 3 }; /* of an entry of a branch stack */

static bool resolve_stack(struct trace_synth *s, struct ana_event *ev, struct op_at *x)
{
	struct trace_events *e = s->events;
	uint64_t nr = ev->sample->branches.nr;
	const struct ana_loc **locs = arena_alloc(&e->batch_memory, 2 * nr * sizeof(*locs));

	for (uint64_t i = 0; locs && i < nr; i++) {
		struct perf_branch b = perf_branch_get(ev->sample, i);

		locs[2 * i] = locate(s, x, x->op->op.level, b.from);
		locs[2 * i + 1] =
			locate(s, x, b.from ? x->op->op.target_level : x->op->op.level, b.to);
	}
	ev->branches = locs;
	return locs && e->err == CLEW_OK;
}

/** The branch, and where the one before it went: from is not reported. */
static bool set_stack(struct trace_events *e, struct perf_sample *s, const struct trace_op *o)
{
	uint64_t *words = arena_zalloc(&e->batch_memory, 2 * WORDS * sizeof(*words));
	uint32_t nr = 0;

	if (!words)
		return false;
	if (flow_of(&o->op)) {
		words[0] = o->pc;
		words[1] = o->op.target;
		words[2] = branch_flags_of(&o->op);
		nr++;
	}
	if (o->op.has & ANA_OP_HAS_PREV_TARGET && nr < e->opts.itrace.max_branches)
		words[WORDS * nr++ + 1] = o->op.prev_target;
	s->branches.nr = nr;
	s->branches.hw_idx = UINT64_MAX;
	s->branches.words = (struct perf_words){.data = (const uint8_t *)words, .nr = WORDS * nr};
	return true;
}

/* --- events --- */

static struct synth_fields fields_of(const struct trace_events *e, const struct op_at *x,
				     enum trace_op_event what)
{
	bool is_code = what == OP_BRANCH || what == OP_INSTRUCTIONS;

	return (struct synth_fields){.ip = x->op->pc,
				     .addr = is_code ? x->op->op.target : x->op->op.va,
				     .loc = x->loc,
				     .to = is_code ? x->to : NULL,
				     .who = &x->who,
				     .flow = is_code ? flow_of(&x->op->op) : 0,
				     .isa = ANA_A64,
				     .period = e->of_ops[what]->attr.sample_period};
}

static bool add_stack(struct trace_synth *s, struct ana_event *ev, struct perf_sample *sample,
		      struct op_at *x)
{
	struct trace_events *e = s->events;

	if (set_stack(e, sample, x->op) &&
	    (!e->opts.wants_branches || !sample->branches.nr || resolve_stack(s, ev, x)))
		return true;
	e->err = e->err ? e->err : CLEW_NO_MEMORY;
	return false;
}

static bool emit(struct trace_synth *s, struct op_at *x, enum trace_op_event what)
{
	struct trace_events *e = s->events;
	struct synth_fields t = fields_of(e, x, what);
	struct ana_event *ev = trace_emit_next(e, s->unit, &x->who);
	struct perf_sample *sample;

	if (!ev)
		return false;
	ev->record.misc = x->misc;
	sample = trace_emit_sample(e, ev, e->of_ops[what], &t);
	if (!trace_emit_keeps(e, sample, &x->who)) {
		e->summary.nr_filtered += x->op->nr - 1;
		return true;
	}
	ev->nr_more = x->op->nr - 1;
	sample->weight = x->op->op.total;
	sample->data_src = x->op->op.data_src;
	sample->phys_addr = x->op->op.pa;
	if (sample->sample_type & PERF_SAMPLE_BRANCH_STACK && !add_stack(s, ev, sample, x))
		return false;
	/* The batch may be a new one: then the operation is in it again. */
	if (!e->nr_ops || !x->is_in_batch)
		e->ops[e->nr_ops++] = x->op->op;
	x->is_in_batch = true;
	ev->op = &e->ops[e->nr_ops - 1];
	e->answers[e->nr] = x->who.answer;
	ev->who = x->who.has_answer ? &e->answers[e->nr] : NULL;
	e->synths_of[e->nr].flow = t.flow;
	e->summary.nr_samples += x->op->nr;
	e->nr++;
	return true;
}

static bool emit_all(struct trace_synth *s, struct op_at *x)
{
	struct trace_events *e = s->events;

	if (!settle(s, x->op, x))
		return false;
	if (x->who.has_answer)
		who_counts_add_many(&e->summary.who, &x->who.answer, x->op->nr);
	for (enum trace_op_event i = 0; i < NR_OP_EVENTS; i++) {
		if (e->of_ops[i] && is_one(&x->op->op, i) && !emit(s, x, i))
			return false;
	}
	return true;
}

static uint64_t operation_of(const struct ana_op *op)
{
	return (uint64_t)op->op_class << 40 | (uint64_t)op->op << 32 |
	       (uint64_t)op->events_bits << 24 | (uint64_t)op->level << 16 |
	       (uint64_t)op->security << 8 | op->target_level;
}

static struct trace_repeat_key repeat_key(const struct trace_synth *s, const struct trace_op *o,
					  uint64_t stay)
{
	const struct ana_op *op = &o->op;

	return (struct trace_repeat_key){.pc = o->pc,
					 .target = op->target,
					 .events = op->events,
					 .source = op->source,
					 .stay = stay,
					 .has = op->has,
					 .unit = (uint32_t)s->index,
					 .operation = operation_of(op)};
}

/** All that it makes, which is kept for the next time. */
static bool emit_and_keep(struct trace_synth *s, struct op_at *x,
			  const struct trace_repeat_key *key)
{
	struct trace_events *e = s->events;
	uint64_t nr_filtered = e->summary.nr_filtered;
	size_t from;

	if (!trace_repeats_begin(e))
		return false;
	from = e->nr;
	if (!emit_all(s, x))
		return false;
	trace_repeats_keep(e, key, from, &x->who, e->summary.nr_filtered - nr_filtered);
	return true;
}

static bool make_events(struct trace_synth *s, const struct trace_op *o, const struct code_key *key,
			const struct known_who *k, struct clew_perf_ns time,
			const struct trace_repeat_key *repeat)
{
	struct op_at x = {.op = o, .key = *key, .who = k->who, .space = k->space};

	x.who.time = time;
	return repeat ? emit_and_keep(s, &x, repeat) : emit_all(s, &x);
}

static bool take_one(struct trace_synth *s, const struct trace_op *o, struct clew_perf_ns bound)
{
	struct trace_events *e = s->events;
	const struct code_key key = trace_op_key(o, bound);
	struct trace_repeat_key repeat;
	const struct known_who *k;
	struct clew_perf_ns time;

	/* Every Nth operation of a unit makes events. */
	if (++s->nr_insns - s->sampled_at < trace_ops_period(&e->opts.itrace))
		return true;
	s->sampled_at = s->nr_insns;
	k = who_of(s, &key);
	time = time_of(s, &o->op);
	if (!e->repeats || !k->number || !clew_perf_ns_is_known(time))
		return make_events(s, o, &key, k, time, NULL);
	repeat = repeat_key(s, o, k->number);
	return trace_repeats_emit(e, &repeat, time) || make_events(s, o, &key, k, time, &repeat);
}

enum clew_err trace_ops_take(struct trace_synth *s, const struct trace_ops_batch *b)
{
	if (!s->ops_memo)
		s->ops_memo = mem_zalloc(sizeof(*s->ops_memo));
	if (!s->ops_memo)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < b->nr; i++) {
		if (!take_one(s, &b->ops[i], b->bound))
			return s->events->err;
	}
	return CLEW_OK;
}
