/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_DUMP_BYTES_H
#define FORMAT_TRACE_DUMP_BYTES_H

#include "base/bytes.h"

/*
 * The first bytes of each packet of a stream that comes in pieces, however it was cut: those of the
 * current piece, of what no packet has had yet, and the last ones before the piece. Zeroed struct =
 * no bytes yet.
 */
enum {
	DUMP_BYTES_SHOWN = 20, /* of one packet */
	DUMP_BYTES_KEPT = 64,  /* decoders hold less than that of packets that they return later */
};

struct dump_bytes_run {
	uint64_t at; /* offset of the first */
	unsigned int nr;
	uint8_t data[DUMP_BYTES_KEPT];
};

struct dump_bytes {
	struct bytes piece; /* borrowed until dump_bytes_keep() */
	uint64_t piece_at;
	struct dump_bytes_run
		pending;            /* from the first byte that no packet has had; the shown ones */
	struct dump_bytes_run last; /* before the piece */
};

/** @p piece is next; @p at: its offset. */
void dump_bytes_add(struct dump_bytes *b, struct bytes piece, uint64_t at);

/** The piece goes away. @p offset: of the first byte that no packet has had. */
void dump_bytes_keep(struct dump_bytes *b, uint64_t offset);

/** What comes next does not continue. */
void dump_bytes_reset(struct dump_bytes *b);

/** At most DUMP_BYTES_SHOWN, or @p bytes, from @p offset on. @return how many there are. */
unsigned int dump_bytes_at(const struct dump_bytes *b, uint64_t offset, uint64_t bytes,
			   uint8_t ret[DUMP_BYTES_SHOWN]);

#endif
