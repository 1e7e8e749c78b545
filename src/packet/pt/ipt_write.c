/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_write.h"

#include "packet/pt/ipt_headers.h"

static void put_le(struct buf *to, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		buf_char(to, (char)(v >> 8 * i));
}

/** The first byte of @p kind: of an address its IPBytes are 0. */
static uint8_t first_of(enum ipt_kind kind)
{
	for (unsigned int i = 1; i < 256; i++)
		if (ipt_headers[i].kind == kind)
			return (uint8_t)i;
	return 0;
}

static void put_second(struct buf *to, const struct ipt_packet *k)
{
	bool has_fup = k->has_fup && k->kind != IPT_CFE;

	for (unsigned int i = 0; i < 256; i++) {
		if (ipt_second[i].kind != k->kind ||
		    (k->kind == IPT_PTW && ipt_second[i].bytes != k->bytes) ||
		    (i >> 7 != has_fup && ipt_second[i ^ 0x80].kind == k->kind))
			continue;
		buf_char(to, IPT_EXTENDED);
		buf_char(to, (char)i);
		return;
	}
}

static void put_branches(struct buf *to, const struct ipt_packet *k)
{
	bool is_long = k->nr_tnt > IPT_MAX_SHORT_TNT;
	uint64_t v = 1;

	for (unsigned int i = 0; i < k->nr_tnt; i++)
		v = v << 1 | (k->tnt >> i & 1);
	if (!is_long) {
		buf_char(to, (char)(v << 1));
		return;
	}
	buf_char(to, IPT_EXTENDED);
	buf_char(to, (char)IPT_TNT_LONG);
	put_le(to, v, 6);
}

static void put_address(struct buf *to, const struct ipt_packet *k, uint64_t *last_ip)
{
	buf_char(to, (char)(first_of((enum ipt_kind)k->kind) | k->ip_form << 5));
	put_le(to, k->ip, ipt_address_bytes[k->ip_form]);
	if (k->ip_form != IPT_IP_NONE)
		*last_ip = k->ip;
}

static void put_cycles(struct buf *to, uint64_t v)
{
	buf_char(to, (char)((v & 0x1f) << 3 | (v >> 5 ? 4 : 0) | 3));
	for (v >>= 5; v; v >>= 7)
		buf_char(to, (char)((v & 0x7f) << 1 | (v >> 7 ? 1 : 0)));
}

static void put_psb(struct buf *to)
{
	for (unsigned int i = 0; i < IPT_PSB_PAIRS; i++) {
		buf_char(to, IPT_EXTENDED);
		buf_char(to, (char)IPT_PSB_SECOND);
	}
}

/** Those of one first byte. */
static bool put_first(struct buf *to, const struct ipt_packet *k)
{
	switch (k->kind) {
	case IPT_PAD:
		buf_char(to, 0);
		return true;
	case IPT_CYC:
		put_cycles(to, k->cyc);
		return true;
	case IPT_TSC:
		buf_char(to, (char)first_of(IPT_TSC));
		put_le(to, k->tsc, 7);
		return true;
	case IPT_MTC:
		buf_char(to, (char)first_of(IPT_MTC));
		buf_char(to, (char)k->mtc);
		return true;
	case IPT_MODE_EXEC:
		buf_char(to, (char)first_of(IPT_MODE));
		buf_char(to, (char)(k->exec.cs_l | k->exec.cs_d << 1 | k->exec.is_if << 2));
		return true;
	case IPT_MODE_TSX:
		buf_char(to, (char)first_of(IPT_MODE));
		buf_char(to, (char)(1 << 5 | k->tsx.is_in | k->tsx.is_abort << 1));
		return true;
	case IPT_BIP:
		buf_char(to, (char)(k->bip.item << 3 | 4));
		put_le(to, k->bip.value, (unsigned int)k->bytes - 1);
		return true;
	case IPT_TRIG:
		buf_char(to, (char)first_of(IPT_TRIG));
		buf_char(to, (char)(k->has_fup << 7 | k->trig.has_count << 6 |
				    k->trig.is_multiple << 5));
		buf_char(to, (char)k->trig.trbv);
		put_le(to, k->trig.count, k->trig.has_count ? 2 : 0);
		return true;
	default:
		return false;
	}
}

/** What comes after the two bytes of the others. */
static void put_payload(struct buf *to, const struct ipt_packet *k)
{
	switch (k->kind) {
	case IPT_TMA:
		put_le(to, k->tma.ctc, 2);
		put_le(to, k->tma.has_reserved, 1);
		put_le(to, k->tma.fast, 2);
		break;
	case IPT_CBR:
		put_le(to, k->cbr, 2);
		break;
	case IPT_PIP:
		put_le(to, k->pip.cr3 >> 5 << 1 | k->pip.is_non_root, 6);
		break;
	case IPT_VMCS:
		put_le(to, k->vmcs >> 12, 5);
		break;
	case IPT_MNT:
		buf_char(to, (char)IPT_MNT_THIRD);
		put_le(to, k->mnt, 8);
		break;
	case IPT_PTW:
		put_le(to, k->ptw, (unsigned int)k->bytes - 2);
		break;
	case IPT_MWAIT:
		put_le(to, k->mwait.hints, 4);
		put_le(to, k->mwait.extensions, 4);
		break;
	case IPT_PWRE:
		put_le(to, k->pwre.is_hw << 7, 1);
		put_le(to, k->pwre.state << 4 | k->pwre.sub_state, 1);
		break;
	case IPT_PWRX:
		put_le(to, k->pwrx.last << 4 | k->pwrx.deepest, 1);
		put_le(to, k->pwrx.reason, 4);
		break;
	case IPT_CFE:
		put_le(to, k->has_fup << 7 | k->cfe.type, 1);
		put_le(to, k->cfe.vector, 1);
		break;
	case IPT_EVD:
		put_le(to, k->evd.type, 1);
		put_le(to, k->evd.payload, 8);
		break;
	case IPT_BBP:
		put_le(to, (k->bbp.item_bytes == 4) << 7 | k->bbp.type, 1);
		break;
	default: /* PSBEND, OVF, TraceStop, EXSTOP, BEP */
		break;
	}
}

void ipt_write(struct buf *to, const struct ipt_packet *k, uint64_t *last_ip)
{
	enum ipt_kind kind = (enum ipt_kind)k->kind;

	if (kind == IPT_TNT) {
		put_branches(to, k);
	} else if (ipt_has_ip_form(kind)) {
		put_address(to, k, last_ip);
	} else if (kind == IPT_PSB) {
		put_psb(to);
		*last_ip = 0;
	} else if (kind >= IPT_PAD && kind != IPT_MODE && !put_first(to, k)) {
		put_second(to, k);
		put_payload(to, k);
	}
}

enum ipt_ip_form ipt_ip_shortest(uint64_t ip, uint64_t last)
{
	uint64_t differ = ip ^ last;

	if (!(differ >> 16))
		return IPT_IP_16;
	if (!(differ >> 32))
		return IPT_IP_32;
	if (ipt_ip_of(IPT_IP_SEXT48, ip & ((UINT64_C(1) << 48) - 1), 0) == ip)
		return IPT_IP_SEXT48;
	return differ >> 48 ? IPT_IP_64 : IPT_IP_48;
}
