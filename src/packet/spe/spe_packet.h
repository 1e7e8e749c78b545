/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_PACKET_H
#define PACKET_SPE_SPE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The packets of the Statistical Profiling Extension, each alone: no state, nothing is copied.
 * Payloads are little endian, headers one byte or two (extended: 20-23, then another).
 * Spec: DDI 0487 "Statistical Profiling Extension sample record specification".
 */

enum spe_kind {
	SPE_RESERVED, /* not a header: one byte */
	SPE_PAD,
	SPE_END,
	SPE_ALIGNMENT, /* bytes to skip, up to a boundary of the buffer */
	SPE_EVENTS,
	SPE_DATA_SOURCE,
	SPE_OPERATION, /* index: enum spe_class */
	SPE_CONTEXT,   /* index: 0 CONTEXTIDR_EL1, 1 CONTEXTIDR_EL2, 2 and 3 reserved */
	SPE_TIMESTAMP,
	SPE_COUNTER, /* index: enum spe_counter_index, or up to 31 */
	SPE_ADDRESS, /* index: enum spe_address_index, or up to 31 */
	NR_SPE_KINDS
};

enum spe_class { SPE_CLASS_OTHER, SPE_CLASS_MEMORY, SPE_CLASS_BRANCH, SPE_CLASS_RESERVED };

enum spe_counter_index { SPE_COUNTER_TOTAL, SPE_COUNTER_ISSUE, SPE_COUNTER_XLAT };

enum spe_address_index {
	SPE_ADDRESS_PC,
	SPE_ADDRESS_TARGET,
	SPE_ADDRESS_VA,
	SPE_ADDRESS_PA,
	SPE_ADDRESS_PREV_TARGET,
	NR_SPE_ADDRESSES /* the rest is reserved */
};

enum { SPE_MAX_ALIGNMENT = 16 };

struct spe_packet {
	uint8_t kind; /* enum spe_kind */
	uint8_t index;
	uint8_t header_bytes;  /* 1 or 2 */
	uint8_t payload_bytes; /* 0, 1, 2, 4 or 8 */
	uint8_t bytes;         /* all of it; ALIGNMENT: up to the boundary, 1 to 16 */
	bool is_cut;           /* the input ends inside; payload is 0 */
	uint64_t payload;
};

/**
 * The packet at @p pos, of which @p left bytes (at least 1) are there. @p offset: of @p pos in the
 * AUX buffer, which is what ALIGNMENT counts from. Never reads past @p left.
 */
void spe_packet_at(const uint8_t *pos, size_t left, uint64_t offset, struct spe_packet *ret);

/** The length of the run of padding at @p pos: at the speed of memory. */
size_t spe_padding(const uint8_t *pos, size_t left);

/* One header byte, for those who walk bytes themselves. */

enum spe_header_kind { SPE_EXTENDED = NR_SPE_KINDS };

struct spe_header {
	uint8_t kind;          /* enum spe_kind, or SPE_EXTENDED */
	uint8_t payload_bytes; /* of what it says; 0 where that depends */
	uint8_t index;
};

extern const struct spe_header spe_headers[256];

#endif
