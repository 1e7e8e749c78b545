/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"

/* Packets that say where execution is: TIP, FUP, TIP.PGE, TIP.PGD, OVF. */

static void put_trace_on(struct ipt_flow *f, uint64_t ip)
{
	const struct flow_event e = {.kind = FLOW_EV_TRACE_ON,
				     .is_overflow = f->was_overflow,
				     .is_target = true,
				     .isa = (uint8_t)f->flow.isa,
				     .space = f->flow.space,
				     .address = ip};

	f->power = IPT_ON;
	f->was_overflow = f->lost_bits = false;
	flow_put_event(&f->flow, &e);
}

void ipt_put_transaction(struct ipt_flow *f)
{
	const struct flow_event e = {.kind = FLOW_EV_TRANSACTION,
				     .number = f->is_in_transaction ? FLOW_TRANS_INIT
								    : FLOW_TRANS_COMMITTED};

	if (f->is_in_transaction != f->was_in_transaction)
		flow_put_event(&f->flow, &e);
	f->was_in_transaction = f->is_in_transaction;
}

void ipt_begin_at(struct ipt_flow *f, uint64_t ip)
{
	flow_put_dropped(&f->flow);
	f->flow.from = FLOW_NO_BLOCK;
	ipt_go_to(f, ip);
	ipt_put_psb(f);
	ipt_put_transaction(f);
	ipt_put_cycles(f, true); /* before it */
	put_trace_on(f, ip);
	ipt_put_point(f, ip, FLOW_POINT_HERE);
}

/** What waits for other packets, but for the context: its packets come with the branch that led
 * away, and are not sent again where tracing begins. */
static void drop_events(struct ipt_flow *f)
{
	const struct ipt_context next = f->next;

	ipt_drop_open(f);
	f->next = next;
}

/** Is it known that execution came to where the event is? */
static bool is_placed(const struct ipt_flow *f)
{
	return ipt_is_ready(f) || ipt_has_points(f);
}

void ipt_end_tracing(struct ipt_flow *f, enum flow_cause cause, uint64_t to)
{
	bool has_address = to != FLOW_NO_ADDRESS;
	const struct flow_event e = {.kind = FLOW_EV_TRACE_OFF,
				     .cause = (uint8_t)cause,
				     .is_target = has_address,
				     .address = has_address ? to : 0,
				     .has_end = cause == FLOW_CAUSE_ASYNC && is_placed(f),
				     .end = cause == FLOW_CAUSE_ASYNC ? f->event_ip : 0};

	flow_put_dropped(&f->flow);
	ipt_put_cfe(f, cause == FLOW_CAUSE_ASYNC ? f->event_ip : FLOW_NO_ADDRESS);
	ipt_put_waiting(f);
	if (cause == FLOW_CAUSE_ASYNC)
		ipt_put_end_point(f, has_address);
	ipt_put_cycles(f, true);
	f->power = IPT_OFF;
	drop_events(f);
	f->flow.stack_nr = 0;
	flow_put_event(&f->flow, &e);
	flow_lose_place(&f->flow);
	f->flow.from = FLOW_NO_BLOCK;
}

/** There is no code where execution is. */
static bool is_blind(const struct ipt_flow *f)
{
	return f->flow.needs_address && !f->flow.popping;
}

static bool is_whole(const struct ipt_packet *k)
{
	return k->ip_form == IPT_IP_SEXT48 || k->ip_form == IPT_IP_64;
}

/** Execution is at @p ip, and whether there is code is to be said. */
static bool look_at(struct ipt_flow *f, uint64_t ip)
{
	const struct flow_block *b;

	flow_put_dropped(&f->flow);
	ipt_go_to(f, ip);
	if (!flow_here(&f->flow))
		return false;
	b = &f->flow.blocks.all.data[f->flow.at];
	return b->bytes ? true : flow_step_broken(&f->flow, b);
}

/** Of some processors the target of the branch before an abort is wrong: it went to where the abort
 * came. @return as ipt_run_to() */
static bool correct_abort(struct ipt_flow *f, uint64_t ip)
{
	if (!flow_pop(&f->flow))
		return false;
	if (ipt_is_ready(f) && !ipt_may_reach(f, ip))
		ipt_correct_target(f, ip);
	return true;
}

/** MODE.Exec right before a FUP: only EFLAGS.IF changed. */
static bool is_of_interrupts(const struct ipt_flow *f)
{
	return f->is_mode_last && f->next.has_mode &&
	       (f->config->has_event_trace || f->next.bits == f->flow.context.x86.bits);
}

bool ipt_take_fup(struct ipt_flow *f, const struct ipt_packet *k)
{
	if (f->nr_waiting)
		return ipt_bad_trace(f, "an event, where an address is due");
	if (f->nr_notes && !f->nr_waiting)
		return ipt_put_notes(f, k->ip);
	if (f->config->has_no_branches) {
		ipt_put_point(f, k->ip, FLOW_POINT_HERE);
		return true;
	}
	if (f->power != IPT_ON) {
		if (f->power == IPT_OFF)
			return ipt_bad_trace(f, "an event, while tracing is off");
		f->held = (struct ipt_place){.is_set = true, .is_overflow = true, .ip = k->ip};
		f->held.context = f->next;
		return f->config->errata & IPT_APL12 ? true : ipt_settle(f, IPT_FUP);
	}
	if (f->has_event)
		return ipt_bad_trace(f, "an event, and another one before it ended");
	if (k->ip_form == IPT_IP_NONE)
		return ipt_bad_trace(f, "an event without its address");
	if (is_of_interrupts(f)) {
		f->next.has_mode = false;
		if (!ipt_run_to(f, k->ip))
			return false;
		ipt_put_if(f, f->next.is_if, FLOW_IF_HERE, k->ip);
		return true;
	}
	f->has_event = true;
	f->event_ip = k->ip;
	if (f->is_abort && f->config->errata & IPT_BDM64 && !correct_abort(f, k->ip))
		return false;
	return is_blind(f) && is_whole(k) && !ipt_has_points(f) ? look_at(f, k->ip)
								: ipt_run_to(f, k->ip);
}

/** If the event that is open is one. */
static void put_abort(struct ipt_flow *f)
{
	const struct flow_event aborted = {.kind = FLOW_EV_TRANSACTION,
					   .number = FLOW_TRANS_FAILED};

	if (!f->is_abort)
		return;
	flow_put_event(&f->flow, &aborted);
	f->is_abort = f->is_in_transaction = f->was_in_transaction = false;
}

static void put_exception(struct ipt_flow *f)
{
	const struct flow_event e = {.kind = FLOW_EV_EXCEPTION,
				     .cause = FLOW_CAUSE_ASYNC,
				     .has_end = is_placed(f),
				     .address = f->event_ip};

	ipt_put_cfe(f, f->event_ip);
	ipt_put_event_point(f);
	put_abort(f);
	f->has_event = false;
	f->flow.totals.nr_exceptions++;
	flow_put_event(&f->flow, &e);
	flow_lose_place(&f->flow);
	f->flow.from = FLOW_NO_BLOCK;
}

/** An address that is not whole leads to no code either: what is whole is reported again. */
static bool stays_blind(const struct ipt_flow *f, const struct ipt_packet *k)
{
	struct flow *flow = (struct flow *)&f->flow;
	const uint8_t *bytes;

	return is_blind(f) && !ipt_has_points(f) && !is_whole(k) &&
	       k->ip >> 63 == flow->context.x86.is_kernel &&
	       !flow_code_at(&flow->code, flow->space, k->ip, &bytes);
}

bool ipt_take_tip(struct ipt_flow *f, const struct ipt_packet *k)
{
	if (f->power != IPT_ON) {
		if (f->power == IPT_OFF)
			return ipt_bad_trace(f, "a branch, while tracing is off");
		if (f->config->errata & IPT_SKD010 && !f->lost_bits && !k->is_doubtful)
			ipt_begin_at(f, k->ip); /* it has no FUP */
		return true;
	}
	if (k->ip_form == IPT_IP_NONE)
		return ipt_bad_trace(f, "a branch without its address");
	if (stays_blind(f, k)) {
		f->has_event = f->is_abort = false;
		return ipt_run_bits(f);
	}
	flow_put_dropped(&f->flow);
	if (f->has_event)
		put_exception(f);
	else if (!flow_step_indirect(&f->flow))
		return false;
	ipt_put_cycles(f, true);
	ipt_go_to(f, k->ip);
	ipt_put_point(f, k->ip, FLOW_POINT_HERE);
	return ipt_run_bits(f);
}

bool ipt_take_pgd(struct ipt_flow *f, const struct ipt_packet *k)
{
	uint64_t to = k->ip_form == IPT_IP_NONE ? FLOW_NO_ADDRESS : k->ip;

	if (f->power != IPT_ON) { /* after an overflow: APL11 */
		f->power = IPT_OFF;
		drop_events(f);
		return true;
	}
	if (f->has_event && f->config->errata & IPT_SKD022 && ipt_is_at_vm_entry(f))
		f->has_event = false; /* it ran, and has a FUP too many */
	if (f->has_event) {
		put_abort(f);
		ipt_end_tracing(f, FLOW_CAUSE_ASYNC, to);
		return true;
	}
	if (!ipt_leave(f, to))
		return false;
	if (f->nr_waiting)
		return ipt_bad_trace(f, "tracing ends, and branches are left");
	ipt_end_tracing(f, FLOW_CAUSE_OTHER, to);
	return true;
}

bool ipt_take_pge(struct ipt_flow *f, const struct ipt_packet *k)
{
	f->nr_waiting = 0;
	if (k->ip_form == IPT_IP_NONE)
		return ipt_bad_trace(f, "tracing begins, without an address");
	if (f->has_event)
		put_exception(f);
	else if (f->power == IPT_ON && !f->config->has_no_branches)
		return ipt_bad_trace(f, "tracing begins, and did not end");
	f->flow.stack_nr = 0;
	ipt_begin_at(f, k->ip);
	return true;
}

bool ipt_take_overflow(struct ipt_flow *f)
{
	struct flow *flow = &f->flow;

	if (f->sync == IPT_RUNNING && !flow_pop(flow))
		return false;
	ipt_put_waiting(f);
	flow->first = flow->first ? flow->first : FLOW_FIRST_LOSS;
	drop_events(f);
	f->power = f->config->has_no_branches ? IPT_ON : IPT_UNKNOWN;
	f->was_overflow = true;
	f->lost_bits = false;
	flow_put_dropped(flow);
	if (ipt_has_points(f))
		ipt_put_lost_point(f);
	else
		flow_put_loss(flow, FLOW_NO_SYNC_OVERFLOW);
	flow_forget(flow);
	return !flow->err;
}
