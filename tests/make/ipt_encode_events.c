/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"
#include "make/ipt_encode.h"
#include "make/splitmix.h"

static uint32_t below(struct ipt_encoder *e, uint32_t n)
{
	return splitmix_below(&e->random, n);
}

static void put_kind(struct ipt_encoder *e, enum ipt_kind kind)
{
	struct ipt_packet k = {.kind = (uint8_t)kind};

	ipt_enc_put(e, &k);
}

/* --- the truth --- */

static void add_mark(struct ipt_encoder *e, enum flow_event_kind kind, uint64_t value)
{
	struct ipt_mark m = {.at = e->truth.insns.nr, .kind = (uint8_t)kind, .value = value};

	m.is_overflow = kind == FLOW_EV_TRACE_ON && e->is_after_overflow;
	(void)vec_push(&e->truth.marks, m);
}

static void add_state(struct ipt_encoder *e)
{
	(void)vec_push(&e->truth.states,
		       (struct ipt_state_at){e->truth.insns.nr, e->context, e->is_in_transaction});
}

/* --- contexts --- */

static void put_mode(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_MODE_EXEC, .exec.is_if = true};

	k.exec.cs_l = e->context.bits == 64;
	k.exec.cs_d = e->context.bits == 32;
	e->sent_bits = e->context.bits;
	ipt_enc_put(e, &k);
}

static void put_mode_if_changed(struct ipt_encoder *e, uint8_t bits)
{
	e->context.bits = bits;
	if (e->sent_bits != bits)
		put_mode(e);
}

static void put_tsx(struct ipt_encoder *e, bool is_in, bool is_abort)
{
	struct ipt_packet k = {
		.kind = IPT_MODE_TSX, .tsx = {is_in, is_abort}
        };

	ipt_enc_put(e, &k);
}

static void put_pip(struct ipt_encoder *e)
{
	struct ipt_packet k = {
		.kind = IPT_PIP, .pip = {e->context.cr3, e->context.is_guest}
        };

	ipt_enc_put(e, &k);
}

static void put_vmcs(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_VMCS, .vmcs = e->context.vmcs};

	ipt_enc_put(e, &k);
}

static void change(struct ipt_encoder *e, const struct ipt_enc_change *c)
{
	if (c->has_pip) {
		e->context.has_cr3 = true;
		e->context.cr3 = c->cr3;
		e->context.is_guest = c->is_guest;
		put_pip(e);
	}
	if (c->has_vmcs) {
		e->context.has_vmcs = true;
		e->context.vmcs = c->vmcs;
		put_vmcs(e);
	}
	put_mode_if_changed(e, c->bits);
	add_state(e);
}

void ipt_enc_far(struct ipt_encoder *e, uint64_t to, const struct ipt_enc_change *c)
{
	ipt_enc_flush(e);
	change(e, c);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_TIP, to, false);
	ipt_enc_prove(e);
}

void ipt_enc_mov_cr3(struct ipt_encoder *e, uint64_t cr3)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	e->context.has_cr3 = true;
	e->context.cr3 = cr3;
	put_pip(e);
	add_state(e);
	ipt_enc_prove(e);
	e->is_after_pip = true;
}

void ipt_enc_vmptrld(struct ipt_encoder *e, uint64_t vmcs)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	e->context.has_vmcs = true;
	e->context.vmcs = vmcs;
	put_vmcs(e);
	add_state(e);
	ipt_enc_prove(e);
}

void ipt_enc_ptwrite(struct ipt_encoder *e, uint64_t ip, uint64_t value, bool is_wide, bool has_ip)
{
	struct ipt_packet k = {.kind = IPT_PTW, .ptw = value, .has_fup = has_ip};

	k.bytes = is_wide ? 10 : 6;
	if (!is_wide)
		k.ptw &= UINT32_MAX;
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	ipt_enc_put(e, &k);
	if (has_ip)
		ipt_enc_put_address(e, IPT_FUP, ip, false);
	ipt_enc_prove(e);
	add_mark(e, FLOW_EV_NOTE, k.ptw);
}

/* --- between instructions --- */

/** CFE, with EVD if it is a page fault's, for the FUP that follows. */
static void put_cause(struct ipt_encoder *e)
{
	struct ipt_packet evd = {.kind = IPT_EVD, .evd = {.payload = 0xdead0000 + below(e, 4096)}};
	struct ipt_packet cfe = {
		.kind = IPT_CFE, .cfe = {1, (uint8_t)below(e, 256)}
        };

	if (!below(e, 3)) {
		cfe.cfe.vector = 14;
		ipt_enc_put(e, &evd);
	}
	ipt_enc_put(e, &cfe);
}

void ipt_enc_async(struct ipt_encoder *e, uint64_t from, uint64_t to,
		   const struct ipt_enc_change *c)
{
	ipt_enc_flush(e);
	if (e->opts.has_notes && below(e, 2))
		put_cause(e);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_FUP, from, false);
	ipt_enc_prove(e);
	change(e, c);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_TIP, to, false);
	add_mark(e, FLOW_EV_EXCEPTION, from);
}

/** Nothing stands between MODE.TSX and its FUP. */
static void put_tsx_at(struct ipt_encoder *e, bool is_in, bool is_abort, uint64_t ip)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	put_tsx(e, is_in, is_abort);
	ipt_enc_put_address(e, IPT_FUP, ip, false);
	ipt_enc_prove(e);
	e->is_in_transaction = is_in;
	add_state(e);
}

void ipt_enc_transaction(struct ipt_encoder *e, bool is_in, uint64_t ip)
{
	put_tsx_at(e, is_in, false, ip);
}

void ipt_enc_abort(struct ipt_encoder *e, uint64_t from, uint64_t to)
{
	put_tsx_at(e, false, true, from);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_TIP, to, false);
	add_mark(e, FLOW_EV_EXCEPTION, from);
}

/** It does not count; the mode does, which may have changed since tracing ended. */
static void put_early_fup(struct ipt_encoder *e, uint64_t ip)
{
	uint8_t bits = e->context.bits;

	if (below(e, 2))
		e->context.bits = bits == 64 ? 32 : 64;
	put_mode(e);
	ipt_enc_put_address(e, IPT_FUP, ip + 1 + below(e, 100), true);
	e->context.bits = bits;
}

static void put_psb_plus(struct ipt_encoder *e, uint64_t ip, bool is_cut)
{
	put_kind(e, IPT_PSB);
	e->psb_at = e->out.nr;
	e->needs_psb = false;
	e->nr_stack = 0;
	ipt_enc_tsc(e);
	if (e->opts.has_pip) {
		e->context.has_cr3 = true;
		put_pip(e);
	}
	if (is_cut)
		return;
	if (e->context.has_vmcs)
		put_vmcs(e);
	ipt_enc_put_cbr(e);
	e->sent_bits = 0;
	if (e->is_on) {
		put_mode(e);
		put_tsx(e, e->is_in_transaction, false);
		ipt_enc_put_cyc(e);
		ipt_enc_put_address(e, IPT_FUP, ip, !e->opts.zips_psb);
	} else if (e->opts.has_early_fups && below(e, 2)) {
		put_early_fup(e, ip);
	}
	put_kind(e, IPT_PSBEND);
	add_state(e);
}

void ipt_enc_psb(struct ipt_encoder *e, uint64_t ip)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	put_psb_plus(e, ip, false);
	ipt_enc_prove(e);
}

/** Sixteen registers, of an event with PEBS. */
static void put_pebs(struct ipt_encoder *e, uint64_t ip)
{
	struct ipt_packet bbp = {
		.kind = IPT_BBP, .bbp = {.type = 1, .item_bytes = 8}
        };
	struct ipt_packet bip = {.kind = IPT_BIP, .bytes = 9};
	struct ipt_packet bep = {.kind = IPT_BEP, .has_fup = below(e, 2)};

	ipt_enc_put(e, &bbp);
	for (uint8_t i = 0; i < 16; i++) {
		bip.bip.item = i;
		bip.bip.value = splitmix64(&e->random);
		ipt_enc_put(e, &bip);
	}
	ipt_enc_put(e, &bep);
	if (!bep.has_fup)
		return;
	ipt_enc_put_address(e, IPT_FUP, ip, false);
	ipt_enc_prove(e);
}

/** MWAIT, PWRE, EXSTOP with its FUP, later PWRX; or parts of that. */
static void put_sleep(struct ipt_encoder *e, uint64_t ip)
{
	struct ipt_packet mwait = {
		.kind = IPT_MWAIT, .mwait = {0x21, 1}
        };
	struct ipt_packet pwre = {
		.kind = IPT_PWRE, .pwre = {2, 1, below(e, 2)}
        };
	struct ipt_packet exstop = {.kind = IPT_EXSTOP, .has_fup = below(e, 2)};
	struct ipt_packet pwrx = {
		.kind = IPT_PWRX, .pwrx = {2, 2, 1}
        };

	if (exstop.has_fup && below(e, 2))
		ipt_enc_put(e, &mwait);
	if (below(e, 2))
		ipt_enc_put(e, &pwre);
	ipt_enc_put(e, &exstop);
	if (exstop.has_fup) {
		ipt_enc_put_address(e, IPT_FUP, ip, false);
		ipt_enc_prove(e);
	}
	ipt_enc_put(e, &pwrx);
}

void ipt_enc_put_power(struct ipt_encoder *e, uint64_t ip)
{
	struct ipt_packet mnt = {.kind = IPT_MNT, .mnt = splitmix64(&e->random)};
	struct ipt_packet cfe = {
		.kind = IPT_CFE, .cfe = {2, 0},
                     .has_fup = true
        };

	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	switch (below(e, e->opts.has_notes ? 6 : 4)) {
	case 0:
		e->cbr = (uint8_t)(e->opts.timing.max_ratio / 2 +
				   below(e, e->opts.timing.max_ratio));
		ipt_enc_put_cbr(e);
		break;
	case 1:
		put_sleep(e, ip);
		break;
	case 2:
		ipt_enc_put(e, &mnt);
		break;
	case 3:
		for (uint32_t nr = below(e, 20); nr; nr--)
			put_kind(e, IPT_PAD);
		break;
	case 4:
		ipt_enc_put(e, &cfe);
		ipt_enc_put_address(e, IPT_FUP, ip, false);
		ipt_enc_prove(e);
		break;
	default:
		put_pebs(e, ip);
	}
}

void ipt_enc_between(struct ipt_encoder *e, uint64_t ip)
{
	ipt_enc_put_mtc(e);
	if (e->opts.psb_bytes && e->out.nr - e->psb_at >= e->opts.psb_bytes)
		ipt_enc_psb(e, ip);
	if (e->opts.has_power && !below(e, 3000))
		ipt_enc_put_power(e, ip);
}

/* --- on, off, lost --- */

static void begin(struct ipt_encoder *e, uint64_t ip)
{
	e->is_on = true;
	add_mark(e, FLOW_EV_TRACE_ON, ip);
	e->is_after_overflow = false;
}

void ipt_enc_start(struct ipt_encoder *e, uint64_t ip, uint8_t bits)
{
	const struct ipt_encode_opts *o = &e->opts;

	if (e->needs_psb || (o->psb_bytes && e->out.nr - e->psb_at >= o->psb_bytes)) {
		put_psb_plus(e, ip, false);
	} else if (o->has_tsc && below(e, 2)) {
		ipt_enc_tsc(e);
		ipt_enc_put_cbr(e);
	}
	put_mode_if_changed(e, bits);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_TIP_PGE, ip, false);
	e->is_in_transaction = false;
	add_state(e);
	begin(e, ip);
}

static void end(struct ipt_encoder *e, uint64_t to)
{
	if (to)
		ipt_enc_put_address(e, IPT_TIP_PGD, to, false);
	else
		put_kind(e, IPT_TIP_PGD);
	e->is_on = e->is_in_transaction = false;
	e->nr_stack = 0;
	add_mark(e, FLOW_EV_TRACE_OFF, to);
}

void ipt_enc_stop_at(struct ipt_encoder *e, uint64_t from, uint64_t to, bool is_tracestop)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_FUP, from, false);
	ipt_enc_prove(e);
	end(e, to);
	if (is_tracestop)
		put_kind(e, IPT_TRACESTOP);
}

void ipt_enc_stop_by(struct ipt_encoder *e, uint64_t to)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	ipt_enc_prove(e);
	end(e, to);
}

/** What was not written is lost. */
static void lose(struct ipt_encoder *e)
{
	e->nr_tnt = e->nr_tips = 0;
	e->tnt = 0;
	e->truth.insns.nr = e->nr_proven;
	e->nr_stack = 0;
	e->is_in_transaction = false;
	e->is_after_overflow = e->needs_full = true;
	add_mark(e, FLOW_EV_NO_SYNC, 0);
}

/** After OVF, while tracing is off. */
static void put_error_of_off(struct ipt_encoder *e, uint64_t ip)
{
	bool is_psb_due = e->opts.psb_bytes && e->out.nr - e->psb_at + 64 > e->opts.psb_bytes;

	if (e->opts.errata & IPT_APL12 && !is_psb_due && below(e, 2)) {
		ipt_enc_put_address(e, IPT_FUP, ip + below(e, 100), true);
		if (below(e, 2))
			put_kind(e, IPT_TRACESTOP);
	} else if (e->opts.errata & IPT_APL11 && below(e, 2)) {
		put_kind(e, IPT_TIP_PGD);
	}
}

void ipt_enc_overflow(struct ipt_encoder *e, enum ipt_enc_overflow how, uint64_t ip)
{
	if (how == IPT_ENC_LOST_IN_PSB) {
		ipt_enc_flush(e);
		put_psb_plus(e, ip, true);
	}
	lose(e);
	ipt_enc_put_cyc(e);
	if (e->opts.errata & IPT_SKD007 && below(e, 2))
		buf_char(&e->out, (char)(below(e, 32) << 3 | 7)); /* a CYC that is cut */
	put_kind(e, IPT_OVF);
	if (e->opts.has_mtc && below(e, 2))
		ipt_enc_tsc(e);
	e->is_on = how != IPT_ENC_LOST_OFF;
	if (!e->is_on) {
		put_error_of_off(e, ip);
		e->sent_bits = 0;
		return;
	}
	if (how == IPT_ENC_LOST_PSB) {
		put_psb_plus(e, ip, false);
	} else {
		ipt_enc_put_cyc(e);
		ipt_enc_put_address(e, how == IPT_ENC_LOST_FUP ? IPT_TIP : IPT_FUP, ip, true);
		add_state(e);
	}
	begin(e, ip);
}

void ipt_enc_finish(struct ipt_encoder *e, uint64_t ip)
{
	if (e->is_on)
		ipt_enc_stop_at(e, ip, 0, false);
	e->truth.insns.nr = e->nr_proven;
}
