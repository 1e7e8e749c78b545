/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_SHAPE_H
#define PACKET_SPE_SPE_SHAPE_H

#include "packet/spe/spe_record.h"

/*
 * The fast way to read a record. A core writes a few dozen sequences of headers. Once met, such a
 * shape is known by comparing the header bytes at their places, and its payloads are read from
 * theirs, without a branch per packet.
 */

/** Bytes that have to be readable at a record for spe_shapes_read(). */
enum { SPE_SHAPE_ROOM = 8 * SPE_SHAPE_WORDS + 8 };

void spe_shapes_init(struct spe_shapes *s);

/** Remember the shape of the record at @p pos, which spe_record_parse() read as @p rec. */
void spe_shapes_learn(struct spe_shapes *s, const uint8_t *pos, const struct spe_record *rec);

/**
 * As spe_record_parse(), if the shape is known, but for ret->saturated. @p pos: SPE_SHAPE_ROOM
 * bytes.
 * @return false: an unknown shape; *ret is undefined.
 */
bool spe_shapes_read(const struct spe_shapes *s, const uint8_t *pos, uint64_t offset,
		     struct spe_record *ret);

#endif
