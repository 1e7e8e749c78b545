/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

/* What the decoder of one unit reports: instructions that ran, what is unknown, and errors. */

/* As perf numbers what can go wrong with a trace (tools/perf/util/intel-pt-decoder). */
enum {
	ERROR_BAD_PACKET = 3,
	ERROR_NO_CODE = 5,
	ERROR_BAD_IMAGE = 6,
	ERROR_OVERFLOW = 7,
	ERROR_LOST = 8,
	ERROR_UNKNOWN = 9,
};

/** Can the trace's timestamps measure a period? Decided before the first one: counts begin there.
 */
static bool has_clock(const struct trace_events *e, size_t unit)
{
	const struct itrace_opts *o = &e->opts.itrace;
	struct clew_perf_ns time;

	if (!e->trace->units[unit].has_timestamps)
		return false;
	return o->unit == ITRACE_TICKS || trace_events_time(e, unit, (struct clew_ticks){1}, &time);
}

enum clew_err trace_synth_init(struct trace_synth *s, struct trace_events *e, size_t unit)
{
	const struct itrace_opts *o = &e->opts.itrace;

	*s = (struct trace_synth){
		.events = e,
		.unit = &e->trace->units[unit],
		.index = unit,
		.last.block = TRACE_NO_BLOCK,
	};
	if (s->unit->decoder)
		s->key.context.arch = s->unit->decoder->arch;
	if (s->unit->decoder)
		flow_code_init(&s->code, s->unit->code, s->unit->decoder->insns, false);
	s->is_by_count = o->unit == ITRACE_INSNS || o->is_timeless || !has_clock(e, unit);
	if (!branch_ring_init(&s->ring, o->last_branches ? o->max_branches : 0))
		return CLEW_NO_MEMORY;
	s->is_unseen = trace_runs_are_unseen(s);
	return CLEW_OK;
}

void trace_synth_done(struct trace_synth *s)
{
	mem_free(s->ops_memo);
	mem_free(s->ring.all);
	vec_done(&s->locs);
	vec_done(&s->runs);
}

/* --- what the decoder reports --- */

static void fail(struct trace_synth *s, uint32_t code, const char *words, const char *why)
{
	const struct trace_error error = {.code = code, .words = words, .why = why};

	trace_exec_who(s);
	trace_emit_error(s, &error);
}

static void fail_with(struct trace_synth *s, uint32_t code, const char *words, uint64_t ip)
{
	const struct trace_error error = {.code = code, .words = words, .ip = ip};

	trace_exec_who(s);
	trace_emit_error(s, &error);
}

/** Of x86 perf reports a binary that it cannot read once, and each place where none is known. */
static bool is_known_gap(struct trace_synth *s, const struct flow_event *e)
{
	struct trace_events *t = s->events;
	const struct ana_loc *loc =
		trace_synth_is_x86(s) ? trace_locate(t, e->space, e->address) : NULL;
	uint64_t key = loc ? (uintptr_t)loc->dso : 0;

	if (!key)
		return false;
	if (map_u64_get(&t->unreadable, key))
		return true;
	if (!map_u64_put(&t->unreadable, key, 0))
		t->err = CLEW_NO_MEMORY;
	return false;
}

static void fail_at(struct trace_synth *s, const struct flow_event *e)
{
	const struct code_source *code = s->unit->code;
	struct trace_error error = {
		.code = ERROR_NO_CODE,
		.words = "Failed to get instruction",
		.ip = e->address,
	};

	trace_exec_who(s);
	if (!trace_emit_keeps_error(s) || is_known_gap(s, e))
		return;
	if (code->why)
		error.why = code->why(code->ctx, e->space, e->address);
	trace_emit_error(s, &error);
}

static struct trace_place at_range(const struct flow_event *e)
{
	return (struct trace_place){e->address, e->space, TRACE_NO_BLOCK, e->isa};
}

/** Of the first event that comes to @p n. */
static void put_cbr(struct trace_synth *s, const struct trace_place *n, uint64_t ip)
{
	if (!s->has_arrived)
		trace_exec_arrive(s, n);
	s->has_arrived = true;
	trace_notes_put_cbr(s, ip);
}

static void take_block(struct trace_synth *s, const struct flow_block *b, uint32_t number,
		       bool is_e)
{
	const struct trace_place n = trace_at_block(b, number);
	const struct last_insn last = trace_last_of_block(b, number, is_e);

	if (s->new_cbr)
		put_cbr(s, &n, last.ip);
	trace_exec_run(s, &n, &last, b->nr_insns);
}

/** Its last instruction is of no branch that was taken. */
static void take_range(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place n = at_range(e);
	struct last_insn last = {
		.end = e->end,
		.start = n.ip,
		.space = e->space,
		.block = TRACE_NO_BLOCK,
		.isa = e->isa,
		.kind = INSN_PLAIN,
	};

	if (!e->count)
		return;
	last.ip = trace_exec_insn_at(s, &n, e->count - 1);
	if (s->new_cbr)
		put_cbr(s, &n, last.ip);
	trace_exec_run(s, &n, &last, e->count);
}

/** Execution had come to where an interrupt came, if @p is_known, even if there is no code. */
static bool is_known_place(struct trace_synth *s, bool is_known)
{
	if (is_known && s->before != BEFORE_RAN) {
		s->before = BEFORE_RAN;
		s->last.is_taken = false;
	}
	return s->before == BEFORE_RAN;
}

static void take_exception(struct trace_synth *s, const struct flow_event *e)
{
	struct trace_place n = {e->address, s->space, TRACE_NO_BLOCK, s->last.isa};

	if (trace_synth_is_x86(
		    s)) { /* the trace says where it came, and not only what ran before */
		if (!is_known_place(s, e->has_end))
			return;
		trace_exec_interrupt(s, &n,
				     s->has_abort ? ANA_FLOW_BRANCH | ANA_FLOW_TX_ABORT
						  : trace_exec_exception(s, FLOW_CAUSE_ASYNC));
		s->is_in_tx &= !s->has_abort;
		s->has_abort = false;
		return;
	}
	if (s->before != BEFORE_RAN)
		return;
	if (s->last.is_taken) { /* the target of the branch did not run any more */
		trace_exec_branch(s, &n);
		s->has_then = false;
		s->last.ip = s->last.end = n.ip;
		s->last.space = n.space;
		s->last.block = TRACE_NO_BLOCK;
	}
	s->last.exception = trace_exec_exception(s, (enum flow_cause)e->cause);
	s->last.end = e->address;
	s->last.is_taken = true;
}

/** Unreadable code at the event's address: how execution came there is known. */
static void take_no_code(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place n = {e->address, e->space, TRACE_NO_BLOCK, s->last.isa};

	if (s->before == BEFORE_RAN && s->last.is_taken) {
		trace_exec_sample_rest(s);
		trace_exec_branch(s, &n);
		s->before = BEFORE_GAP;
	}
	if (trace_synth_is_x86(s)) /* the trace does not end there: only what is known of it does */
		s->before = BEFORE_GAP;
	trace_exec_end(s);
	s->before = BEFORE_NO_CODE;
	fail_at(s, e);
}

/** Branches in unknown code; after unreadable code that was reported already. */
static void take_dropped(struct trace_synth *s, const struct flow_event *e)
{
	s->events->summary.nr_dropped += e->value;
	if (s->before == BEFORE_NO_CODE)
		return;
	trace_exec_end(s);
	fail(s, ERROR_LOST, "Lost trace data", "branches came before an address");
	trace_exec_forget_calls(s);
}

static bool is_muted(const struct trace_synth *s, char flag)
{
	return s->events->opts.itrace.errors_minus >> (flag - 'a') & 1;
}

static void take_no_sync(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place n = {e->address, s->space, TRACE_NO_BLOCK, s->last.isa};

	if (e->is_target)
		trace_exec_stop_at(s, &n);
	trace_exec_end(s);
	s->pebs = (struct trace_pebs){0};
	flow_key_take_event(&s->key, e);
	s->has_now = false;
	if (e->reason != FLOW_NO_SYNC_INIT)
		trace_exec_forget_calls(s);
	switch ((enum flow_no_sync)e->reason) {
	case FLOW_NO_SYNC_INIT:
	case FLOW_NO_SYNC_RESET:
	case NR_FLOW_NO_SYNCS:
		break;
	case FLOW_NO_SYNC_OVERFLOW:
		if (!is_muted(s, 'o'))
			fail_with(s, ERROR_OVERFLOW, "Overflow packet",
				  e->is_target ? e->address : 0);
		break;
	case FLOW_NO_SYNC_DISCARD:
		if (!is_muted(s, 'l'))
			fail(s, ERROR_LOST, "Lost trace data", NULL);
		break;
	case FLOW_NO_SYNC_BAD_PACKET:
		fail(s, ERROR_BAD_PACKET, "Bad packet", e->what);
		break;
	case FLOW_NO_SYNC_BAD_IMAGE:
		fail(s, ERROR_BAD_IMAGE, "Trace doesn't match instruction", e->what);
		break;
	}
}

static void take_context(struct trace_synth *s, const struct flow_event *e)
{
	trace_exec_keep_who(s);
	flow_key_take_event(&s->key, e);
	s->space = e->space;
}

static void take_timestamp(struct trace_synth *s, const struct flow_event *e)
{
	if (!e->ticks.ticks)
		return;
	trace_exec_keep_who(s);
	flow_key_take_event(&s->key, e);
	s->has_new_time = s->events->tracing != NULL;
}

static void take_cycles(struct trace_synth *s, const struct flow_event *e)
{
	if (!e->has_count)
		return;
	s->nr_cycles += e->count;
	s->branch_cycles += e->count;
	s->cycles_until = s->nr_insns;
	s->has_ipc = e->is_target || s->events->opts.itrace.is_rough;
}

/** Code that ran unseen: it counts for periods, and none of it can be a sample. */
static void take_no_path(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place n = {e->address, e->space, TRACE_NO_BLOCK, e->isa};

	trace_exec_arrive(s, &n);
	s->nr_insns += e->has_count ? e->count : 0;
	if (s->is_by_count)
		s->sampled_at =
			s->nr_insns - (s->nr_insns - s->sampled_at) % s->events->opts.itrace.period;
	s->before = BEFORE_NOTHING;
	s->has_then = false;
	trace_exec_forget_calls(s);
}

/** Where the trace says where it begins, its first line is there, whatever runs. */
static void take_trace_on(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place n = at_range(e);

	trace_exec_end(s);
	flow_key_take_event(&s->key, e);
	s->has_now = false;
	if (e->is_target)
		trace_exec_begin(s, &n);
}

static void take_trace_off(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place to = {e->address, s->space, TRACE_NO_BLOCK, s->last.isa};
	const struct trace_place from = {e->end, s->space, TRACE_NO_BLOCK, s->last.isa};

	is_known_place(s, e->has_end);
	if (e->cause == FLOW_CAUSE_ASYNC)
		trace_exec_interrupt(s, &from, trace_exec_off(s, e->is_target));
	else if (s->has_points && e->is_target)
		trace_points_end(s, &to);
	trace_exec_leave(s, e->is_target ? &to : NULL);
	s->is_in_tx &= !s->has_abort;
	s->has_abort = false;
}

static void take_transaction(struct trace_synth *s, const struct flow_event *e)
{
	s->has_abort = trace_synth_is_x86(s) && e->number == FLOW_TRANS_FAILED;
	if (!s->has_abort) { /* else until the exception that follows */
		bool was_in_tx = s->is_in_tx;

		s->is_in_tx = e->number == FLOW_TRANS_START || e->number == FLOW_TRANS_INIT;
		if (s->is_in_tx && !was_in_tx)
			trace_exec_keep_calls(s);
	}
	if (s->events->transactions)
		trace_notes_transaction(s, e);
}

/** Is it written only while trace is on, at the time that was written before it? */
static bool is_payload(const struct flow_event *e)
{
	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_NOTE:
	case FLOW_EV_NO_PATH:
	case FLOW_EV_NACC:
	case FLOW_EV_NO_TARGET:
	case FLOW_EV_DROPPED:
	case FLOW_EV_EXCEPTION:
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_EVENT:
	case FLOW_EV_INSTRUMENTATION:
	case FLOW_EV_TRANSACTION:
		return true;
	case FLOW_EV_TRACE_ON:
		return e->is_target;
	case FLOW_EV_RANGE: /* it runs */
	case FLOW_EV_NO_SYNC:
	case FLOW_EV_TRACE_OFF:
	case FLOW_EV_PE_RESET:
	case FLOW_EV_CONTEXT:
	case FLOW_EV_TIMESTAMP:
	case FLOW_EV_CYCLES:
	case FLOW_EV_BOUND:
	case FLOW_EV_SWITCH:
	case FLOW_EV_TS_MARKER:
	case FLOW_EV_UNSUPPORTED:
	case FLOW_EV_END:
	case NR_FLOW_EVENTS:
		break;
	}
	return false;
}

static void take_event(struct trace_synth *s, const struct flow_event *e)
{
	if (is_payload(e))
		trace_exec_note_payload(s);
	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_NO_SYNC:
		take_no_sync(s, e);
		break;
	case FLOW_EV_TRACE_ON:
		take_trace_on(s, e);
		break;
	case FLOW_EV_TRACE_OFF:
		take_trace_off(s, e);
		break;
	case FLOW_EV_PE_RESET:
		trace_exec_end(s);
		flow_key_take_event(&s->key, e);
		s->has_now = false;
		break;
	case FLOW_EV_CONTEXT:
		take_context(s, e);
		break;
	case FLOW_EV_RANGE:
		take_range(s, e);
		break;
	case FLOW_EV_NO_PATH:
		take_no_path(s, e);
		break;
	case FLOW_EV_NACC:
		take_no_code(s, e);
		break;
	case FLOW_EV_NO_TARGET:
		trace_exec_end(s);
		fail(s, ERROR_LOST, "Lost trace data", "the target of a branch");
		trace_exec_forget_calls(s);
		break;
	case FLOW_EV_DROPPED:
		take_dropped(s, e);
		break;
	case FLOW_EV_EXCEPTION:
		take_exception(s, e);
		break;
	case FLOW_EV_TIMESTAMP:
		take_timestamp(s, e);
		break;
	case FLOW_EV_CYCLES:
		take_cycles(s, e);
		break;
	case FLOW_EV_BOUND:
	case FLOW_EV_SWITCH:
		trace_exec_keep_who(s);
		flow_key_take_event(&s->key, e);
		break;
	case FLOW_EV_TRANSACTION:
		take_transaction(s, e);
		break;
	case FLOW_EV_UNSUPPORTED:
		fail(s, ERROR_UNKNOWN, "A packet that is not decoded", NULL);
		break;
	case FLOW_EV_END:
		trace_exec_sample_rest(s);
		break;
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_EVENT:
	case FLOW_EV_TS_MARKER:
	case FLOW_EV_INSTRUMENTATION:
		break;
	case FLOW_EV_NOTE:
		trace_notes_take(s, e);
		break;
	case NR_FLOW_EVENTS:
		break;
	}
}

enum clew_err trace_synth_batch(struct trace_synth *s, const struct flow_batch *b)
{
	struct trace_events *e = s->events;

	if (!s->has_epoch || s->epoch != b->epoch) {
		s->locs.nr = s->runs.nr = 0;
		s->last.block = TRACE_NO_BLOCK;
	}
	s->epoch = b->epoch;
	s->has_epoch = true;
	for (size_t i = 0; i < b->nr && e->err == CLEW_OK;) {
		uint32_t item = b->items[i++];

		if (item & FLOW_ITEM_EVENT) {
			take_event(s, &b->events[item & ~FLOW_ITEM_EVENT]);
			continue;
		}
		if (s->is_unseen) {
			i = trace_runs_end(b, i);
			item = b->items[i - 1];
		}
		take_block(s, &b->blocks[item >> 1], item >> 1, item & 1);
		if (i < b->nr && trace_runs_may(s))
			i = trace_runs_take(s, b, i);
	}
	return e->err;
}

enum clew_err trace_synth_arrive(struct trace_synth *s, const struct flow_batch *b, uint32_t item)
{
	struct trace_place n;

	if (s->before != BEFORE_RAN) /* tracing begins there, and then */
		return s->events->err;
	n = item & FLOW_ITEM_EVENT ? at_range(&b->events[item & ~FLOW_ITEM_EVENT])
				   : trace_at_block(&b->blocks[item >> 1], item >> 1);
	trace_exec_arrive(s, &n);
	s->has_arrived = true;
	return s->events->err;
}
