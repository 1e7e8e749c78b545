/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/record_mend.h"

#include <string.h>

#include "record/open/grown_record.h"

struct record_mend record_mend_of(const struct rec_counters *c)
{
	return (struct record_mend){.has_no_map_ids = !rec_counters_want_build_ids(c),
				    .id_bytes = grown_record_id_bytes(c)};
}

bool record_mend_is_due(const struct record_mend *m, const uint8_t *record)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	return record_mend_misc(m, &h) != h.misc || grown_record_is(record, m->id_bytes);
}

void record_mend(const struct record_mend *m, uint8_t *record)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	h.misc = record_mend_misc(m, &h);
	memcpy(record, &h, sizeof(h));
	grown_record_mend(record, m->id_bytes);
}
