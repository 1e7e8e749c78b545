/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_CS_ENCODE_H
#define TESTS_MAKE_CS_ENCODE_H

#include "base/buf.h"
#include "base/vec.h"
#include "packet/coresight/cs_dstream.h"
#include "packet/coresight/cs_frame.h"

/*
 * A CoreSight formatter: bytes of several sources -> frames, and where each byte went. What a real
 * one is free in, it takes by chance: repeated IDs, flags that mean nothing, syncs. Spec: as
 * cs_frame.h.
 */

struct cs_byte {
	uint8_t id, value;
	uint64_t offset; /* in the output: written by cs_encode() */
};

struct cs_encode {
	enum cs_layout layout;
	unsigned int repeat_percent; /* of even slots that could have data: the same ID again */
	unsigned int sync_percent;   /* of frames: an FSYNC in front; of pairs: an HSYNC */
	uint64_t seed;
	struct buf out;
	uint8_t id; /* current; starts as CS_NR_IDS: none yet */
};

/** @p percent: 0 for frames that a layout does not force to have more. */
struct cs_encode cs_encode_of(enum cs_layout layout, unsigned int percent, uint64_t seed);

/** Append frames with @p bytes; the last one is filled up with ID 0. TPIU layouts: an FSYNC goes
 * first. */
void cs_encode(struct cs_encode *e, struct cs_byte *bytes, size_t nr);

/** A barrier frame: four FSYNCs. The ID is repeated after it. */
void cs_encode_barrier(struct cs_encode *e);

/** Runs of random length of random sources, IDs 1 to 0x6f: @p nr_ids of them. */
void cs_encode_random_bytes(struct cs_encode *e, unsigned int nr_ids, struct cs_byte *ret,
			    size_t nr);

/** What ends block @p block of a DSTREAM capture: of @p random the flags, as often zero as not. */
void cs_encode_footer(uint64_t block, uint64_t random, uint8_t ret[CS_DSTREAM_FOOTER]);

uint64_t cs_encode_random(struct cs_encode *e, uint64_t below);

#endif
