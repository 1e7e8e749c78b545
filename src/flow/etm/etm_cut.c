/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_cut.h"

#include <string.h>

enum { ASYNC_BYTES = 12, MAX_PACKETS_OF_SYNC = 16 };

static bool is_note(uint8_t kind)
{
	return kind == ETM_TRACE_ON || kind == ETM_IGNORE || kind == ETM_TIMESTAMP ||
	       kind == ETM_EVENT || kind == ETM_TS_MARKER ||
	       (kind >= ETM_CCNT_F1 && kind <= ETM_CCNT_F3);
}

static bool is_complete(const struct etm_config *config, struct bytes in)
{
	struct etm_packets packets;
	struct etm_packet k;
	bool has_context = false;

	etm_packets_init(&packets, config);
	packets.is_synced = true;
	if (etm_packets_next(&packets, &in, &k) || k.kind != ETM_ASYNC ||
	    etm_packets_next(&packets, &in, &k) || k.kind != ETM_TRACE_INFO)
		return false;
	for (int i = 0; i < MAX_PACKETS_OF_SYNC && !etm_packets_next(&packets, &in, &k); i++) {
		has_context |= k.context.has_payload;
		if (k.kind >= ETM_ADDR_CTXT_L_32IS0 && k.kind <= ETM_ADDR_L_64IS1 &&
		    k.kind != ETM_TS_MARKER)
			return has_context;
		if (!is_note(k.kind) && !(k.kind == ETM_CTXT && k.context.has_payload))
			return false;
	}
	return false;
}

size_t etm_find_cut(const struct etm_config *config, struct bytes in, size_t from, size_t to)
{
	static const uint8_t async[ASYNC_BYTES] = {[ASYNC_BYTES - 1] = 0x80};
	const uint8_t *at = in.pos + from, *end = in.pos + to;

	while (at < end) {
		at = memmem(at, (size_t)(in.end - at), async, sizeof(async));
		if (!at || at >= end)
			break;
		if (is_complete(config, bytes_of(at, (size_t)(in.end - at))))
			return (size_t)(at - in.pos);
		at += ASYNC_BYTES;
	}
	return to;
}
