/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"
#include "flow/pt/ipt_insns.h"
#include "flow/pt/ipt_parts.h"
#include "isa/x86/x86_branch.h"

enum { STACK_DEPTH = 64 };

/** What waits for other packets. */
void ipt_drop_open(struct ipt_flow *f)
{
	f->nr_waiting = f->nr_notes = f->nr_evds = f->nr_later = 0;
	f->has_cfe = f->is_mode_last = false;
	f->next = (struct ipt_context){0};
	f->held = (struct ipt_place){0};
	f->has_event = f->is_abort = false;
	f->is_in_transaction = false;
}

static void lose(struct flow *flow, enum flow_no_sync reason, const char *what)
{
	struct ipt_flow *f = ipt_flow_of(flow);

	if (f->sync == IPT_WAIT_PSB)
		return;
	flow->first = flow->first ? flow->first : FLOW_FIRST_LOSS;
	f->sync = IPT_WAIT_PSB;
	f->power = IPT_UNKNOWN;
	ipt_drop_open(f);
	flow_put_dropped(flow);
	flow_take_back_edge(flow);
	flow_forget(flow);
	f->packets.is_synced = false;
	f->packets.item_bytes = 0;
	ipt_clock_forget(&f->clock);
	flow_put_no_sync(flow, reason, what);
}

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

/** Where tracing begins, or at a PSB: in a transaction, or not. */
static void put_transaction(struct ipt_flow *f)
{
	const struct flow_event e = {.kind = FLOW_EV_TRANSACTION,
				     .number = f->is_in_transaction ? FLOW_TRANS_INIT
								    : FLOW_TRANS_COMMITTED};

	if (f->is_in_transaction != f->was_in_transaction)
		flow_put_event(&f->flow, &e);
	f->was_in_transaction = f->is_in_transaction;
}

/** Execution is at @p ip, and traced from there on. */
static void begin_at(struct ipt_flow *f, uint64_t ip)
{
	flow_put_dropped(&f->flow);
	f->flow.from = FLOW_NO_BLOCK;
	ipt_go_to(f, ip);
	ipt_put_psb(f);
	put_transaction(f);
	ipt_put_cycles(f, true); /* before it */
	put_trace_on(f, ip);
	ipt_put_point(f, ip, FLOW_POINT_HERE);
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
	if (cause == FLOW_CAUSE_ASYNC)
		ipt_put_end_point(f, has_address);
	ipt_put_cycles(f, true);
	f->power = IPT_OFF;
	ipt_drop_open(f);
	f->flow.stack_nr = 0;
	flow_put_event(&f->flow, &e);
	flow_lose_place(&f->flow);
	f->flow.from = FLOW_NO_BLOCK;
}

/* --- places that the next packet decides on --- */

static void put_status_if(struct ipt_flow *f, const struct ipt_place *place)
{
	f->has_if = false; /* so that it is said again */
	if (place->context.has_mode)
		ipt_put_if(f, place->context.is_if, FLOW_IF_STATUS, FLOW_NO_ADDRESS);
}

/** At the FUP of a PSB+, as far as execution has come. */
static void continue_at(struct ipt_flow *f, const struct ipt_place *place)
{
	f->next = place->context;
	put_status_if(f, place);
	f->flow.needs_context = true; /* so that it is said again, as where a part begins */
	ipt_go_to(f, place->ip);
	f->psb_ip = place->ip;
	ipt_put_psb(f);
	put_transaction(f);
	ipt_put_point(f, place->ip, FLOW_POINT_HERE);
}

/** @p kind comes next. */
static bool settle(struct ipt_flow *f, enum ipt_kind kind)
{
	const struct ipt_place place = f->held;

	f->held.is_set = false;
	f->psb_ip = (f->power == IPT_UNKNOWN && f->detail != FLOW_SYNCS) || kind != IPT_TIP_PGE
			  ? place.ip
			  : FLOW_NO_ADDRESS;
	if (kind == IPT_TIP_PGE || (place.is_overflow && kind == IPT_TRACESTOP)) {
		f->next = place.context; /* execution was not: tracing was off */
		f->next.has_mode = false;
		return true;
	}
	if (f->power == IPT_ON || f->detail == FLOW_SYNCS) {
		continue_at(f, &place);
		return true;
	}
	put_status_if(f, &place);
	f->next = place.context;
	begin_at(f, place.ip);
	return true;
}

/** Those that say nothing of where execution is. */
static bool is_transparent(enum ipt_kind kind)
{
	switch ((unsigned int)kind) {
	case IPT_PAD:
	case IPT_MNT:
	case IPT_TSC:
	case IPT_TMA:
	case IPT_MTC:
	case IPT_CYC:
	case IPT_CBR:
	case IPT_MODE_EXEC:
	case IPT_MODE_TSX:
	case IPT_PIP:
	case IPT_VMCS:
	case IPT_PWRE:
	case IPT_PWRX:
	case IPT_EXSTOP:
	case IPT_MWAIT:
	case IPT_CFE:
	case IPT_EVD:
	case IPT_INCOMPLETE:
	case IPT_NOT_SYNCED:
		return true;
	default:
		return false;
	}
}

/** Threads change, and code, too. */
static void put_time(struct ipt_flow *f)
{
	struct flow *flow = &f->flow;

	if (!f->has_new_time)
		return;
	f->has_new_time = false;
	flow->ticks.ticks = f->clock.ticks;
	flow->has_own_ticks = true;
	if (!flow->needs_context)
		flow_look_up_space(flow);
	flow_put_ticks(flow);
}

/* --- PSB+ --- */

static bool begin_psb(struct ipt_flow *f)
{
	if (f->nr_waiting || f->has_event)
		ipt_bad_trace(f, "a PSB, where an address is due");
	else if (f->sync == IPT_RUNNING && !flow_pop(&f->flow))
		f->sync = IPT_WAIT_PSB;
	f->packets.is_synced = true; /* by this one */
	f->flow.stack_nr = 0;
	f->nr_notes = 0;
	f->sync = IPT_IN_PSB;
	f->held = (struct ipt_place){0};
	ipt_put_psb(f);
	f->has_psb = true;
	f->psb_ip = FLOW_NO_ADDRESS;
	f->psb_offset = f->flow.offset;
	if (f->config->has_no_branches)
		f->power = IPT_ON;
	return !f->flow.err;
}

/** By @p kind: an overflow takes the rest with it. */
static void end_psb(struct ipt_flow *f, enum ipt_kind kind)
{
	bool was_on = f->power == IPT_ON;

	f->sync = IPT_RUNNING;
	if (f->held.is_set && was_on) { /* no TIP.PGE can follow */
		put_time(f);
		settle(f, IPT_PSBEND);
		return;
	}
	put_time(f);
	if (f->held.is_set)
		return;
	ipt_put_psb(f);
	if (was_on && (kind == IPT_OVF || f->config->has_no_branches))
		return;
	if (was_on)
		ipt_bad_trace(f, "tracing is off, and nothing ended it");
	f->sync = IPT_RUNNING;
	f->packets.is_synced = true;
	f->power = IPT_OFF;
	f->next = f->held.context;
}

static void take_mode(struct ipt_context *c, const struct ipt_packet *k)
{
	c->has_mode = true;
	c->bits = k->exec.cs_l ? 64 : k->exec.cs_d ? 32 : 16;
	c->is_if = k->exec.is_if;
}

static void take_pip(struct ipt_context *c, const struct ipt_packet *k)
{
	c->has_pip = true;
	c->cr3 = k->pip.cr3;
	c->is_guest = k->pip.is_non_root;
}

static void take_vmcs(struct ipt_context *c, const struct ipt_packet *k)
{
	c->has_vmcs = true;
	c->vmcs = k->vmcs;
}

/** Execution comes there first. If it cannot, trace was lost, and resumes there. */
static void take_psb_place(struct ipt_flow *f, const struct ipt_packet *k)
{
	struct ipt_place place = f->held;

	place.is_set = k->ip_form != IPT_IP_NONE;
	place.ip = k->ip;
	if (f->power == IPT_ON && place.is_set && !ipt_run_to(f, k->ip) && !f->flow.err) {
		f->sync = IPT_IN_PSB;
		f->packets.is_synced = true;
	}
	f->held = place;
}

/** @return false: it is not one of PSB+. */
static bool take_psb_packet(struct ipt_flow *f, const struct ipt_packet *k)
{
	switch (k->kind) {
	case IPT_PSBEND:
		end_psb(f, IPT_PSBEND);
		return true;
	case IPT_FUP:
		take_psb_place(f, k);
		return true;
	case IPT_MODE_EXEC:
		take_mode(&f->held.context, k);
		return true;
	case IPT_MODE_TSX:
		f->is_in_transaction = k->tsx.is_in;
		return true;
	case IPT_PIP:
		take_pip(&f->held.context, k);
		return true;
	case IPT_VMCS:
		take_vmcs(&f->held.context, k);
		return true;
	case IPT_CBR:
		f->has_cbr = true;
		f->cbr = k->cbr;
		return true;
	case IPT_TSC:
	case IPT_TMA:
	case IPT_MTC:
	case IPT_CYC:
	case IPT_PAD:
	case IPT_MNT:
	case IPT_INCOMPLETE: /* the trace ends here */
		return true;
	default:
		end_psb(f, (enum ipt_kind)k->kind);
		return false;
	}
}

/* --- context packets --- */

/** PIP, VMCS: with the instruction that they are of, if the trace says nothing at it. */
static bool bind_context(struct ipt_flow *f, const struct ipt_packet *k)
{
	struct ipt_context c = {0};
	bool is_pip = k->kind == IPT_PIP;
	uint64_t ip;

	if (is_pip)
		take_pip(&c, k);
	else
		take_vmcs(&c, k);
	if (f->power == IPT_ON && !f->has_event && !f->nr_waiting) {
		if (!ipt_run_special(f, is_pip ? X86_MOV_CR3 : X86_VMPTRLD, &ip))
			return false;
		if (ip != FLOW_NO_ADDRESS) {
			ipt_change_context(f, &c);
			return true;
		}
	}
	if (is_pip)
		take_pip(&f->next, k);
	else
		take_vmcs(&f->next, k);
	return true;
}

/* --- addresses --- */

/** There is no code where execution is. */
static bool is_blind(const struct ipt_flow *f)
{
	return f->flow.needs_address && !f->flow.is_popping;
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

static bool take_fup(struct ipt_flow *f, const struct ipt_packet *k)
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
		return f->config->errata & IPT_APL12 ? true : settle(f, IPT_FUP);
	}
	if (f->has_event)
		return ipt_bad_trace(f, "an event, and another one before it ended");
	if (k->ip_form == IPT_IP_NONE)
		return ipt_bad_trace(f, "an event without its address");
	if (f->is_mode_last && f->config->has_event_trace) { /* of interrupts alone */
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

static void put_exception(struct ipt_flow *f)
{
	const struct flow_event aborted = {.kind = FLOW_EV_TRANSACTION,
					   .number = FLOW_TRANS_FAILED};
	const struct flow_event e = {.kind = FLOW_EV_EXCEPTION,
				     .cause = FLOW_CAUSE_ASYNC,
				     .has_end = is_placed(f),
				     .address = f->event_ip};

	ipt_put_cfe(f, f->event_ip);
	ipt_put_event_point(f);
	if (f->is_abort)
		flow_put_event(&f->flow, &aborted);
	f->is_in_transaction &= !f->is_abort;
	f->was_in_transaction &= !f->is_abort;
	f->has_event = f->is_abort = false;
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

static bool take_tip(struct ipt_flow *f, const struct ipt_packet *k)
{
	if (f->power != IPT_ON) {
		if (f->power == IPT_OFF)
			return ipt_bad_trace(f, "a branch, while tracing is off");
		if (f->config->errata & IPT_SKD010 && !f->lost_bits && !k->is_doubtful)
			begin_at(f, k->ip); /* it has no FUP */
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

static bool take_pgd(struct ipt_flow *f, const struct ipt_packet *k)
{
	uint64_t to = k->ip_form == IPT_IP_NONE ? FLOW_NO_ADDRESS : k->ip;

	if (f->power != IPT_ON) { /* after an overflow: APL11 */
		f->power = IPT_OFF;
		ipt_drop_open(f);
		return true;
	}
	if (f->has_event && f->config->errata & IPT_SKD022 && ipt_is_at_vm_entry(f))
		f->has_event = false; /* it ran, and has a FUP too many */
	if (f->has_event) {
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

static bool take_pge(struct ipt_flow *f, const struct ipt_packet *k)
{
	f->nr_waiting = 0;
	if (k->ip_form == IPT_IP_NONE)
		return ipt_bad_trace(f, "tracing begins, without an address");
	if (f->has_event)
		put_exception(f);
	else if (f->power == IPT_ON && !f->config->has_no_branches)
		return ipt_bad_trace(f, "tracing begins, and did not end");
	f->flow.stack_nr = 0;
	begin_at(f, k->ip);
	return true;
}

/** What ran since the last answer is unknown; the next FUP or TIP.PGE says where execution is. */
static bool take_overflow(struct ipt_flow *f)
{
	struct flow *flow = &f->flow;

	if (f->sync == IPT_RUNNING && !flow_pop(flow))
		return false;
	flow->first = flow->first ? flow->first : FLOW_FIRST_LOSS;
	ipt_drop_open(f);
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

/** That of a PSB+ holds from its FUP on. */
static void take_time(struct ipt_flow *f, const struct ipt_packet *k)
{
	f->has_new_time |= ipt_clock_take(&f->clock, k);
	if (k->kind == IPT_CYC && f->opts.flow.has_cycles) {
		f->has_cycles = true;
		f->nr_cycles += f->power == IPT_ON ? k->cyc : 0;
	}
	if (f->sync == IPT_RUNNING)
		put_time(f);
}

/* --- packets --- */

static bool take_running(struct ipt_flow *f, const struct ipt_packet *k)
{
	bool is_well;

	switch (k->kind) {
	case IPT_TNT:
		if (f->power == IPT_OFF)
			return ipt_bad_trace(f, "branches, while tracing is off");
		if (f->has_event)
			return ipt_bad_trace(f, "branches, where an event's target is due");
		f->lost_bits |= f->power == IPT_UNKNOWN;
		return f->power == IPT_ON ? ipt_add_bits(f, k->tnt, k->nr_tnt) : true;
	case IPT_TIP:
		return take_tip(f, k);
	case IPT_TIP_PGE:
		return take_pge(f, k);
	case IPT_TIP_PGD:
		return take_pgd(f, k);
	case IPT_FUP:
		return take_fup(f, k);
	case IPT_OVF:
		return take_overflow(f);
	case IPT_MODE_EXEC:
		take_mode(&f->next, k);
		return true;
	case IPT_PIP:
	case IPT_VMCS:
		return bind_context(f, k);
	case IPT_BAD:
		return ipt_bad_trace(f, "reserved or malformed packet");
	default:
		return ipt_take_note(f, k, &is_well) ? is_well : true;
	}
}

/** Is what it means decided by whether execution is at the place that is held? If so, time after it
 * waits, too. */
static bool waits(const struct ipt_flow *f, enum ipt_kind kind)
{
	if (!f->held.is_set || f->sync != IPT_RUNNING || f->nr_later == IPT_MAX_LATER)
		return false;
	return kind == IPT_MODE_EXEC || kind == IPT_MODE_TSX || kind == IPT_PIP ||
	       kind == IPT_VMCS || kind == IPT_EXSTOP || kind == IPT_CFE ||
	       (f->nr_later && is_transparent(kind));
}

/** @p kind decides: with what waited for that. @return false: they, or the place, cannot be. */
static bool decide(struct ipt_flow *f, enum ipt_kind kind)
{
	uint64_t offset = f->flow.offset;
	unsigned int nr = f->nr_later;
	bool is_ok = settle(f, kind);

	f->nr_later = 0;
	for (unsigned int i = 0; i < nr && is_ok && f->detail != FLOW_SYNCS; i++) {
		f->flow.offset = f->later[i].offset;
		take_time(f, &f->later[i]);
		is_ok = take_running(f, &f->later[i]);
	}
	f->flow.offset = offset;
	return is_ok;
}

static bool is_decided(struct ipt_flow *f, enum ipt_kind kind)
{
	return !f->held.is_set || f->sync != IPT_RUNNING || is_transparent(kind) ||
	       decide(f, kind) || kind == IPT_PSB;
}

static void take_packet(struct ipt_flow *f, const struct ipt_packet *k)
{
	enum ipt_kind kind = (enum ipt_kind)k->kind;

	if (waits(f, kind)) {
		f->later[f->nr_later++] = *k;
		return;
	}
	if (!is_decided(f, kind) || ipt_skips_to_psb(f, kind))
		return;
	if (f->sync != IPT_WAIT_PSB)
		take_time(f, k);
	if (f->sync == IPT_WAIT_PSB && kind != IPT_PSB)
		return;
	if (f->sync == IPT_IN_PSB && take_psb_packet(f, k))
		return;
	if (!is_decided(f, kind))
		return;
	if (kind == IPT_PSB)
		begin_psb(f);
	else if (f->sync == IPT_RUNNING && !ipt_skips_to_psb(f, kind))
		take_running(f, k);
	f->is_mode_last = kind == IPT_MODE_EXEC;
}

static void feed(struct flow *flow, struct bytes in)
{
	struct ipt_flow *f = ipt_flow_of(flow);
	struct ipt_packet k;

	ipt_skip_pads(f, &in);
	if (!f->opts.goes_plain)
		ipt_fast_decode(f, &in);
	while (!flow->err && !ipt_packets_next(&f->packets, &in, &k)) {
		flow->offset = k.offset;
		flow->totals.nr_packets += k.kind > IPT_NOT_SYNCED;
		take_packet(f, &k);
		if (flow->nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS)
			flow_deliver(flow);
		flow_limit_cache(flow);
		ipt_skip_pads(f, &in);
		if (!f->opts.goes_plain)
			ipt_fast_decode(f, &in);
	}
}

static void end_input(struct flow *flow)
{
	struct ipt_flow *f = ipt_flow_of(flow);
	struct ipt_packet k;

	while (!flow->err && !ipt_packets_finish(&f->packets, &k)) {
		flow->offset = k.offset;
		take_packet(f, &k);
	}
	if (f->sync == IPT_RUNNING)
		flow_pop(flow);
	ipt_put_psb(f);
}

static void restart(struct flow *flow)
{
	struct ipt_flow *f = ipt_flow_of(flow);

	ipt_packets_reset(&f->packets, flow->offset);
	if (f->sync == IPT_RUNNING)
		lose(flow, FLOW_NO_SYNC_RESET, NULL);
	f->sync = IPT_WAIT_PSB;
	ipt_drop_open(f);
}

static void reach(struct flow *flow, uint64_t address)
{
	ipt_run_to(ipt_flow_of(flow), address);
}

static bool init(struct flow *flow, const void *own)
{
	struct ipt_flow *f = ipt_flow_of(flow);
	struct flow_rules *r = &flow->rules;

	f->opts = *(const struct ipt_flow_opts *)own;
	f->config = f->opts.config;
	f->detail = f->opts.flow.detail;
	ipt_packets_init(&f->packets, f->config);
	ipt_clock_init(&f->clock, f->config);
	ipt_fast_init(f);
	flow->context = (struct code_context){.arch = CODE_X86};
	flow->context.x86.bits = 64;
	r->insns = &ipt_insns;
	r->has_return_stack = true;
	r->stack_depth = STACK_DEPTH;
	r->silent_kinds = 1 << INSN_BRANCH | 1 << INSN_INDIRECT | 1 << INSN_FAR |
			  1 << INSN_SPECIAL | 1 << INSN_TSTART;
	return true;
}

static void done(struct flow *flow)
{
	(void)flow;
}

static const struct flow_front front = {
	.flow_bytes = sizeof(struct ipt_flow),
	.init = init,
	.done = done,
	.feed = feed,
	.end_input = end_input,
	.restart = restart,
	.lose = lose,
	.find_cut = ipt_find_cut,
	.place_of_cut = ipt_place_of_cut,
	.begin_part = ipt_begin_part,
	.reach = reach,
	.assume = ipt_assume,
	.is_as_assumed = ipt_is_as_assumed,
	.nr_waiting = ipt_nr_waiting,
	.perform_rest = ipt_perform_rest,
	.is_between = ipt_is_between,
	.state_bytes = sizeof(struct ipt_state),
	.save = ipt_save,
	.restore = ipt_restore,
	.state_done = ipt_state_done,
};

struct flow *ipt_flow_new(const struct ipt_flow_opts *opts)
{
	struct ipt_flow_opts o = *opts;

	o.flow.detail = (uint8_t)ipt_detail_of(o.config, o.flow.detail);
	/* Nothing of places takes long, and cycles of a part belong to a branch before it. */
	if (o.flow.detail != FLOW_ALL || o.flow.has_cycles)
		o.flow.nr_threads = 1;
	return flow_new(&front, &o.flow, &o);
}
