/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_parts.h"

#include <string.h>

#include "flow/flow_walk.h"
#include "packet/pt/ipt_headers.h"
#include "packet/pt/ipt_sync.h"

uint64_t ipt_place_of_cut(const struct flow *flow, struct bytes in, size_t *ret_at)
{
	struct ipt_sync s = {0};

	ipt_sync_find(((const struct ipt_flow *)flow)->config, in, 0, &s);
	*ret_at = s.ip_at;
	return s.has & IPT_SYNC_ON ? s.ip : FLOW_NO_ADDRESS;
}

size_t ipt_find_cut(const struct flow *flow, struct bytes in, size_t from, size_t to)
{
	const struct ipt_config *config = ((const struct ipt_flow *)flow)->config;
	struct ipt_sync s;

	/* EFLAGS.IF is not said again where tracing is off. */
	for (size_t at = from; at < to && ipt_sync_find(config, in, at, &s) && s.at < to;
	     at = s.at + IPT_PSB_BYTES)
		if (s.has & IPT_SYNC_ON || !config->has_event_trace)
			return s.at;
	return to;
}

void ipt_begin_part(struct flow *flow, uint64_t offset, uint64_t place)
{
	struct ipt_flow *f = ipt_flow_of(flow);

	flow_forget(flow);
	flow->needs_context = false;
	ipt_drop_open(f);
	ipt_packets_reset(&f->packets, offset);
	f->packets.is_synced = true;
	ipt_clock_init(&f->clock, f->config);
	f->has_new_time = false;
	f->sync = IPT_RUNNING;
	f->power = place == FLOW_NO_ADDRESS ? IPT_OFF : IPT_ON;
	f->was_overflow = f->lost_bits = f->was_in_transaction = false;
	f->has_psb = f->has_cbr = f->has_if = false;
}

void ipt_assume(struct code_context *ret, const struct code_context *now, bool needs_context)
{
	(void)needs_context;
	ret->x86 = now->x86;
}

/** Where tracing is off nothing says the half of addresses. */
bool ipt_is_as_assumed(const struct code_context *assumed, const struct code_context *now,
		       uint64_t place)
{
	const struct code_x86_context *a = &assumed->x86, *b = &now->x86;

	return (place != FLOW_NO_ADDRESS || a->is_kernel == b->is_kernel) && a->bits == b->bits &&
	       a->has_cr3 == b->has_cr3 && a->has_vmcs == b->has_vmcs &&
	       a->is_guest == b->is_guest && a->cr3 == b->cr3 && a->vmcs == b->vmcs;
}

size_t ipt_nr_waiting(const struct flow *flow)
{
	(void)flow;
	return 0;
}

void ipt_perform_rest(struct flow *flow)
{
	(void)flow;
}

static bool is_at_place(const struct ipt_flow *f)
{
	return f->power == IPT_ON && !f->next.has_mode && !f->next.has_pip && !f->next.has_vmcs &&
	       (!f->flow.needs_address || flow_may_pop(&f->flow));
}

/** TIP.PGE, which would bring it, brings nothing of the context that a part would not have. */
static bool is_off(const struct ipt_flow *f)
{
	return f->power == IPT_OFF && !f->was_overflow && !f->is_in_transaction &&
	       !ipt_differs(f, &f->next);
}

bool ipt_is_between(const struct flow *flow, uint64_t *ret)
{
	const struct ipt_flow *f = (const struct ipt_flow *)flow;
	const struct ipt_packets *k = &f->packets;

	*ret = k->offset;
	return f->sync == IPT_RUNNING && (is_at_place(f) || is_off(f)) && !f->has_event &&
	       !f->is_abort && !f->nr_notes && !f->nr_idles && !f->nr_evds && !f->has_cfe &&
	       !f->has_psb && !f->nr_waiting && !f->held.is_set && !f->was_in_transaction &&
	       k->is_synced && !k->nr_held && !k->nr_skipped && !k->nr_psbs;
}

bool ipt_save(void *state, const struct flow *flow)
{
	const struct ipt_flow *f = (const struct ipt_flow *)flow;
	struct ipt_state *s = state;

#define X(name) memcpy(&s->name, &f->name, sizeof(s->name));
	IPT_STATE_FIELDS(X)
#undef X
	return true;
}

bool ipt_restore(const void *state, struct flow *flow)
{
	const struct ipt_state *s = state;
	struct ipt_flow *f = ipt_flow_of(flow);

#define X(name) memcpy(&f->name, &s->name, sizeof(f->name));
	IPT_STATE_FIELDS(X)
#undef X
	return true;
}

void ipt_state_done(void *state)
{
	(void)state;
}
