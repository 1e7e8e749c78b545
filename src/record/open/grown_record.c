/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/grown_record.h"

#include <string.h>

#include "base/bytes.h"
#include "perfdata/perf_attr.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"

enum { FIXED_BYTES = 24 }; /* of both kinds, with the header; a KSYMBOL's name follows */

size_t grown_record_id_bytes(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (e->attr.flags & PERF_ATTR_KSYMBOL && e->attr.flags & PERF_ATTR_SAMPLE_ID_ALL)
			return perf_sample_id_bytes(&e->attr);
	return 0;
}

/* What was written of it; 0: it is of another kind, or not as the kernel makes it. */
static size_t written_bytes(const uint8_t *record, size_t id_bytes)
{
	struct perf_event_header h;
	const uint8_t *end;

	memcpy(&h, record, sizeof(h));
	if (h.size < FIXED_BYTES + id_bytes)
		return 0;
	if (h.type == PERF_RECORD_BPF_EVENT)
		return FIXED_BYTES + id_bytes;
	if (h.type != PERF_RECORD_KSYMBOL)
		return 0;
	end = memchr(record + FIXED_BYTES, 0, h.size - FIXED_BYTES);
	return end ? (size_t)align_up((uint64_t)(end + 1 - record), 8) + id_bytes : 0;
}

bool grown_record_is(const uint8_t *record, size_t id_bytes)
{
	size_t bytes = written_bytes(record, id_bytes);
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	return bytes && bytes < h.size;
}

void grown_record_mend(uint8_t *record, size_t id_bytes)
{
	size_t bytes = written_bytes(record, id_bytes);
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	if (!bytes || bytes >= h.size)
		return;
	memmove(record + h.size - id_bytes, record + bytes - id_bytes, id_bytes);
	memset(record + bytes - id_bytes, 0, h.size - bytes);
}
