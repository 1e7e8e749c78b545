/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/ring_again.h"

#include <string.h>

/* Word @p at of a record of @p nr words, from 0 on; beyond the header. */
static void mend_id(const struct ring_again *a, uint8_t *record, size_t nr, size_t at)
{
	uint64_t id;

	if (!at || at >= nr)
		return;
	memcpy(&id, record + 8 * at, sizeof(id));
	vec_for_each (&a->ids, i)
		if (i->now == id) {
			memcpy(record + 8 * at, &i->file, sizeof(i->file));
			return;
		}
}

/* Spec: struct perf_event_header, then u64 aux_offset, aux_size, flags. */
static void mend_aux(struct ring_again *a, uint8_t *record, size_t nr)
{
	uint64_t words[3];

	if (nr < 4)
		return;
	memcpy(words, record + 8, sizeof(words));
	words[0] += a->aux_bytes;
	words[2] |= a->has_gap ? PERF_AUX_FLAG_PARTIAL : 0;
	memcpy(record + 8, words, sizeof(words));
	a->has_gap = false;
}

void ring_again_mend(struct ring_again *a, struct perf_field_pos pos, uint8_t *record)
{
	struct perf_event_header h;
	size_t nr;

	memcpy(&h, record, sizeof(h));
	nr = h.size / 8;
	if (h.type == PERF_RECORD_SAMPLE)
		mend_id(a, record, nr, pos.sample < 0 ? 0 : 1 + (size_t)pos.sample);
	else if (pos.trailer > 0 && (size_t)pos.trailer < nr)
		mend_id(a, record, nr, nr - (size_t)pos.trailer);
	if (h.type == PERF_RECORD_LOST) {
		mend_id(a, record, nr, 1);
	} else if (h.type == PERF_RECORD_THROTTLE || h.type == PERF_RECORD_UNTHROTTLE) {
		mend_id(a, record, nr, 2); /* after the time: id and stream */
		mend_id(a, record, nr, 3);
	} else if (h.type == PERF_RECORD_AUX) {
		mend_aux(a, record, nr);
	}
}
