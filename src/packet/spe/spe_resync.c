/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_resync.h"

#include <string.h>

#include "packet/spe/spe_parse.h"

enum { PC_HEADER = 0xb0, END_HEADER = 0x01, TIMESTAMP_HEADER = 0x71, NR_IN_A_ROW = 3 };

size_t spe_gap_end_slow(const struct spe_window *w, size_t at, size_t limit)
{
	struct spe_packet p;

	for (;;) {
		at += spe_padding(w->bytes + at, limit - at);
		if (at == limit)
			return at;
		spe_packet_at(w->bytes + at, w->nr - at, w->offset + at, &p);
		if (p.kind != SPE_ALIGNMENT || p.is_cut || p.bytes > limit - at)
			return at;
		at += p.bytes;
	}
}

enum spe_look spe_look(const struct spe_window *w, size_t *at, struct spe_record *ret)
{
	size_t from = *at, most = SPE_LONG_PADDING + SPE_MAX_ALIGNMENT;
	size_t to = spe_gap_end(w, from, w->nr - from < most ? w->nr : from + most);

	if (to - from > SPE_LONG_PADDING)
		return SPE_LOOK_END;
	switch (spe_record_parse(w->bytes + to, w->nr - to, w->offset + to, ret)) {
	case SPE_PARSED:
		*at = to + ret->bytes;
		return SPE_LOOK_RECORD;
	case SPE_NEEDS_MORE:
		return w->is_last ? SPE_LOOK_END : SPE_LOOK_MORE;
	case SPE_NOT_A_RECORD:
		break;
	}
	return SPE_LOOK_BAD;
}

/** Can a record begin at @p at: after padding or another's end, or at @p from? */
static bool can_begin(const struct spe_window *w, uint64_t from, size_t at)
{
	uint64_t after = w->offset + at - from;

	if (!after || w->bytes[at - 1] == 0 || w->bytes[at - 1] == END_HEADER)
		return true;
	return after >= SPE_BEFORE_RECORD && w->bytes[at - SPE_BEFORE_RECORD] == TIMESTAMP_HEADER;
}

/** Times that differ have to be compared with each other, not with the last record's: that may be
 * the damaged one. */
static enum spe_look are_records(const struct spe_window *w, size_t at)
{
	bool has_last = false;
	uint64_t last = 0;

	for (unsigned int n = 0; n < NR_IN_A_ROW; n++) {
		struct spe_record rec;
		enum spe_look look = spe_look(w, &at, &rec);

		if (look == SPE_LOOK_END && n)
			return SPE_LOOK_RECORD;
		if (look != SPE_LOOK_RECORD)
			return look;
		if (w->bytes[rec.offset - w->offset] != PC_HEADER)
			return SPE_LOOK_BAD;
		if (!spe_has(&rec, SPE_HAS_TIMESTAMP))
			continue;
		if (has_last && spe_times_far(last, rec.timestamp))
			return SPE_LOOK_BAD;
		has_last = true;
		last = rec.timestamp;
	}
	return SPE_LOOK_RECORD;
}

bool spe_find_record(const struct spe_window *w, uint64_t from, size_t *at)
{
	const uint8_t *p;

	while (*at < w->nr && (p = memchr(w->bytes + *at, PC_HEADER, w->nr - *at))) {
		enum spe_look look = SPE_LOOK_BAD;

		*at = (size_t)(p - w->bytes);
		if (can_begin(w, from, *at))
			look = are_records(w, *at);
		if (look == SPE_LOOK_RECORD || look == SPE_LOOK_MORE)
			return look == SPE_LOOK_RECORD;
		++*at;
	}
	*at = w->nr;
	return w->is_last;
}
