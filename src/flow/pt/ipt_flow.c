/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"
#include "flow/pt/ipt_insns.h"
#include "flow/pt/ipt_parts.h"

enum { STACK_DEPTH = 64 };

/** What waits for other packets. */
void ipt_drop_open(struct ipt_flow *f)
{
	f->nr_waiting = f->nr_notes = f->nr_idles = f->nr_evds = f->nr_later = 0;
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

/** Those that say nothing of where execution is. */
static bool is_transparent(enum ipt_kind kind)
{
	if (ipt_is_time(kind))
		return true;
	switch ((unsigned int)kind) {
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

void ipt_put_time(struct ipt_flow *f)
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

/** That of a PSB+ holds from its FUP on. */
static void take_time(struct ipt_flow *f, const struct ipt_packet *k)
{
	f->has_new_time |= ipt_clock_take(&f->clock, k);
	if (k->kind == IPT_CYC && f->opts.flow.has_cycles) {
		f->has_cycles = true;
		f->nr_cycles += f->power == IPT_ON ? k->cyc : 0;
	}
	if (f->sync == IPT_RUNNING)
		ipt_put_time(f);
}

/* --- packets --- */

static bool take_running(struct ipt_flow *f, const struct ipt_packet *k)
{
	bool is_well;

	if (!ipt_settle_idles(f, (enum ipt_kind)k->kind))
		return false;
	switch (k->kind) {
	case IPT_TNT:
		if (f->power == IPT_OFF)
			return ipt_bad_trace(f, "branches, while tracing is off");
		if (f->has_event)
			return ipt_bad_trace(f, "branches, where an event's target is due");
		f->lost_bits |= f->power == IPT_UNKNOWN;
		return f->power == IPT_ON ? ipt_add_bits(f, k->tnt, k->nr_tnt) : true;
	case IPT_TIP:
		return ipt_take_tip(f, k);
	case IPT_TIP_PGE:
		return ipt_take_pge(f, k);
	case IPT_TIP_PGD:
		return ipt_take_pgd(f, k);
	case IPT_FUP:
		return ipt_take_fup(f, k);
	case IPT_OVF:
		return ipt_take_overflow(f);
	case IPT_MODE_EXEC:
		ipt_take_mode(&f->next, k);
		return true;
	case IPT_PIP:
	case IPT_VMCS:
		return ipt_bind_context(f, k);
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
	return is_transparent(kind) && kind > IPT_NOT_SYNCED &&
	       (f->nr_later || !ipt_is_time(kind) || kind == IPT_CBR);
}

/** Was MODE.Exec the last packet but those of time? */
static void keep_last(struct ipt_flow *f, enum ipt_kind kind)
{
	f->is_mode_last = kind == IPT_MODE_EXEC || (f->is_mode_last && ipt_is_time(kind));
}

/** What waited for the place that is held. */
static bool take_later(struct ipt_flow *f)
{
	uint64_t offset = f->flow.offset;
	unsigned int nr = f->nr_later;
	bool is_ok = true;

	f->nr_later = 0;
	for (unsigned int i = 0; i < nr && is_ok && f->detail != FLOW_SYNCS; i++) {
		f->flow.offset = f->later[i].offset;
		take_time(f, &f->later[i]);
		is_ok = take_running(f, &f->later[i]);
		keep_last(f, (enum ipt_kind)f->later[i].kind);
	}
	f->flow.offset = offset;
	return is_ok;
}

/** @p kind decides. @return false: the place, or what waited for it, cannot be. */
static bool decide(struct ipt_flow *f, enum ipt_kind kind)
{
	bool is_ok = ipt_settle(f, kind);

	f->nr_later = is_ok ? f->nr_later : 0;
	return take_later(f) && is_ok;
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
	if (f->sync == IPT_IN_PSB && ipt_take_psb_packet(f, k))
		return;
	if (!is_decided(f, kind))
		return;
	if (kind == IPT_PSB)
		ipt_begin_psb(f);
	else if (f->sync == IPT_RUNNING && !ipt_skips_to_psb(f, kind))
		take_running(f, k);
	keep_last(f, kind);
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
	take_later(f);
	ipt_put_waiting(f);
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
