/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_sync.h"

#include <string.h>

#include "packet/pt/ipt_headers.h"

enum { MAX_PACKETS = 256 /* that are looked at after a PSB */ };

/** @return false: it ends the PSB+, and is none of it. */
static bool take_in_psb(struct ipt_sync *s, const struct ipt_packet *k)
{
	switch ((unsigned int)k->kind) {
	case IPT_TSC:
		s->has |= IPT_SYNC_TSC;
		s->tsc = k->tsc;
		return true;
	case IPT_CBR:
		s->has |= IPT_SYNC_CBR;
		return true;
	case IPT_MODE_EXEC:
		s->has |= IPT_SYNC_MODE;
		return true;
	case IPT_PIP:
		s->has |= IPT_SYNC_PIP;
		return true;
	case IPT_VMCS:
		s->has |= IPT_SYNC_VMCS;
		return true;
	case IPT_FUP:
		if (k->ip_form == IPT_IP_NONE)
			return true;
		s->has |= IPT_SYNC_ON;
		s->ip = k->ip;
		s->ip_at = s->at + (size_t)k->offset;
		return true;
	case IPT_MODE_TSX:
	case IPT_TMA:
	case IPT_MTC:
	case IPT_CYC:
	case IPT_PAD:
	case IPT_MNT:
	case IPT_PSB:
		return true;
	default:
		return false;
	}
}

/** @return false: nothing after it matters. */
static bool take_after(struct ipt_sync *s, const struct ipt_packet *k)
{
	switch ((unsigned int)k->kind) {
	case IPT_TIP_PGE: /* erratum BDM70: the FUP was none */
		s->has &= (uint8_t)~IPT_SYNC_ON;
		s->ip = s->ip_at = 0;
		s->has |= IPT_SYNC_BRANCH;
		return false;
	case IPT_TNT:
	case IPT_TIP:
	case IPT_TIP_PGD:
		s->has |= IPT_SYNC_BRANCH;
		return false;
	case IPT_BAD:
	case IPT_OVF:
	case IPT_PSB:
	case IPT_FUP:
		return false;
	default:
		return true;
	}
}

/** What the PSB+ at @p in says. @return false: it is not whole. */
static bool read_psb(const struct ipt_config *config, struct bytes in, struct ipt_sync *ret)
{
	struct ipt_packets packets;
	struct ipt_packet k;
	bool is_whole = false;

	ipt_packets_init(&packets, config);
	packets.is_synced = true;
	for (int i = 0; i < MAX_PACKETS && !ipt_packets_next(&packets, &in, &k); i++) {
		if (!is_whole && k.kind == IPT_PSBEND)
			is_whole = true;
		else if (!(is_whole ? take_after(ret, &k) : take_in_psb(ret, &k)))
			break;
	}
	return is_whole;
}

/** Of more than eight pairs the last eight, as a decoder that searches takes them. */
static const uint8_t *last_of_run(const uint8_t *at, const uint8_t *end)
{
	while (end - at >= IPT_PSB_BYTES + 2 && at[IPT_PSB_BYTES] == 0x02 &&
	       at[IPT_PSB_BYTES + 1] == 0x82)
		at += 2;
	return at;
}

bool ipt_sync_find(const struct ipt_config *config, struct bytes in, size_t from,
		   struct ipt_sync *ret)
{
	const uint8_t *at = from < bytes_left(&in) ? in.pos + from : in.end;

	while (at != in.end && (at = memmem(at, (size_t)(in.end - at), ipt_psb, IPT_PSB_BYTES))) {
		struct ipt_sync s = {0};

		at = last_of_run(at, in.end);
		s.at = (size_t)(at - in.pos);
		if (read_psb(config, bytes_of(at, (size_t)(in.end - at)), &s)) {
			*ret = s;
			return true;
		}
		at += IPT_PSB_BYTES;
	}
	return false;
}
