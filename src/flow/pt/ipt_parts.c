/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_parts.h"

#include <string.h>

#include "flow/flow_walk.h"
#include "packet/pt/ipt_headers.h"

enum { PSB_BYTES = 2 * IPT_PSB_PAIRS, MAX_PACKETS_OF_PSB = 32 };

/** A PSB+ with a FUP, which is whole; *ret: the FUP. */
static bool is_complete(const struct ipt_config *config, struct bytes in, struct ipt_packet *ret)
{
	struct ipt_packets packets;
	struct ipt_packet k;
	bool has_fup = false;

	ipt_packets_init(&packets, config);
	packets.is_synced = true;
	for (int i = 0; i < MAX_PACKETS_OF_PSB && !ipt_packets_next(&packets, &in, &k); i++) {
		if (k.kind == IPT_PSBEND)
			return has_fup;
		if (k.kind == IPT_BAD || k.kind == IPT_OVF)
			return false;
		if (k.kind != IPT_FUP || k.ip_form == IPT_IP_NONE)
			continue;
		has_fup = true;
		*ret = k;
	}
	return false;
}

uint64_t ipt_place_of_cut(const struct flow *flow, struct bytes in, size_t *ret_at)
{
	struct ipt_packet fup = {0};

	is_complete(((const struct ipt_flow *)flow)->config, in, &fup);
	*ret_at = (size_t)fup.offset;
	return fup.ip;
}

size_t ipt_find_cut(const struct flow *flow, struct bytes in, size_t from, size_t to)
{
	static const uint8_t psb[PSB_BYTES] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					       2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	const struct ipt_config *config = ((const struct ipt_flow *)flow)->config;
	const uint8_t *at = in.pos + from, *end = in.pos + to;
	struct ipt_packet fup;

	while (at < end) {
		at = memmem(at, (size_t)(in.end - at), psb, sizeof(psb));
		if (!at || at >= end)
			break;
		if (is_complete(config, bytes_of(at, (size_t)(in.end - at)), &fup))
			return (size_t)(at - in.pos);
		at += PSB_BYTES;
	}
	return to;
}

void ipt_begin_part(struct flow *flow, uint64_t offset)
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
	f->power = IPT_ON;
	f->was_overflow = f->was_in_transaction = false;
	f->has_psb = f->has_cbr = f->has_if = false;
}

void ipt_assume(struct code_context *ret, const struct code_context *now, bool needs_context)
{
	(void)needs_context;
	ret->x86 = now->x86;
}

bool ipt_is_as_assumed(const struct code_context *assumed, const struct code_context *now)
{
	const struct code_x86_context *a = &assumed->x86, *b = &now->x86;

	return a->bits == b->bits && a->has_cr3 == b->has_cr3 && a->has_vmcs == b->has_vmcs &&
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

bool ipt_is_between(const struct flow *flow, uint64_t *ret)
{
	const struct ipt_flow *f = (const struct ipt_flow *)flow;
	const struct ipt_packets *k = &f->packets;

	*ret = k->offset;
	return f->sync == IPT_RUNNING && f->power == IPT_ON && !f->has_event && !f->is_abort &&
	       !f->nr_notes && !f->nr_evds && !f->has_cfe && !f->has_psb && !f->nr_waiting &&
	       !f->held.is_set && !f->next.has_mode && !f->next.has_pip && !f->next.has_vmcs &&
	       !f->was_in_transaction && k->is_synced && !k->nr_held && !k->nr_skipped &&
	       !k->nr_psbs;
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
