/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_CORESIGHT_CS_DSTREAM_H
#define PACKET_CORESIGHT_CS_DSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a DSTREAM probe stores: blocks of 512 bytes, 504 of trace (CS_TPIU) and a footer of 8.
 *
 *   byte 0..3   00 00 00 00, 02 00 00 00 or 00 00 00 80: flags, by what captures show
 *   byte 4..5   7e or 00, and c0
 *   byte 6..7   one less in each block, from 0ffe on
 *
 * No specification of it is public; the numbers are those of captures.
 */
enum {
	CS_DSTREAM_BLOCK = 512,
	CS_DSTREAM_TRACE = 504,
	CS_DSTREAM_FOOTER = CS_DSTREAM_BLOCK - CS_DSTREAM_TRACE,
};

/**
 * Do the whole blocks of @p data end with footers? Three quarters of them have to, in the first
 * 2 MiB: a capture may be damaged, and a footer with other flags still counts down. Trace of which
 * the footers were taken away has the same name in snapshots.
 */
bool cs_is_dstream(const uint8_t *data, size_t bytes);

#endif
