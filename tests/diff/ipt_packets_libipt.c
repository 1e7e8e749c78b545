/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Usage: ipt_packets_libipt < STREAM: each packet of Intel PT against libipt's packet decoder, at
 * the same place: kind, length, payload. Prints what differs but for what is known (here as
 * "libipt: ...", in docs/decisions/intel-pt.md why), and counts. Fails if anything else differs.
 */
#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "format/trace/ipt_packet_text.h"
#include "packet/pt/ipt_packet.h"

enum { MAX_SHOWN = 20 };

/** What libipt 2.0.5 knows otherwise, or not at all. */
enum known {
	SAME,
	UNKNOWN_TO_LIBIPT, /* blocks of PEBS, event trace, TRIG */
	TMA_RESERVED,      /* refused */
	CYC_TEN_BYTES,     /* refused */
	PWRE_HW,           /* taken from another bit */
	OTHER,
	NR_KNOWN
};
static const char *const known_names[NR_KNOWN] = {
	[SAME] = "the same",
	[UNKNOWN_TO_LIBIPT] = "libipt: packets that it does not know",
	[TMA_RESERVED] = "libipt: TMA with reserved bits",
	[CYC_TEN_BYTES] = "libipt: CYC of ten bytes",
	[PWRE_HW] = "libipt: HW of PWRE",
	[OTHER] = "OTHER",
};

static const enum pt_packet_type types[NR_IPT_KINDS] = {
	[IPT_PAD] = ppt_pad,        [IPT_PSB] = ppt_psb,         [IPT_PSBEND] = ppt_psbend,
	[IPT_TIP] = ppt_tip,        [IPT_TIP_PGE] = ppt_tip_pge, [IPT_TIP_PGD] = ppt_tip_pgd,
	[IPT_FUP] = ppt_fup,        [IPT_TSC] = ppt_tsc,         [IPT_TMA] = ppt_tma,
	[IPT_MTC] = ppt_mtc,        [IPT_CYC] = ppt_cyc,         [IPT_CBR] = ppt_cbr,
	[IPT_MODE_EXEC] = ppt_mode, [IPT_MODE_TSX] = ppt_mode,   [IPT_PIP] = ppt_pip,
	[IPT_VMCS] = ppt_vmcs,      [IPT_OVF] = ppt_ovf,         [IPT_TRACESTOP] = ppt_stop,
	[IPT_MNT] = ppt_mnt,        [IPT_PTW] = ppt_ptw,         [IPT_EXSTOP] = ppt_exstop,
	[IPT_MWAIT] = ppt_mwait,    [IPT_PWRE] = ppt_pwre,       [IPT_PWRX] = ppt_pwrx,
};

static bool is_new(enum ipt_kind kind)
{
	return kind == IPT_BBP || kind == IPT_BIP || kind == IPT_BEP || kind == IPT_CFE ||
	       kind == IPT_EVD || kind == IPT_TRIG;
}

static bool same_branches(const struct ipt_packet *a, const struct pt_packet_tnt *b)
{
	uint64_t reversed = 0;

	for (unsigned int i = 0; i < b->bit_size; i++)
		reversed |= (b->payload >> i & 1) << (b->bit_size - 1 - i);
	return a->nr_tnt == b->bit_size && a->tnt == reversed;
}

static bool same_address(const struct ipt_packet *a, const struct pt_packet_ip *b)
{
	static const uint8_t bits[8] = {0, 16, 32, 48, 48, 0, 64, 0};
	uint64_t mask = bits[b->ipc] == 64 ? UINT64_MAX : (UINT64_C(1) << bits[b->ipc]) - 1;

	return a->ip_form == (unsigned int)b->ipc && (a->ip & mask) == (b->ip & mask);
}

static bool same_mode(const struct ipt_packet *a, const struct pt_packet_mode *b)
{
	if (a->kind == IPT_MODE_EXEC)
		return b->leaf == pt_mol_exec && a->exec.cs_l == b->bits.exec.csl &&
		       a->exec.cs_d == b->bits.exec.csd;
	return b->leaf == pt_mol_tsx && a->tsx.is_in == b->bits.tsx.intx &&
	       a->tsx.is_abort == b->bits.tsx.abrt;
}

static bool same_power(const struct ipt_packet *a, const struct pt_packet *b)
{
	const struct pt_packet_pwrx *x = &b->payload.pwrx;

	if (a->kind == IPT_MWAIT)
		return a->mwait.hints == b->payload.mwait.hints &&
		       a->mwait.extensions == b->payload.mwait.ext;
	if (a->kind == IPT_PWRE)
		return a->pwre.state == b->payload.pwre.state &&
		       a->pwre.sub_state == b->payload.pwre.sub_state;
	return a->pwrx.last == x->last && a->pwrx.deepest == x->deepest &&
	       (a->pwrx.reason & 1) == x->interrupt && (a->pwrx.reason >> 2 & 1) == x->store &&
	       a->pwrx.reason >> 3 == x->autonomous;
}

static bool same_payload(const struct ipt_packet *a, const struct pt_packet *b)
{
	switch (a->kind) {
	case IPT_TNT:
		return same_branches(a, &b->payload.tnt);
	case IPT_TIP:
	case IPT_TIP_PGE:
	case IPT_TIP_PGD:
	case IPT_FUP:
		return same_address(a, &b->payload.ip);
	case IPT_TSC:
		return a->tsc == b->payload.tsc.tsc;
	case IPT_TMA:
		return a->tma.ctc == b->payload.tma.ctc && a->tma.fast == b->payload.tma.fc;
	case IPT_MTC:
		return a->mtc == b->payload.mtc.ctc;
	case IPT_CYC:
		return a->cyc == b->payload.cyc.value;
	case IPT_CBR:
		return a->cbr == b->payload.cbr.ratio;
	case IPT_MODE_EXEC:
	case IPT_MODE_TSX:
		return same_mode(a, &b->payload.mode);
	case IPT_PIP:
		return a->pip.cr3 == b->payload.pip.cr3 && a->pip.is_non_root == b->payload.pip.nr;
	case IPT_VMCS:
		return a->vmcs == b->payload.vmcs.base;
	case IPT_MNT:
		return a->mnt == b->payload.mnt.payload;
	case IPT_PTW:
		return a->ptw == b->payload.ptw.payload && a->has_fup == b->payload.ptw.ip;
	case IPT_EXSTOP:
		return a->has_fup == b->payload.exstop.ip;
	case IPT_MWAIT:
	case IPT_PWRE:
	case IPT_PWRX:
		return same_power(a, b);
	default:
		return true;
	}
}

static bool same_type(const struct ipt_packet *a, const struct pt_packet *b)
{
	if (a->kind == IPT_TNT)
		return b->type == (a->bytes == 1 ? ppt_tnt_8 : ppt_tnt_64);
	return b->type == types[a->kind];
}

/** @p size: what libipt returned. */
static enum known compare(const struct ipt_packet *a, const struct pt_packet *b, int size)
{
	if (a->kind == IPT_BAD || a->kind == IPT_INCOMPLETE)
		return size < 0 ? SAME : OTHER;
	if (is_new((enum ipt_kind)a->kind))
		/* An item of a block begins as a TNT does. */
		return size < 0 || (a->kind == IPT_BIP && b->type == ppt_tnt_8) ? UNKNOWN_TO_LIBIPT
										: OTHER;
	if (size < 0 && a->kind == IPT_TMA && a->tma.has_reserved)
		return TMA_RESERVED;
	if (size < 0 && a->kind == IPT_CYC && a->bytes == 10)
		return CYC_TEN_BYTES;
	if (size < 0 || (uint64_t)size != a->bytes || !same_type(a, b) || !same_payload(a, b))
		return OTHER;
	if (a->kind == IPT_PWRE && a->pwre.is_hw != b->payload.pwre.hw)
		return PWRE_HW;
	return SAME;
}

static void show(const struct ipt_packet *a, const struct pt_packet *b, int size, struct bytes in)
{
	struct buf text = {0};

	buf_printf(&text, "# %" PRIu64 ":", a->offset);
	for (uint64_t i = 0; i < a->bytes && i < 16; i++)
		buf_printf(&text, " %02x", in.pos[a->offset + i]);
	buf_printf(&text, " %s ", ipt_kind_name((enum ipt_kind)a->kind));
	ipt_packet_text(&text, a);
	printf("%s, libipt: %d, type %d\n", buf_cstr(&text), size, size < 0 ? 0 : (int)b->type);
	buf_done(&text);
}

struct totals {
	uint64_t nr[NR_KNOWN], skipped;
};

static void take(struct totals *t, struct pt_packet_decoder *d, const struct ipt_packet *p,
		 struct bytes in)
{
	struct pt_packet theirs = {0};
	enum known known;
	int size;

	if (p->kind == IPT_NOT_SYNCED) {
		t->skipped += p->bytes;
		return;
	}
	size = pt_pkt_sync_set(d, p->offset);
	if (!size)
		size = pt_pkt_next(d, &theirs, sizeof(theirs));
	known = compare(p, &theirs, size);
	if (known == OTHER && t->nr[OTHER] < MAX_SHOWN)
		show(p, &theirs, size, in);
	t->nr[known]++;
}

static void read_all(struct buf *b)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(0, piece, sizeof(piece))) > 0)
		buf_add(b, piece, (size_t)n);
}

int main(void)
{
	struct ipt_config config = {0};
	struct totals t = {0};
	struct pt_packet_decoder *d;
	struct pt_config theirs;
	struct ipt_packets p;
	struct ipt_packet k;
	struct buf stream = {0};
	struct bytes in, all;

	read_all(&stream);
	all = in = bytes_of(stream.data, stream.nr);
	pt_config_init(&theirs);
	theirs.begin = (uint8_t *)stream.data;
	theirs.end = theirs.begin + stream.nr;
	d = pt_pkt_alloc_decoder(&theirs);
	if (!d)
		return 2;
	ipt_packets_init(&p, &config);
	while (ipt_packets_next(&p, &in, &k) == CLEW_OK)
		take(&t, d, &k, all);
	while (ipt_packets_finish(&p, &k) == CLEW_OK)
		take(&t, d, &k, all);
	for (int i = 0; i < NR_KNOWN; i++)
		if (t.nr[i])
			printf("%" PRIu64 " %s\n", t.nr[i], known_names[i]);
	if (t.skipped)
		printf("%" PRIu64 " bytes skipped\n", t.skipped);
	pt_pkt_free_decoder(d);
	buf_done(&stream);
	return t.nr[OTHER] != 0;
}
