/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_CORESIGHT_CS_SLOTS_H
#define PACKET_CORESIGHT_CS_SLOTS_H

#include "packet/coresight/cs_frame.h"

/* Frames with a known begin -> bytes of each source. Internal to this room. */

enum { CS_NO_ID = 0xff };

struct cs_slots {
	uint8_t id;               /* of the next data byte; CS_NO_ID: unknown */
	struct cs_stream *stream; /* of id; NULL: bytes without an owner, counted in *unclaimed */
	uint64_t *unclaimed;
	struct cs_stream *streams[CS_NR_IDS];
	struct cs_counts counts;
};

/** What follows has no known ID. */
void cs_slots_forget(struct cs_slots *s);

/**
 * Frames at @p frames, the first at input @p offset, until one with 0xff where an ID may be:
 * part of a sync, if anything good. *ret: how many were taken. @return false: out of memory.
 */
bool cs_slots_take(struct cs_slots *s, const uint8_t *frames, size_t nr, uint64_t offset,
		   size_t *ret);

/** One frame, whatever is in it. @return false: out of memory. */
bool cs_slots_take_any(struct cs_slots *s, const uint8_t *frame, uint64_t offset);

void cs_slots_done(struct cs_slots *s);

#endif
