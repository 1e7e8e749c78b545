/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"
#include "isa/x86/x86_branch.h"

/* PSB+: its packets, the place that it holds, which the next packet decides on, and the context. */

static void put_status_if(struct ipt_flow *f, const struct ipt_place *place)
{
	f->has_if = false; /* so that it is said again */
	if (place->context.has_mode)
		ipt_put_if(f, place->context.is_if, FLOW_IF_STATUS, FLOW_NO_ADDRESS);
}

/** What @p c has replaces what @p to has. A mode holds until the next one: the processor sends it
 * only if it changed, or once after a PSB. */
static void add_context(struct ipt_context *to, const struct ipt_context *c)
{
	if (c->has_mode) {
		to->has_mode = true;
		to->bits = c->bits;
		to->is_if = c->is_if;
	}
	if (c->has_pip) {
		to->has_pip = true;
		to->cr3 = c->cr3;
		to->is_guest = c->is_guest;
	}
	if (c->has_vmcs) {
		to->has_vmcs = true;
		to->vmcs = c->vmcs;
	}
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
	ipt_put_transaction(f);
	ipt_put_point(f, place->ip, FLOW_POINT_HERE);
}

bool ipt_settle(struct ipt_flow *f, enum ipt_kind kind)
{
	const struct ipt_place place = f->held;

	f->held.is_set = false;
	f->psb_ip = (f->power == IPT_UNKNOWN && f->detail != FLOW_SYNCS) || kind != IPT_TIP_PGE
			  ? place.ip
			  : FLOW_NO_ADDRESS;
	if (kind == IPT_TIP_PGE || (place.is_overflow && kind == IPT_TRACESTOP)) {
		add_context(&f->next, &place.context); /* execution was not: tracing was off */
		return true;
	}
	if (f->power == IPT_ON || f->detail == FLOW_SYNCS) {
		continue_at(f, &place);
		return true;
	}
	put_status_if(f, &place);
	add_context(&f->next, &place.context);
	ipt_begin_at(f, place.ip);
	return true;
}

/* --- PSB+ --- */

bool ipt_begin_psb(struct ipt_flow *f)
{
	if (f->nr_waiting || f->has_event)
		ipt_bad_trace(f, "a PSB, where an address is due");
	else if (f->sync == IPT_RUNNING && !flow_pop(&f->flow))
		f->sync = IPT_WAIT_PSB;
	ipt_put_waiting(f);
	f->packets.is_synced = true; /* by this one */
	f->flow.stack_nr = 0;
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
		ipt_put_time(f);
		ipt_settle(f, IPT_PSBEND);
		return;
	}
	ipt_put_time(f);
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
	add_context(&f->next, &f->held.context);
}

void ipt_take_mode(struct ipt_context *c, const struct ipt_packet *k)
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
	f->flow.stack_nr = 0; /* of calls on the way, too */
	f->held = place;
}

bool ipt_take_psb_packet(struct ipt_flow *f, const struct ipt_packet *k)
{
	switch (k->kind) {
	case IPT_PSBEND:
		end_psb(f, IPT_PSBEND);
		return true;
	case IPT_FUP:
		take_psb_place(f, k);
		return true;
	case IPT_MODE_EXEC:
		ipt_take_mode(&f->held.context, k);
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
	case IPT_PSB: /* one that was cut */
	case IPT_OVF:
	case IPT_BAD:
		end_psb(f, (enum ipt_kind)k->kind);
		return false;
	default:
		f->sync = IPT_RUNNING;
		ipt_bad_trace(f, "a packet that cannot stand in a PSB+");
		return true;
	}
}

/* --- context packets --- */

bool ipt_bind_context(struct ipt_flow *f, const struct ipt_packet *k)
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
