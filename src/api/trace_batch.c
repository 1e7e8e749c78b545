/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/trace_impl.h"
#include "base/same_text.h"
#include "flow/flow_key.h"
#include "format/who_answer.h"

_Static_assert((int)CLEW_REALM == (int)ARM_REALM && CLEW_TRACE_ITEM_EVENT == FLOW_ITEM_EVENT,
	       "public and inner numbers are alike");
_Static_assert((int)CLEW_NOTE_PSB == (int)FLOW_NOTE_PSB && (int)CLEW_NOTE_IF == (int)FLOW_NOTE_IF &&
		       (int)CLEW_NOTE_POINT + 1 == NR_FLOW_NOTES,
	       "notes, too");

/* clang-format off */
static const uint8_t kinds[NR_FLOW_EVENTS] = {
	[FLOW_EV_NO_SYNC] = CLEW_TRACE_NO_SYNC,
	[FLOW_EV_TRACE_ON] = CLEW_TRACE_ON,
	[FLOW_EV_CONTEXT] = CLEW_TRACE_CONTEXT,
	[FLOW_EV_RANGE] = CLEW_TRACE_PARTIAL,
	[FLOW_EV_NO_PATH] = CLEW_TRACE_UNKNOWN_PATH,
	[FLOW_EV_NACC] = CLEW_TRACE_NO_CODE,
	[FLOW_EV_NO_TARGET] = CLEW_TRACE_UNKNOWN_START,
	[FLOW_EV_DROPPED] = CLEW_TRACE_DROPPED,
	[FLOW_EV_EXCEPTION] = CLEW_TRACE_EXCEPTION,
	[FLOW_EV_EXCEPTION_RET] = CLEW_TRACE_EXCEPTION_RETURN,
	[FLOW_EV_FUNCTION_RET] = CLEW_TRACE_FUNCTION_RETURN,
	[FLOW_EV_PE_RESET] = CLEW_TRACE_RESET,
	[FLOW_EV_TIMESTAMP] = CLEW_TRACE_TIMESTAMP,
	[FLOW_EV_CYCLES] = CLEW_TRACE_CYCLES,
	[FLOW_EV_BOUND] = CLEW_TRACE_LATEST,
	[FLOW_EV_EVENT] = CLEW_TRACE_EVENT,
	[FLOW_EV_TS_MARKER] = CLEW_TRACE_TS_MARKER,
	[FLOW_EV_INSTRUMENTATION] = CLEW_TRACE_INSTRUMENTATION,
	[FLOW_EV_TRANSACTION] = CLEW_TRACE_TRANSACTION,
	[FLOW_EV_UNSUPPORTED] = CLEW_TRACE_UNSUPPORTED,
	[FLOW_EV_END] = CLEW_TRACE_END,
	[FLOW_EV_SWITCH] = CLEW_TRACE_SWITCH,
	[FLOW_EV_TRACE_OFF] = CLEW_TRACE_OFF,
	[FLOW_EV_NOTE] = CLEW_TRACE_NOTE,
};

static const uint8_t no_syncs[NR_FLOW_NO_SYNCS] = {
	[FLOW_NO_SYNC_INIT] = CLEW_NO_SYNC_START,
	[FLOW_NO_SYNC_RESET] = CLEW_NO_SYNC_GAP,
	[FLOW_NO_SYNC_OVERFLOW] = CLEW_NO_SYNC_OVERFLOW,
	[FLOW_NO_SYNC_DISCARD] = CLEW_NO_SYNC_STOPPED,
	[FLOW_NO_SYNC_BAD_PACKET] = CLEW_NO_SYNC_BAD_PACKET,
	[FLOW_NO_SYNC_BAD_IMAGE] = CLEW_NO_SYNC_BAD_CODE,
};

static const uint8_t isas[] = {
	[ISA_A64] = CLEW_ISA_A64,
	[ISA_A32] = CLEW_ISA_A32,
	[ISA_T32] = CLEW_ISA_T32,
	[ISA_X86_64] = CLEW_ISA_X86_64,
	[ISA_X86_32] = CLEW_ISA_X86_32,
	[ISA_X86_16] = CLEW_ISA_X86_16,
};
/* clang-format on */

enum clew_isa trace_public_isa(enum isa isa)
{
	return (enum clew_isa)isas[isa];
}

/* --- ranges, once a block --- */

static struct clew_trace_range range_of(const struct flow_block *k)
{
	return (struct clew_trace_range){.start = k->start,
					 .end = k->start + k->bytes,
					 .nr_insns = k->nr_insns,
					 .space = k->space,
					 .isa = isas[k->isa],
					 .last_bytes = k->last_bytes,
					 .is_whole = true};
}

/** NR_TABLES: there is none. */
static size_t find_table(const struct trace_state *s, uint32_t epoch)
{
	size_t i = 0;

	while (i < NR_TABLES && !(s->tables[i].is_used && s->tables[i].epoch == epoch))
		i++;
	return i;
}

const struct clew_trace_range *trace_ranges_of(const struct trace_state *s, uint32_t epoch)
{
	return s->tables[find_table(s, epoch)].data;
}

/** NULL: out of memory. */
static struct trace_ranges *new_table(struct clew_trace *t, size_t unit, uint32_t epoch)
{
	struct trace_state *s = &t->states[unit];
	struct trace_ranges *r = &s->tables[s->oldest];

	if (!trace_waiting_keep_ranges(t, unit, r))
		return NULL;
	s->table = s->oldest;
	s->oldest = (s->oldest + 1) % NR_TABLES;
	r->nr = 0;
	r->epoch = epoch;
	r->is_used = true;
	return r;
}

/** NULL: out of memory. */
static struct trace_ranges *table_of(struct clew_trace *t, size_t unit, uint32_t epoch)
{
	struct trace_state *s = &t->states[unit];
	const struct trace_ranges *last = &s->tables[s->table];
	size_t i = last->is_used && last->epoch == epoch ? s->table : find_table(s, epoch);

	if (i == NR_TABLES)
		return new_table(t, unit, epoch);
	s->table = i;
	return &s->tables[i];
}

/** @return false: out of memory. */
static bool reach(struct trace_ranges *t, const struct flow_block *blocks, size_t nr)
{
	if (!vec_reserve(t, nr))
		return false;
	for (; t->nr < nr; t->nr++)
		t->data[t->nr] = range_of(&blocks[t->nr]);
	return true;
}

void trace_state_done(struct trace_state *s)
{
	for (size_t i = 0; i < NR_TABLES; i++)
		vec_done(&s->tables[i]);
	buf_done(&s->who);
	*s = (struct trace_state){0};
}

/* --- events --- */

static const char *text_of(const struct clew_trace *t, size_t unit, const struct flow_event *e)
{
	const struct code_source *code = t->trace->units[unit].code;

	if (e->kind == FLOW_EV_NO_SYNC)
		return e->what ? e->what : flow_no_sync_text((enum flow_no_sync)e->reason);
	if (e->kind == FLOW_EV_NACC && code->why)
		return code->why(code->ctx, e->space, e->address);
	return NULL;
}

static uint32_t number_of(const struct flow_event *e)
{
	switch (e->kind) {
	case FLOW_EV_NO_SYNC:
		return no_syncs[e->reason];
	case FLOW_EV_TRACE_ON:
		return e->is_overflow;
	case FLOW_EV_TRACE_OFF:
		return e->cause == FLOW_CAUSE_ASYNC;
	case FLOW_EV_NO_PATH:
	case FLOW_EV_NO_TARGET:
		return e->count;
	default:
		return e->number;
	}
}

static const struct clew_trace_range *partial(struct clew_trace *t, const struct flow_event *e)
{
	if (e->kind != FLOW_EV_RANGE)
		return NULL;
	t->made.partial.data[t->made.partial.nr] = (struct clew_trace_range){.start = e->address,
									     .end = e->end,
									     .nr_insns = e->count,
									     .space = e->space,
									     .isa = isas[e->isa]};
	return &t->made.partial.data[t->made.partial.nr++];
}

static struct clew_trace_event event_of(struct clew_trace *t, size_t unit,
					const struct flow_event *e)
{
	return (struct clew_trace_event){.kind = kinds[e->kind],
					 .el = e->el,
					 .is_known = e->kind == FLOW_EV_NOTE ? e->has_end
									     : e->has_count,
					 .is_target = e->is_target,
					 .space = e->space,
					 .number = number_of(e),
					 .start = e->address,
					 .end = e->end,
					 .value = e->kind == FLOW_EV_CYCLES ? e->count : e->value,
					 .offset = e->offset,
					 .text = text_of(t, unit, e),
					 .range = partial(t, e)};
}

/* --- contexts --- */

static struct clew_arm_context arm_of(const struct code_arm_context *c)
{
	return (struct clew_arm_context){.el = c->el,
					 .security = c->security,
					 .is_64 = c->is_64,
					 .has_cid = c->has_cid,
					 .has_vmid = c->has_vmid,
					 .cid = c->cid,
					 .vmid = c->vmid};
}

static struct clew_x86_context x86_of(const struct code_x86_context *c)
{
	return (struct clew_x86_context){.bits = c->bits,
					 .is_root = !c->is_guest,
					 .has_cr3 = c->has_cr3,
					 .has_vmcs = c->has_vmcs,
					 .cr3 = c->cr3,
					 .vmcs = c->vmcs};
}

/* In words, and as the object of JSON, which who_answer_json() gives with its key. */
static void put_who(struct buf *out, const struct who_answer *a, struct clew_trace_context *ret)
{
	static const char key[] = "\"who\":";
	struct json_put j = {.out = out};
	size_t json;

	buf_clear(out);
	who_answer_text(out, a);
	buf_char(out, '\0');
	json = out->nr + sizeof(key) - 1;
	who_answer_json(&j, a);
	buf_char(out, '\0');
	if (out->is_failed)
		return;
	ret->who = out->data;
	ret->who_json = out->data + json;
}

static void keep_context(struct clew_trace *t, struct trace_state *s,
			 const struct clew_trace_context *c)
{
	struct buf who = s->who;

	if (c->who != s->context.who) { /* it refers to the newest texts */
		s->who = t->who;
		t->who = who;
		s->answer = t->answer;
	}
	s->context = *c;
	s->has_context = true;
	if (s->key.context.arch == CODE_ARM)
		s->arm = arm_of(&s->key.context.arm);
	else
		s->x86 = x86_of(&s->key.context.x86);
}

/* Few answers differ from the one before: text is made of these alone. */
static void take_who(struct clew_trace *t, const struct trace_state *s, const struct who_answer *a,
		     struct clew_trace_context *ret)
{
	if (s->context.who && who_answer_is_same(&s->answer, a)) {
		ret->who = s->context.who;
		ret->who_json = s->context.who_json;
		return;
	}
	t->answer = *a;
	put_who(&t->who, a, ret);
}

static struct clew_trace_context context_of(struct clew_trace *t, size_t unit)
{
	struct trace_state *s = &t->states[unit];
	struct trace_thread thread = {.pid = UINT32_MAX, .tid = UINT32_MAX};
	bool is_arm = s->key.context.arch == CODE_ARM;
	struct clew_trace_context ret;

	t->trace->ops->thread(t->trace, unit, &s->key, &thread);
	ret = (struct clew_trace_context){.pid = thread.pid,
					  .tid = thread.tid,
					  .comm = thread.comm,
					  .arch = is_arm ? CLEW_ARCH_ARM : CLEW_ARCH_X86,
					  .arm = is_arm ? &s->arm : NULL,
					  .x86 = is_arm ? NULL : &s->x86};
	if (t->run.wants_who && thread.who)
		take_who(t, s, thread.who, &ret);
	return ret;
}

static bool is_same_thread(const struct clew_trace_context *a, const struct clew_trace_context *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->comm == b->comm &&
	       is_same_text(a->who_json, b->who_json);
}

/** @return whether what follows is of another context, which is then in *ret. */
static bool changes(struct clew_trace *t, size_t unit, const struct flow_event *e,
		    struct clew_trace_context *ret)
{
	struct trace_state *s = &t->states[unit];

	if (!flow_key_take_event(&s->key, e))
		return false;
	if (e->kind == FLOW_EV_CONTEXT) {
		*ret = context_of(t, unit);
		return true;
	}
	if (!s->has_context)
		return false;
	*ret = context_of(t, unit);
	return !is_same_thread(&s->context, ret);
}

/* --- batches --- */

/** A batch on its way: items [from, to) are still to be handed out. */
struct cut {
	struct clew_trace *trace;
	size_t unit, from;
	const struct flow_batch *batch;
	uint32_t past; /* all items so far that are blocks */
};

/** A caller's result, or that of trace_waiting_keep(). */
static enum clew_err give(struct clew_trace *t, const struct clew_trace_batch *b)
{
	enum clew_err err = t->take(t->take_ctx, b);

	return t->is_running ? trace_pass_taken(t, err) : err;
}

static enum clew_err hand_out(struct cut *c, size_t to)
{
	struct clew_trace *t = c->trace;
	struct trace_state *s = &t->states[c->unit];
	struct trace_ranges *ranges = table_of(t, c->unit, c->batch->epoch);
	const struct clew_trace_batch b = {.unit = c->unit,
					   .items = c->batch->items + c->from,
					   .nr = to - c->from,
					   .events = t->made.events.data,
					   .range_bytes = sizeof(struct clew_trace_range),
					   .event_bytes = sizeof(struct clew_trace_event),
					   .context = s->has_context ? &s->context : NULL,
					   .epoch = c->batch->epoch};
	struct clew_trace_batch whole = b;

	c->from = to;
	if (!b.nr)
		return CLEW_OK;
	if (!ranges || !reach(ranges, c->batch->blocks, ((size_t)c->past + 1) >> 1))
		return CLEW_NO_MEMORY;
	whole.ranges = ranges->data;
	return give(t, &whole);
}

static enum clew_err take_event(struct cut *c, size_t i, uint32_t number)
{
	struct clew_trace *t = c->trace;
	struct trace_state *s = &t->states[c->unit];
	const struct flow_event *e = &c->batch->events[number];
	struct clew_trace_context next;
	enum clew_err err;

	if (!vec_reserve(&t->made.events, (size_t)number + 1))
		return CLEW_NO_MEMORY;
	t->made.events.data[number] = event_of(t, c->unit, e);
	if (!changes(t, c->unit, e, &next))
		return CLEW_OK;
	err = hand_out(c, i);
	keep_context(t, s, &next);
	return err ? err : t->who.is_failed || s->who.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

/** @return the next item from @p i on that is an event. */
static size_t pass_blocks(struct cut *c, size_t i)
{
	const uint32_t *items = c->batch->items;
	size_t nr = c->batch->nr;
	uint32_t past = c->past;

	for (; i < nr; i++) {
		if (items[i] < past) /* the usual case; an event never is */
			continue;
		if (items[i] & FLOW_ITEM_EVENT)
			break;
		past = items[i] + 1;
	}
	c->past = past;
	return i;
}

enum clew_err trace_cut_batch(struct clew_trace *t, size_t unit, const struct flow_batch *b)
{
	struct cut c = {.trace = t, .unit = unit, .batch = b};
	enum clew_err err = CLEW_OK;

	for (size_t i = pass_blocks(&c, 0); i < b->nr && !err; i = pass_blocks(&c, i + 1))
		err = take_event(&c, i, b->items[i] & ~(uint32_t)FLOW_ITEM_EVENT);
	return err ? err : hand_out(&c, b->nr);
}

enum clew_err trace_take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct clew_trace *t = ctx;

	t->made.partial.nr = 0;
	return vec_reserve(&t->made.partial, b->nr) ? trace_cut_batch(t, unit, b) : CLEW_NO_MEMORY;
}
