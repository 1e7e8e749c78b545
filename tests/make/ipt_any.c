/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/ipt_any.h"

#include "make/splitmix.h"

static uint64_t any(struct ipt_any *a)
{
	return splitmix64(&a->random);
}

static uint32_t below(struct ipt_any *a, uint32_t n)
{
	return (uint32_t)(any(a) >> 32) % n;
}

/** A number of any length up to @p bits. */
static uint64_t number(struct ipt_any *a, unsigned int bits)
{
	return any(a) >> (63 - below(a, bits));
}

static uint64_t low(uint64_t v, unsigned int bits)
{
	return v & ((UINT64_C(1) << bits) - 1);
}

static void address(struct ipt_any *a, struct ipt_packet *k)
{
	static const uint8_t forms[] = {IPT_IP_NONE,   IPT_IP_16, IPT_IP_32,
					IPT_IP_SEXT48, IPT_IP_48, IPT_IP_64};
	uint64_t payload = any(a);

	k->ip_form = forms[below(a, 6)];
	if (k->ip_form == IPT_IP_16)
		payload = low(payload, 16);
	else if (k->ip_form == IPT_IP_32)
		payload = low(payload, 32);
	else if (k->ip_form != IPT_IP_64)
		payload = low(payload, 48);
	k->ip = ipt_ip_of((enum ipt_ip_form)k->ip_form, payload, a->last_ip);
	k->is_doubtful = a->is_after_overflow && k->ip_form != IPT_IP_NONE &&
			 k->ip_form != IPT_IP_SEXT48 && k->ip_form != IPT_IP_64;
	if (k->ip_form == IPT_IP_SEXT48 || k->ip_form == IPT_IP_64)
		a->is_after_overflow = false;
}

static void branches(struct ipt_any *a, struct ipt_packet *k)
{
	k->nr_tnt = (uint8_t)(1 + below(a, IPT_MAX_TNT));
	k->tnt = low(any(a), k->nr_tnt);
}

static void timing(struct ipt_any *a, struct ipt_packet *k)
{
	if (k->kind == IPT_TSC)
		k->tsc = low(any(a), 56);
	else if (k->kind == IPT_MTC)
		k->mtc = (uint8_t)any(a);
	else if (k->kind == IPT_CYC)
		k->cyc = number(a, 64);
	else if (k->kind == IPT_CBR)
		k->cbr = (uint8_t)any(a);
	else {
		k->tma.ctc = (uint16_t)any(a);
		k->tma.fast = (uint16_t)low(any(a), 9);
		k->tma.has_reserved = !below(a, 8);
	}
}

static void context(struct ipt_any *a, struct ipt_packet *k)
{
	uint64_t v = any(a);

	if (k->kind == IPT_MODE_EXEC) {
		k->exec.cs_l = v & 1;
		k->exec.cs_d = v & 2;
		k->exec.is_if = v & 4;
	} else if (k->kind == IPT_MODE_TSX) {
		k->tsx.is_in = v & 1;
		k->tsx.is_abort = v & 2;
	} else if (k->kind == IPT_PIP) {
		k->pip.cr3 = low(v >> 5, 47) << 5;
		k->pip.is_non_root = v & 1;
	} else if (k->kind == IPT_VMCS) {
		k->vmcs = low(v, 40) << 12;
	}
}

static void power(struct ipt_any *a, struct ipt_packet *k)
{
	uint64_t v = any(a);

	if (k->kind == IPT_MWAIT) {
		k->mwait.hints = (uint32_t)v;
		k->mwait.extensions = (uint32_t)(v >> 32);
	} else if (k->kind == IPT_PWRE) {
		k->pwre.state = v & 15;
		k->pwre.sub_state = v >> 4 & 15;
		k->pwre.is_hw = v >> 8 & 1;
	} else {
		k->pwrx.last = v & 15;
		k->pwrx.deepest = v >> 4 & 15;
		k->pwrx.reason = v >> 8 & 15;
	}
}

static void event(struct ipt_any *a, struct ipt_packet *k)
{
	uint64_t v = any(a);

	if (k->kind == IPT_CFE) {
		k->cfe.type = v & 31;
		k->cfe.vector = (uint8_t)(v >> 8);
	} else if (k->kind == IPT_EVD) {
		k->evd.type = v & 63;
		k->evd.payload = any(a);
	} else if (k->kind == IPT_MNT) {
		k->mnt = v;
	} else if (k->kind == IPT_PTW) {
		k->bytes = v & 1 ? 10 : 6;
		k->ptw = v & 1 ? any(a) : v >> 32;
	} else if (k->kind == IPT_TRIG) {
		k->trig.trbv = (uint8_t)v;
		k->trig.is_multiple = v >> 8 & 1;
		k->trig.has_count = v >> 9 & 1;
		k->trig.count = k->trig.has_count ? (uint16_t)(v >> 16) : 0;
	}
}

static void block(struct ipt_any *a, struct ipt_packet *k)
{
	if (k->kind == IPT_BBP) {
		k->bbp.type = below(a, 32) & 31;
		k->bbp.item_bytes = below(a, 2) ? 4 : 8;
		a->item_bytes = k->bbp.item_bytes;
	} else {
		k->bytes = 1u + a->item_bytes;
		k->bip.item = below(a, 32) & 31;
		k->bip.value = a->item_bytes == 8 ? any(a) : low(any(a), 32);
	}
}

static void fill(struct ipt_any *a, struct ipt_packet *k)
{
	switch (k->kind) {
	case IPT_TNT:
		branches(a, k);
		break;
	case IPT_TIP:
	case IPT_TIP_PGE:
	case IPT_TIP_PGD:
	case IPT_FUP:
		address(a, k);
		break;
	case IPT_TSC:
	case IPT_TMA:
	case IPT_MTC:
	case IPT_CYC:
	case IPT_CBR:
		timing(a, k);
		break;
	case IPT_MODE_EXEC:
	case IPT_MODE_TSX:
	case IPT_PIP:
	case IPT_VMCS:
		context(a, k);
		break;
	case IPT_MWAIT:
	case IPT_PWRE:
	case IPT_PWRX:
		power(a, k);
		break;
	case IPT_BBP:
	case IPT_BIP:
		block(a, k);
		break;
	default:
		event(a, k);
		break;
	}
	if (k->kind == IPT_PTW || k->kind == IPT_EXSTOP || k->kind == IPT_CFE ||
	    k->kind == IPT_BEP || k->kind == IPT_TRIG)
		k->has_fup = below(a, 2);
}

/** Those that a block of PEBS goes on after. */
static bool stays_in_block(enum ipt_kind kind)
{
	return kind == IPT_PAD || kind == IPT_TSC || kind == IPT_TMA || kind == IPT_MTC ||
	       kind == IPT_CYC || kind == IPT_CBR || kind == IPT_MNT || kind == IPT_FUP ||
	       kind == IPT_EXSTOP || kind == IPT_PWRE || kind == IPT_PWRX || kind == IPT_BBP ||
	       kind == IPT_BIP || kind == IPT_TRIG;
}

void ipt_any_packet(struct ipt_any *a, struct buf *out, struct ipt_packet *ret)
{
	enum ipt_kind kind = (enum ipt_kind)(IPT_PAD + below(a, NR_IPT_KINDS - IPT_PAD));
	size_t from = out->nr;

	if (kind == IPT_MODE || (kind == IPT_BIP && !a->item_bytes))
		kind = IPT_TNT;
	*ret = (struct ipt_packet){.kind = (uint8_t)kind};
	fill(a, ret);
	/* In a block a short TNT whose lowest bits are 100 would be an item. */
	if (a->item_bytes && kind == IPT_TNT && ret->nr_tnt <= IPT_MAX_SHORT_TNT)
		ret->nr_tnt = IPT_MAX_SHORT_TNT + 1;
	if (!stays_in_block(kind))
		a->item_bytes = 0;
	if (kind == IPT_OVF)
		a->is_after_overflow = true;
	if (kind == IPT_PSB)
		a->is_after_overflow = false;
	ipt_write(out, ret, &a->last_ip);
	ret->bytes = out->nr - from;
}

void ipt_any_stream(struct ipt_any *a, struct buf *out, size_t nr, bool has_garbage)
{
	const struct ipt_packet psb = {.kind = IPT_PSB};
	struct ipt_packet ignored;

	ipt_write(out, &psb, &a->last_ip);
	a->item_bytes = 0;
	a->is_after_overflow = false;
	for (size_t i = 0; i < nr; i++) {
		if (has_garbage && !below(a, 40))
			for (uint32_t n = 1 + below(a, 12); n; n--)
				buf_char(out, (char)any(a));
		ipt_any_packet(a, out, &ignored);
	}
}
