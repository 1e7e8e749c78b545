/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_packet.h"

#include "packet/pt/ipt_headers.h"

enum got {
	GOT_MORE_TO_COME, /* the input ends inside the packet */
	GOT_IT,
	GOT_BAD,
};

static uint64_t load_le(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static uint64_t reversed(uint64_t v, unsigned int bits)
{
	v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
	v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
	return __builtin_bswap64(v) >> (64 - bits);
}

/** The highest bit ends them; below it the highest is the oldest. */
static enum got branches(uint64_t v, struct ipt_packet *ret)
{
	unsigned int nr = v ? 63 - (unsigned int)__builtin_clzll(v) : 0;

	if (!nr)
		return GOT_BAD;
	ret->nr_tnt = (uint8_t)nr;
	ret->tnt = reversed(v & ((UINT64_C(1) << nr) - 1), nr);
	return GOT_IT;
}

static enum got address(const struct ipt_packets *p, const uint8_t *d, struct ipt_packet *ret)
{
	ret->ip_form = d[0] >> 5;
	ret->ip = ipt_ip_of((enum ipt_ip_form)ret->ip_form,
			    load_le(d + 1, ipt_address_bytes[ret->ip_form]), p->last_ip);
	ret->is_doubtful = p->is_after_overflow && ret->ip_form != IPT_IP_SEXT48 &&
			   ret->ip_form != IPT_IP_64 && ret->ip_form != IPT_IP_NONE;
	return GOT_IT;
}

/** Byte 0: bits 7:3 are the lowest, bit 2 = one more; the next ones: bits 7:1, bit 0 = one more. */
static enum got cycles(const struct ipt_packets *p, const uint8_t *d, size_t nr,
		       struct ipt_packet *ret)
{
	uint64_t v = d[0] >> 3;
	unsigned int i = 1;

	for (bool has_more = d[0] & 4; has_more; i++) {
		if (i == IPT_MAX_CYC_BYTES)
			return GOT_BAD;
		if (i == nr)
			return GOT_MORE_TO_COME;
		v |= (uint64_t)(d[i] >> 1) << (5 + 7 * (i - 1));
		has_more = d[i] & 1;
	}
	ret->bytes = i;
	ret->cyc = v;
	if (!(p->config->errata & IPT_SKD007) || i != 2 || d[1] != IPT_EXTENDED)
		return GOT_IT;
	if (nr < 3)
		return GOT_MORE_TO_COME;
	if (ipt_second[d[2]].kind == IPT_OVF) { /* its first byte is all there is of the CYC */
		ret->kind = IPT_PAD;
		ret->bytes = 1;
	}
	return GOT_IT;
}

static enum got mode(uint8_t v, struct ipt_packet *ret)
{
	switch (v >> 5) {
	case 0:
		ret->kind = IPT_MODE_EXEC;
		ret->exec.cs_l = v & 1;
		ret->exec.cs_d = v & 2;
		ret->exec.is_if = v & 4;
		return GOT_IT;
	case 1:
		ret->kind = IPT_MODE_TSX;
		ret->tsx.is_in = v & 1;
		ret->tsx.is_abort = v & 2;
		return GOT_IT;
	default:
		return GOT_BAD;
	}
}

static enum got trigger(const uint8_t *d, size_t nr, struct ipt_packet *ret)
{
	ret->has_fup = d[1] & 0x80;
	ret->trig.has_count = d[1] & 0x40;
	ret->trig.is_multiple = d[1] & 0x20;
	ret->trig.trbv = d[2];
	ret->trig.count = 0;
	if (!ret->trig.has_count)
		return GOT_IT;
	ret->bytes += 2;
	if (nr < ret->bytes)
		return GOT_MORE_TO_COME;
	ret->trig.count = (uint16_t)load_le(d + 3, 2);
	return GOT_IT;
}

static enum got tma(const struct ipt_packets *p, const uint8_t *d, size_t nr,
		    struct ipt_packet *ret)
{
	ret->tma.ctc = (uint16_t)load_le(d + 2, 2);
	ret->tma.fast = (uint16_t)(load_le(d + 5, 2) & 0x1ff);
	ret->tma.has_reserved = d[4] || d[6] & 0xfe;
	if (ret->tma.has_reserved && p->config->errata & IPT_SKZ84)
		ret->bytes++;
	return nr < ret->bytes ? GOT_MORE_TO_COME : GOT_IT;
}

static enum got psb(const uint8_t *d)
{
	for (unsigned int i = 0; i < IPT_PSB_BYTES; i++)
		if (d[i] != (i & 1 ? IPT_PSB_SECOND : IPT_EXTENDED))
			return GOT_BAD;
	return GOT_IT;
}

static void wait_state(const uint8_t *d, struct ipt_packet *ret)
{
	if (ret->kind == IPT_PWRE) {
		ret->pwre.is_hw = d[2] & 0x80;
		ret->pwre.state = d[3] >> 4;
		ret->pwre.sub_state = d[3] & 15;
	} else {
		ret->pwrx.deepest = d[2] & 15;
		ret->pwrx.last = d[2] >> 4;
		ret->pwrx.reason = d[3] & 15;
	}
}

/** After 02. All of the packet is there. */
static enum got extended(const struct ipt_packets *p, const uint8_t *d, size_t nr,
			 struct ipt_packet *ret)
{
	switch (ret->kind) {
	case IPT_PSB:
		return psb(d);
	case IPT_TNT:
		return branches(load_le(d + 2, 6), ret);
	case IPT_TMA:
		return tma(p, d, nr, ret);
	case IPT_CBR:
		ret->cbr = d[2];
		return GOT_IT;
	case IPT_PIP:
		ret->pip.is_non_root = d[2] & 1;
		ret->pip.cr3 = load_le(d + 2, 6) >> 1 << 5;
		return GOT_IT;
	case IPT_VMCS:
		ret->vmcs = load_le(d + 2, 5) << 12;
		return GOT_IT;
	case IPT_MNT:
		ret->mnt = load_le(d + 3, 8);
		return d[2] == IPT_MNT_THIRD ? GOT_IT : GOT_BAD;
	case IPT_PTW:
		ret->has_fup = d[1] & 0x80;
		ret->ptw = load_le(d + 2, (unsigned int)ret->bytes - 2);
		return GOT_IT;
	case IPT_EXSTOP:
	case IPT_BEP:
		ret->has_fup = d[1] & 0x80;
		return GOT_IT;
	case IPT_MWAIT:
		ret->mwait.hints = load_le32(d + 2);
		ret->mwait.extensions = load_le32(d + 6);
		return GOT_IT;
	case IPT_PWRE:
	case IPT_PWRX:
		wait_state(d, ret);
		return GOT_IT;
	case IPT_CFE:
		ret->has_fup = d[2] & 0x80;
		ret->cfe.type = d[2] & 0x1f;
		ret->cfe.vector = d[3];
		return GOT_IT;
	case IPT_EVD:
		ret->evd.type = d[2] & 0x3f;
		ret->evd.payload = load_le64(d + 3);
		return GOT_IT;
	case IPT_BBP:
		ret->bbp.type = d[2] & 0x1f;
		ret->bbp.item_bytes = d[2] & 0x80 ? 4 : 8;
		return GOT_IT;
	case IPT_PSBEND:
	case IPT_OVF:
	case IPT_TRACESTOP:
		return GOT_IT;
	default:
		return GOT_BAD;
	}
}

static enum got item(const struct ipt_packets *p, const uint8_t *d, size_t nr,
		     struct ipt_packet *ret)
{
	ret->kind = IPT_BIP;
	ret->bytes = 1u + p->item_bytes;
	if (nr < ret->bytes)
		return GOT_MORE_TO_COME;
	ret->bip.item = d[0] >> 3;
	ret->bip.value = load_le(d + 1, p->item_bytes);
	return GOT_IT;
}

/** The packet at @p d, of which @p nr bytes are there. */
static enum got packet(const struct ipt_packets *p, const uint8_t *d, size_t nr,
		       struct ipt_packet *ret)
{
	const struct ipt_header *h = &ipt_headers[d[0]];

	*ret = (struct ipt_packet){.offset = p->offset};
	if (p->item_bytes && (d[0] & 7) == 4)
		return item(p, d, nr, ret);
	if (d[0] == IPT_EXTENDED) {
		if (nr < 2)
			return GOT_MORE_TO_COME;
		h = &ipt_second[d[1]];
	}
	ret->kind = h->kind;
	ret->bytes = h->bytes;
	if (ret->kind == IPT_BAD)
		return GOT_BAD;
	if (nr < ret->bytes)
		return GOT_MORE_TO_COME;
	if (d[0] == IPT_EXTENDED)
		return extended(p, d, nr, ret);
	switch (ret->kind) {
	case IPT_TNT:
		return branches(d[0] >> 1, ret);
	case IPT_TIP:
	case IPT_TIP_PGE:
	case IPT_TIP_PGD:
	case IPT_FUP:
		return address(p, d, ret);
	case IPT_CYC:
		return cycles(p, d, nr, ret);
	case IPT_TSC:
		ret->tsc = load_le(d + 1, 7);
		return GOT_IT;
	case IPT_MTC:
		ret->mtc = d[1];
		return GOT_IT;
	case IPT_MODE:
		return mode(d[1], ret);
	case IPT_TRIG:
		return trigger(d, nr, ret);
	default: /* PAD */
		return GOT_IT;
	}
}

/** Spec: Intel SDM volume 3, "Intel Processor Trace": "Block Begin Packet". */
static bool ends_block(enum ipt_kind kind)
{
	static const bool ends[NR_IPT_KINDS] = {
		[IPT_TNT] = true,       [IPT_TIP] = true,   [IPT_TIP_PGE] = true,
		[IPT_TIP_PGD] = true,   [IPT_PIP] = true,   [IPT_MODE_EXEC] = true,
		[IPT_MODE_TSX] = true,  [IPT_VMCS] = true,  [IPT_OVF] = true,
		[IPT_PSB] = true,       [IPT_PTW] = true,   [IPT_PSBEND] = true,
		[IPT_TRACESTOP] = true, [IPT_MWAIT] = true, [IPT_CFE] = true,
		[IPT_EVD] = true,       [IPT_BEP] = true,
	};

	return ends[kind];
}

/** What a whole packet changes for those after it. */
static void take(struct ipt_packets *p, const struct ipt_packet *k)
{
	enum ipt_kind kind = (enum ipt_kind)k->kind;

	p->offset += k->bytes;
	if (ipt_has_ip_form(kind)) {
		p->last_ip = k->ip;
		if (k->ip_form == IPT_IP_SEXT48 || k->ip_form == IPT_IP_64)
			p->is_after_overflow = false;
	}
	if (p->item_bytes && ends_block(kind))
		p->item_bytes = 0;
	switch (k->kind) {
	case IPT_BBP:
		p->item_bytes = k->bbp.item_bytes;
		break;
	case IPT_PSB:
		p->last_ip = 0;
		p->is_after_overflow = false;
		break;
	case IPT_OVF:
		p->is_after_overflow = true;
		break;
	case IPT_BAD:
		p->is_synced = false;
		p->item_bytes = 0;
		break;
	default:
		break;
	}
}

void ipt_packets_init(struct ipt_packets *p, const struct ipt_config *config)
{
	*p = (struct ipt_packets){.config = config};
}

void ipt_packets_reset(struct ipt_packets *p, uint64_t offset)
{
	*p = (struct ipt_packets){.config = p->config, .offset = offset};
}

/** The run of 02 82 has ended: the last eight pairs of it are a PSB, and those before them, eight
 * by eight; a 02 after them is of the next packet. */
static void end_run(struct ipt_packets *p)
{
	uint64_t nr_pairs = p->nr_run / 2;

	p->nr_psbs = nr_pairs / IPT_PSB_PAIRS;
	p->nr_skipped += nr_pairs % IPT_PSB_PAIRS * 2;
	if (p->nr_run & 1)
		p->held[p->nr_held++] = IPT_EXTENDED;
	p->nr_run = 0;
	p->is_synced = true;
}

/** @return false: a PSB ends before @p byte. */
static bool skip_byte(struct ipt_packets *p, uint8_t byte)
{
	if (byte == (p->nr_run & 1 ? IPT_PSB_SECOND : IPT_EXTENDED)) {
		p->nr_run++;
		return true;
	}
	if (p->nr_run >= IPT_PSB_BYTES)
		return false;
	p->nr_skipped += p->nr_run;
	p->nr_run = byte == IPT_EXTENDED;
	p->nr_skipped += !p->nr_run;
	return true;
}

/** @return false: the input is used up. */
static bool find_psb(struct ipt_packets *p, struct bytes *in)
{
	unsigned int nr = p->nr_held;

	/* What is held is too short for a PSB. */
	p->nr_held = 0;
	for (unsigned int i = 0; i < nr; i++)
		skip_byte(p, p->held[i]);
	for (; in->pos < in->end; in->pos++) {
		if (!p->nr_run) {
			const uint8_t *at = memchr(in->pos, IPT_EXTENDED, bytes_left(in));

			p->nr_skipped += (size_t)((at ? at : in->end) - in->pos);
			in->pos = at ? at : in->end;
			if (!at)
				return false;
		}
		if (!skip_byte(p, *in->pos)) {
			end_run(p);
			return true;
		}
	}
	return false;
}

/** What the search has found. @return false: nothing is left of it. */
static bool found(struct ipt_packets *p, struct ipt_packet *ret)
{
	*ret = (struct ipt_packet){.offset = p->offset};
	if (p->nr_skipped) {
		ret->kind = IPT_NOT_SYNCED;
		ret->bytes = p->nr_skipped;
		p->nr_skipped = 0;
	} else if (p->nr_psbs) {
		ret->kind = IPT_PSB;
		ret->bytes = IPT_PSB_BYTES;
		p->nr_psbs--;
	} else {
		return false;
	}
	take(p, ret);
	return true;
}

/** Of what is held, and as much of the input as the longest packet needs. */
static enum got held_packet(struct ipt_packets *p, struct bytes *in, struct ipt_packet *ret)
{
	size_t nr = sizeof(p->held) - p->nr_held;
	enum got got;

	if (nr > bytes_left(in))
		nr = bytes_left(in);
	memcpy(p->held + p->nr_held, in->pos, nr);
	got = packet(p, p->held, p->nr_held + nr, ret);
	if (got == GOT_BAD) {
		p->nr_held--;
		memmove(p->held, p->held + 1, p->nr_held);
	} else if (got == GOT_IT && ret->bytes >= p->nr_held) {
		in->pos += ret->bytes - p->nr_held;
		p->nr_held = 0;
	} else if (got == GOT_IT) { /* an erratum: less than was held */
		p->nr_held -= (uint8_t)ret->bytes;
		memmove(p->held, p->held + ret->bytes, p->nr_held);
	} else {
		in->pos += nr;
		p->nr_held += (uint8_t)nr;
	}
	return got;
}

static enum got fed_packet(struct ipt_packets *p, struct bytes *in, struct ipt_packet *ret)
{
	size_t nr = bytes_left(in);
	enum got got = packet(p, in->pos, nr, ret);

	if (got == GOT_MORE_TO_COME) {
		memcpy(p->held, in->pos, nr);
		p->nr_held = (uint8_t)nr;
		in->pos = in->end;
	} else {
		in->pos += got == GOT_BAD ? 1 : ret->bytes;
	}
	return got;
}

enum clew_err ipt_packets_next(struct ipt_packets *p, struct bytes *in, struct ipt_packet *ret)
{
	enum got got;

	if (!p->is_synced && !find_psb(p, in))
		return CLEW_END;
	if (__builtin_expect(p->nr_skipped || p->nr_psbs, 0)) {
		found(p, ret);
		return CLEW_OK;
	}
	if (!bytes_left(in))
		return CLEW_END;
	got = p->nr_held ? held_packet(p, in, ret) : fed_packet(p, in, ret);
	if (got == GOT_MORE_TO_COME)
		return CLEW_END;
	if (got == GOT_BAD)
		*ret = (struct ipt_packet){.kind = IPT_BAD, .offset = p->offset, .bytes = 1};
	take(p, ret);
	return CLEW_OK;
}

enum clew_err ipt_packets_finish(struct ipt_packets *p, struct ipt_packet *ret)
{
	struct bytes none = {0};

	if (!p->is_synced) {
		find_psb(p, &none);
		if (p->nr_run >= IPT_PSB_BYTES) {
			end_run(p);
		} else {
			p->nr_skipped += p->nr_run;
			p->nr_run = 0;
		}
	}
	if (found(p, ret))
		return CLEW_OK;
	if (!p->nr_held)
		return CLEW_END;
	*ret = (struct ipt_packet){
		.kind = IPT_INCOMPLETE, .offset = p->offset, .bytes = p->nr_held};
	take(p, ret);
	p->nr_held = 0;
	return CLEW_OK;
}

const char *ipt_kind_name(enum ipt_kind kind)
{
	static const char *const names[NR_IPT_KINDS] = {
		[IPT_BAD] = "BAD",
		[IPT_INCOMPLETE] = "INCOMPLETE",
		[IPT_NOT_SYNCED] = "NOT_SYNCED",
		[IPT_PAD] = "PAD",
		[IPT_PSB] = "PSB",
		[IPT_PSBEND] = "PSBEND",
		[IPT_TNT] = "TNT",
		[IPT_TIP] = "TIP",
		[IPT_TIP_PGE] = "TIP.PGE",
		[IPT_TIP_PGD] = "TIP.PGD",
		[IPT_FUP] = "FUP",
		[IPT_TSC] = "TSC",
		[IPT_TMA] = "TMA",
		[IPT_MTC] = "MTC",
		[IPT_CYC] = "CYC",
		[IPT_CBR] = "CBR",
		[IPT_MODE] = "MODE",
		[IPT_MODE_EXEC] = "MODE.Exec",
		[IPT_MODE_TSX] = "MODE.TSX",
		[IPT_PIP] = "PIP",
		[IPT_VMCS] = "VMCS",
		[IPT_OVF] = "OVF",
		[IPT_TRACESTOP] = "TraceStop",
		[IPT_MNT] = "MNT",
		[IPT_PTW] = "PTW",
		[IPT_EXSTOP] = "EXSTOP",
		[IPT_MWAIT] = "MWAIT",
		[IPT_PWRE] = "PWRE",
		[IPT_PWRX] = "PWRX",
		[IPT_CFE] = "CFE",
		[IPT_EVD] = "EVD",
		[IPT_BBP] = "BBP",
		[IPT_BIP] = "BIP",
		[IPT_BEP] = "BEP",
		[IPT_TRIG] = "TRIG",
	};

	return names[kind];
}
