/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"

/* Places that packets name, where code is not followed: because it is not wanted, or because the
 * trace was made without what that takes. A TIP, a FUP and a TIP.PGE have one each.
 * Spec: Intel SDM volume 3, "Intel Processor Trace", "IA32_RTIT_CTL MSR": DisTNT, BranchEn. */

enum flow_detail ipt_detail_of(const struct ipt_config *config, uint8_t wanted)
{
	if (wanted == FLOW_ALL && (config->has_no_tnt || config->has_no_branches))
		return FLOW_POINTS;
	return (enum flow_detail)wanted;
}

/** Addresses of the other half are of the kernel, or of a program. */
static void change_half(struct ipt_flow *f, uint64_t ip)
{
	const struct ipt_context half = {.has_half = true, .is_kernel = ip >> 63};

	if (f->flow.needs_context || f->flow.context.x86.is_kernel != half.is_kernel)
		ipt_change_context(f, &half);
}

static void put_point(struct ipt_flow *f, uint64_t ip, enum flow_point how, bool has_target)
{
	struct flow_event e = {.kind = FLOW_EV_NOTE,
			       .number = FLOW_NOTE_POINT,
			       .count = how,
			       .has_count = has_target,
			       .value = f->is_in_transaction,
			       .is_target = true,
			       .address = ip,
			       .has_end = true,
			       .end = ip};

	if (!ipt_has_points(f))
		return;
	change_half(f, ip);
	e.space = f->flow.space;
	e.isa = (uint8_t)ipt_isa(f);
	f->has_point = true;
	f->point = ip;
	flow_put_event(&f->flow, &e);
}

void ipt_put_point(struct ipt_flow *f, uint64_t ip, enum flow_point how)
{
	put_point(f, ip, how, false);
}

void ipt_put_event_point(struct ipt_flow *f)
{
	ipt_put_point(f, f->event_ip, f->is_abort ? FLOW_POINT_ABORT : FLOW_POINT_INTERRUPT);
}

void ipt_put_end_point(struct ipt_flow *f, bool has_target)
{
	put_point(f, f->event_ip, FLOW_POINT_END, has_target);
}

void ipt_put_lost_point(struct ipt_flow *f)
{
	const struct flow_event e = {.kind = FLOW_EV_NO_SYNC,
				     .reason = FLOW_NO_SYNC_OVERFLOW,
				     .is_target = f->has_point,
				     .space = f->flow.space,
				     .address = f->point};

	f->has_point = false;
	f->flow.totals.nr_no_sync++;
	flow_put_event(&f->flow, &e);
}

bool ipt_skips_to_psb(struct ipt_flow *f, enum ipt_kind kind)
{
	if (f->detail != FLOW_SYNCS || kind == IPT_PSB || f->sync != IPT_RUNNING || f->held.is_set)
		return false;
	ipt_put_psb(f);
	f->sync = IPT_WAIT_PSB;
	f->power = IPT_UNKNOWN;
	f->packets.is_synced = false;
	f->packets.item_bytes = 0;
	ipt_drop_open(f);
	return true;
}
