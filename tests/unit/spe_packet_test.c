/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_packet.h"

#include "unit/tap.h"

/** What the description of the format says of one header byte: payload bytes, or -1. */
static int want_payload(unsigned int h, enum spe_kind *ret)
{
	static const struct {
		uint8_t mask, value;
		enum spe_kind kind;
		int bytes; /* 0: by bits 5:4 */
	} rows[] = {
		{0xcf, 0x42, SPE_EVENTS,      0},
                {0xcf, 0x43, SPE_DATA_SOURCE, 0},
		{0xfc, 0x48, SPE_OPERATION,   1},
                {0xfc, 0x64, SPE_CONTEXT,     4},
		{0xff, 0x71, SPE_TIMESTAMP,   8},
                {0xf8, 0x98, SPE_COUNTER,     2},
		{0xf8, 0xb0, SPE_ADDRESS,     8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if ((h & rows[i].mask) != rows[i].value)
			continue;
		*ret = rows[i].kind;
		return rows[i].bytes ? rows[i].bytes : 1 << (h >> 4 & 3);
	}
	*ret = h == 0 ? SPE_PAD : h == 1 ? SPE_END : SPE_RESERVED;
	return h <= 1 ? 0 : -1;
}

static unsigned int want_index(unsigned int h, enum spe_kind kind)
{
	if (kind == SPE_OPERATION || kind == SPE_CONTEXT)
		return h & 3;
	return kind == SPE_COUNTER || kind == SPE_ADDRESS ? h & 7 : 0;
}

/** At each length of input. @p first: header bytes before the last one. */
static bool is_right(const uint8_t *bytes, unsigned int header, enum spe_kind kind, int payload,
		     unsigned int index)
{
	unsigned int size = payload < 0 ? 1 : header + (unsigned int)payload;

	for (size_t left = 1; left <= 12; left++) {
		struct spe_packet p;

		spe_packet_at(bytes, left, 0, &p);
		if (p.is_cut != (left < size && payload >= 0))
			return false;
		if (p.is_cut)
			continue;
		if (p.kind != kind || p.bytes != size || p.index != index ||
		    (payload > 0 &&
		     p.payload != (0xa9a8a7a6a5a4a3a2ULL & UINT64_MAX >> (64 - 8 * payload))))
			return false;
	}
	return true;
}

static void fill(uint8_t *bytes, size_t from)
{
	for (size_t i = 0; i < 12; i++)
		bytes[from + i] = (uint8_t)(0xa2 + i);
}

static void check_short(void)
{
	unsigned int nr_wrong = 0;
	uint8_t bytes[16] = {0};

	fill(bytes, 1);
	for (unsigned int h = 0; h < 256; h++) {
		enum spe_kind kind;
		int payload = want_payload(h, &kind);

		if ((h & 0xfc) == 0x20)
			continue;
		bytes[0] = (uint8_t)h;
		nr_wrong += !is_right(bytes, 1, kind, payload, want_index(h, kind));
	}
	CHECK_EQ(nr_wrong, 0, "each header byte, with 0 to 11 further bytes");
}

static void check_extended(void)
{
	unsigned int nr_wrong = 0;
	uint8_t bytes[16] = {0};

	fill(bytes, 2);
	for (unsigned int h = 0; h < 4 * 256; h++) {
		enum spe_kind kind;
		int payload = want_payload(h & 0xff, &kind);
		struct spe_packet p;

		bytes[0] = (uint8_t)(0x20 | h >> 8);
		bytes[1] = (uint8_t)h;
		spe_packet_at(bytes, 1, 0, &p);
		nr_wrong += !p.is_cut;
		if (bytes[1] == 0)
			continue;
		spe_packet_at(bytes, 12, 0, &p);
		if (kind != SPE_COUNTER && kind != SPE_ADDRESS)
			nr_wrong += p.kind != SPE_RESERVED || p.bytes != 1 || p.is_cut;
		else
			nr_wrong += p.kind != kind || p.index != (h >> 8) * 8 + (h & 7) ||
				    p.bytes != 2 + payload ||
				    p.payload != (0xa9a8a7a6a5a4a3a2ULL &
						  UINT64_MAX >> (64 - 8 * payload));
		for (size_t left = 2; payload > 0 && left < 2U + (unsigned int)payload; left++) {
			spe_packet_at(bytes, left, 0, &p);
			nr_wrong += p.is_cut != (kind == SPE_COUNTER || kind == SPE_ADDRESS);
		}
	}
	CHECK_EQ(nr_wrong, 0, "each second byte of extended headers");
}

static void check_alignment(void)
{
	uint8_t bytes[20] = {0x20, 0, 0xff, 0xb0};
	unsigned int nr_wrong = 0;

	for (unsigned int n = 0; n < 4; n++) {
		for (uint64_t offset = 0; offset < 64; offset++) {
			struct spe_packet p;
			uint64_t to = offset + 1;

			while (to % (2U << n))
				to++;
			bytes[0] = (uint8_t)(0x20 | n);
			spe_packet_at(bytes, sizeof(bytes), offset, &p);
			nr_wrong += p.kind != SPE_ALIGNMENT || p.is_cut || p.bytes != to - offset;
			spe_packet_at(bytes, 2, offset, &p);
			nr_wrong += p.is_cut != (to - offset > 2);
		}
	}
	CHECK_EQ(nr_wrong, 0, "alignment counts from the buffer's start");
}

static void check_padding(void)
{
	static uint8_t bytes[300];
	unsigned int nr_wrong = 0;

	for (size_t n = 0; n < sizeof(bytes); n++) {
		bytes[n] = 1;
		for (size_t from = 0; from <= n; from++)
			nr_wrong += spe_padding(bytes + from, sizeof(bytes) - from) != n - from;
		bytes[n] = 0;
		nr_wrong += spe_padding(bytes, n) != n;
	}
	CHECK_EQ(nr_wrong, 0, "padding of each length");
}

int main(void)
{
	check_short();
	check_extended();
	check_alignment();
	check_padding();
	return tap_done();
}
