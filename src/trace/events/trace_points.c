/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"
#include "trace/events/trace_events_impl.h"

/* Places that Intel PT names, where code is not followed: samples of instructions, each of period
 * 1; branches only where the trace has both ends. */

static uint32_t flow_of(struct trace_synth *s, const struct flow_event *e)
{
	switch ((enum flow_point)e->count) {
	case FLOW_POINT_HERE:
		break;
	case FLOW_POINT_INTERRUPT:
		return trace_exec_exception(s, FLOW_CAUSE_ASYNC) | trace_exec_state(s);
	case FLOW_POINT_ABORT:
		return ANA_FLOW_BRANCH | ANA_FLOW_TX_ABORT;
	case FLOW_POINT_END:
		return trace_exec_off(s, e->has_count) | ANA_FLOW_TRACE_END | trace_exec_state(s);
	}
	return trace_exec_state(s);
}

static void sample(struct trace_synth *s, const struct flow_event *e)
{
	const struct synth_fields t = {
		.ip = e->address,
		.loc = trace_locate(s->events, e->space, e->address),
		.who = trace_exec_who(s),
		.flow = flow_of(s, e),
		.space = e->space,
		.isa = e->isa,
		.period = 1,
	};

	trace_emit_insn(s, &t);
}

void trace_points_take(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place here = {e->address, e->space, TRACE_NO_BLOCK, e->isa};

	s->has_points = true;
	trace_exec_pass(s, &here);
	trace_notes_put_cbr(s, s->last.ip);
	s->is_in_tx = e->value;
	if (s->events->insns)
		sample(s, e);
	s->last = (struct last_insn){.ip = here.ip,
				     .end = here.ip,
				     .space = here.space,
				     .block = TRACE_NO_BLOCK,
				     .isa = here.isa};
	s->before = BEFORE_GAP;
	s->has_then = false;
	s->is_reported_now = true;
}

void trace_points_end(struct trace_synth *s, const struct trace_place *to)
{
	struct synth_fields t = {
		.addr = to->ip,
		.who = trace_exec_who(s),
		.flow = ANA_FLOW_BRANCH | ANA_FLOW_TRACE_END | trace_exec_state(s),
		.period = 1,
	};

	if (!trace_exec_is_wanted(s, t.flow))
		return;
	if (s->events->opts.wants_addr)
		t.to = trace_locate(s->events, to->space, to->ip);
	trace_emit_branch(s, &t);
}
