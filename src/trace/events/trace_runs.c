/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_events_impl.h"
#include "trace/events/trace_steps.h"

/*
 * Blocks that ran one after the other, with nothing reported between them. What a block can make
 * events of is found out once; most of them make none, and only their instructions count.
 */

bool trace_runs_are_unseen(const struct trace_synth *s)
{
	const struct trace_events *e = s->events;

	return !e->branches && !e->insns && !trace_exec_keeps_calls(s) && !s->ring.max &&
	       !e->shows_notes && !e->pebs;
}

bool trace_runs_may(const struct trace_synth *s)
{
	const struct trace_events *e = s->events;

	return (!e->insns || (e->steps && s->sampled_at == s->nr_insns)) &&
	       s->before == BEFORE_RAN && !s->last.exception && !s->has_arrived && !s->new_cbr &&
	       !trace_exec_state(s);
}

/** Can its branch change the calls? */
static bool may_leave(const struct trace_synth *s, const struct last_insn *l, uint32_t flow)
{
	return flow & (ANA_FLOW_CALL | ANA_FLOW_RETURN) ||
	       (s->events->opts.itrace.chains &&
		(l->kind == INSN_INDIRECT || l->kind == INSN_BRANCH));
}

static struct trace_run_block block_of(const struct trace_synth *s, const struct flow_block *b,
				       uint32_t number)
{
	const struct last_insn last = trace_last_of_block(b, number, true);
	uint32_t flow = trace_exec_flow(&last);
	bool is_call = trace_exec_keeps_calls(s) && may_leave(s, &last, flow);

	return (struct trace_run_block){
		.nr_insns = b->nr_insns,
		.branches = flow && (is_call || s->ring.max || trace_exec_is_wanted(s, flow)),
		.reports = !trace_exec_is_silent(&last),
		.is_known = true,
	};
}

const struct trace_run_block *trace_runs_add(struct trace_synth *s, const struct flow_batch *b,
					     uint32_t number)
{
	if (!vec_reach(&s->runs, (size_t)number + 1)) {
		s->events->err = CLEW_NO_MEMORY;
		return NULL;
	}
	if (!s->runs.data[number].is_known)
		s->runs.data[number] = block_of(s, &b->blocks[number], number);
	return &s->runs.data[number];
}

void trace_runs_set_last(struct trace_synth *s, const struct flow_batch *b, uint32_t item)
{
	s->last = trace_last_of_block(&b->blocks[item >> 1], item >> 1, item & 1);
	s->last.is_taken = item & 1 && trace_exec_flow(&s->last);
}

size_t trace_runs_end(const struct flow_batch *b, size_t i)
{
	enum { STEP = 16 };
	uint32_t any = 0;

	for (; b->nr - i >= STEP; i += STEP) {
		for (size_t k = 0; k < STEP; k++)
			any |= b->items[i + k];
		if (any & FLOW_ITEM_EVENT)
			break;
	}
	while (i < b->nr && !(b->items[i] & FLOW_ITEM_EVENT))
		i++;
	return i;
}

static size_t run_seen(struct trace_synth *s, const struct flow_batch *b, size_t i)
{
	uint32_t before = b->items[i - 1], item;
	const struct trace_run_block *r = trace_runs_get(s, b, before >> 1);
	bool branches = r && r->branches, reports = s->is_reported_now;
	uint64_t nr_insns = 0;

	for (; r && i < b->nr && !((item = b->items[i]) & FLOW_ITEM_EVENT); i++) {
		if (branches & before) {
			const struct trace_place n =
				trace_at_block(&b->blocks[item >> 1], item >> 1);

			trace_runs_set_last(s, b, before);
			s->is_reported_now = reports;
			s->nr_insns += nr_insns;
			nr_insns = 0;
			trace_exec_branch(s, &n);
		}
		r = s->events->err == CLEW_OK ? trace_runs_get(s, b, item >> 1) : NULL;
		if (!r)
			break;
		branches = r->branches;
		reports |= r->reports;
		nr_insns += r->nr_insns;
		before = item;
	}
	s->is_reported_now = reports;
	s->nr_insns += nr_insns;
	return i;
}

size_t trace_runs_take(struct trace_synth *s, const struct flow_batch *b, size_t i)
{
	size_t end = s->events->steps ? trace_steps_take(s, b, i) : run_seen(s, b, i);

	if (end > i)
		trace_runs_set_last(s, b, b->items[end - 1]);
	return end;
}
