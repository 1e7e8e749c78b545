/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_SPE_DUMP_H
#define FORMAT_TRACE_SPE_DUMP_H

#include "base/buf.h"
#include "packet/spe/spe_packet.h"

/*
 * SPE packets as `perf script -D` of Linux 7.3 prints them: every byte is in one line, whatever it
 * is; nothing is assembled. Where perf repeats the line before (operations of class 0 that are
 * reserved), it is "OTHER reserved 0x..".
 */

/** Beyond the common events. */
enum spe_core {
	SPE_CORE_UNKNOWN,
	SPE_CORE_NEOVERSE_N1, /* event 12: LATE-PREFETCH */
};

/** By MIDR_EL1; 0: unknown. */
enum spe_core spe_core_of(uint32_t midr);

/** "PC 0xffff800010000000 el1 ns=1": no newline. @p p is whole. */
void spe_packet_text(struct buf *out, const struct spe_packet *p, enum spe_core core);

/** "LD GP-REG": an operation by class and payload. */
void spe_operation_text(struct buf *out, unsigned int op_class, uint8_t payload);

/** "EV RETIRED L1D-ACCESS". */
void spe_events_text(struct buf *out, uint64_t events, enum spe_core core);

/**
 * Lines of the @p bytes at @p data; @p offset: of data in the AUX buffer, from which alignment is
 * counted. Offsets in the lines are from data on.
 *
 *	.  00000000:  b0 5c 8b 8c 86 c2 c0 ff c0                      PC 0xffc0c2868c8b5c el2 ns=1
 *
 * A packet that @p data cuts is "Bad packet!", byte by byte. Large data makes large text: dump it
 * in pieces, by spe_dump_head() and spe_dump_lines().
 */
void spe_dump(struct buf *out, const uint8_t *data, size_t bytes, uint64_t offset,
	      enum spe_core core);

/** The lines before them. */
void spe_dump_head(struct buf *out, size_t bytes);

/** Of the lines, at most @p max from *at on, which moves past them. @return lines; 0: all done.
 */
size_t spe_dump_lines(struct buf *out, const uint8_t *data, size_t bytes, uint64_t offset,
		      enum spe_core core, size_t *at, size_t max);

#endif
