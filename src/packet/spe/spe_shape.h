/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_SHAPE_H
#define PACKET_SPE_SPE_SHAPE_H

#include "base/bytes.h"
#include "packet/spe/spe_record.h"

/*
 * The fast way to read a record. A core writes a few dozen sequences of headers. Once met, such a
 * shape is known by comparing the header bytes at their places, and its payloads are read from
 * theirs, without a branch per packet.
 */

/** Bytes that have to be readable at a record for spe_shapes_read(). */
enum { SPE_SHAPE_ROOM = 8 * SPE_SHAPE_WORDS + 8 };

/** From the bytes that are headers in all shapes: what makes shapes differ begins there. */
static inline unsigned int spe_shapes_key(const struct spe_shapes *s, const uint8_t *pos)
{
	uint64_t a = load_u64(pos, false) & s->key_mask[0];
	uint64_t b = load_u64(pos + 8, false) & s->key_mask[1];
	uint64_t c = load_u64(pos + 16, false) & s->key_mask[2];
	uint64_t d = load_u64(pos + 24, false) & s->key_mask[3];
	uint64_t h = a * 0x9e3779b97f4a7c15U + b * 0xbf58476d1ce4e5b9U + c * 0x94d049bb133111ebU +
		     d * 0xd6e8feb86659fd93U;

	return (unsigned int)(h >> 58);
}

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

/** The first that the record at @p pos may have; SPE_NO_SHAPE: none. */
static inline unsigned int spe_shapes_first(const struct spe_shapes *s, const uint8_t *pos)
{
	return s->first[spe_shapes_key(s, pos)];
}

bool spe_shapes_is(const struct spe_shapes *s, unsigned int shape, const uint8_t *pos);

#endif
