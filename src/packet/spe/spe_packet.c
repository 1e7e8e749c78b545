/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_packet.h"

#include "base/bytes.h"

/* clang-format off */
#define HEADER(k, bytes, index) {SPE_##k, bytes, index}
#define INDEXED8(k, base, bytes) \
	[base]     = HEADER(k, bytes, 0), [base + 1] = HEADER(k, bytes, 1), \
	[base + 2] = HEADER(k, bytes, 2), [base + 3] = HEADER(k, bytes, 3), \
	[base + 4] = HEADER(k, bytes, 4), [base + 5] = HEADER(k, bytes, 5), \
	[base + 6] = HEADER(k, bytes, 6), [base + 7] = HEADER(k, bytes, 7)
#define INDEXED4(k, base, bytes) \
	[base]     = HEADER(k, bytes, 0), [base + 1] = HEADER(k, bytes, 1), \
	[base + 2] = HEADER(k, bytes, 2), [base + 3] = HEADER(k, bytes, 3)

/* Whatever is not named is reserved. Of EXTENDED the index is what it adds to the second byte's. */
const struct spe_header spe_headers[256] = {
	[0x00] = HEADER(PAD,         0, 0),
	[0x01] = HEADER(END,         0, 0),
	[0x20] = HEADER(EXTENDED,    0, 0),  /* then 00: ALIGNMENT; 98-9f: COUNTER; b0-b7: ADDRESS */
	[0x21] = HEADER(EXTENDED,    0, 8),
	[0x22] = HEADER(EXTENDED,    0, 16),
	[0x23] = HEADER(EXTENDED,    0, 24),
	[0x42] = HEADER(EVENTS,      1, 0),  /* bit set */
	[0x43] = HEADER(DATA_SOURCE, 1, 0),
	INDEXED4(OPERATION, 0x48, 1),        /* class; subclass and flags */
	[0x52] = HEADER(EVENTS,      2, 0),
	[0x53] = HEADER(DATA_SOURCE, 2, 0),
	[0x62] = HEADER(EVENTS,      4, 0),
	[0x63] = HEADER(DATA_SOURCE, 4, 0),
	INDEXED4(CONTEXT,   0x64, 4),        /* CONTEXTIDR */
	[0x71] = HEADER(TIMESTAMP,   8, 0),  /* ticks */
	[0x72] = HEADER(EVENTS,      8, 0),
	[0x73] = HEADER(DATA_SOURCE, 8, 0),
	INDEXED8(COUNTER,   0x98, 2),        /* cycles, saturating */
	INDEXED8(ADDRESS,   0xb0, 8),        /* address; level, security, tag, attributes */
};
/* clang-format on */

static uint64_t load_le(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/** @p ret has header_bytes, kind and payload_bytes: is all of it there? */
static void take_payload(const uint8_t *pos, size_t left, struct spe_packet *ret)
{
	ret->bytes = ret->header_bytes + ret->payload_bytes;
	if (left < ret->bytes)
		ret->is_cut = true;
	else
		ret->payload = load_le(pos + ret->header_bytes, ret->payload_bytes);
}

static void take_alignment(const uint8_t *pos, size_t left, uint64_t offset, struct spe_packet *ret)
{
	uint64_t align = 2ULL << (*pos & 3);

	ret->kind = SPE_ALIGNMENT;
	ret->index = *pos & 3;
	ret->header_bytes = 2;
	ret->bytes = (uint8_t)(align - (offset & (align - 1)));
	ret->is_cut = left < ret->bytes;
}

static void take_extended(const uint8_t *pos, size_t left, uint64_t offset, struct spe_packet *ret)
{
	const struct spe_header *h;

	if (left < 2) {
		*ret = (struct spe_packet){.header_bytes = 1, .bytes = 2, .is_cut = true};
		return;
	}
	h = &spe_headers[pos[1]];
	if (h->kind == SPE_PAD) {
		take_alignment(pos, left, offset, ret);
	} else if (h->kind == SPE_COUNTER || h->kind == SPE_ADDRESS) {
		ret->kind = h->kind;
		ret->index = spe_headers[*pos].index + h->index;
		ret->header_bytes = 2;
		ret->payload_bytes = h->payload_bytes;
		take_payload(pos, left, ret);
	} else {
		*ret = (struct spe_packet){.header_bytes = 1, .bytes = 1};
	}
}

void spe_packet_at(const uint8_t *pos, size_t left, uint64_t offset, struct spe_packet *ret)
{
	const struct spe_header *h = &spe_headers[*pos];

	*ret = (struct spe_packet){.kind = h->kind,
				   .index = h->index,
				   .header_bytes = 1,
				   .payload_bytes = h->payload_bytes};
	if (h->kind == SPE_EXTENDED)
		take_extended(pos, left, offset, ret);
	else
		take_payload(pos, left, ret);
}

size_t spe_padding(const uint8_t *pos, size_t left)
{
	size_t n = 0;

	for (; left - n >= 32; n += 32)
		if (load_u64(pos + n, false) | load_u64(pos + n + 8, false) |
		    load_u64(pos + n + 16, false) | load_u64(pos + n + 24, false))
			break;
	while (n < left && !pos[n])
		n++;
	return n;
}
