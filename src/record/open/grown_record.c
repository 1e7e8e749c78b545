/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/grown_record.h"

#include <string.h>

#include "perfdata/perf_attr.h"
#include "perfdata/perf_grown.h"
#include "perfdata/perf_sample.h"

size_t grown_record_id_bytes(const struct rec_counters *c)
{
	const uint64_t grown = PERF_ATTR_KSYMBOL | PERF_ATTR_BPF_EVENT | PERF_ATTR_TEXT_POKE;

	vec_for_each (&c->list, e)
		if (e->attr.flags & grown && e->attr.flags & PERF_ATTR_SAMPLE_ID_ALL)
			return perf_sample_id_bytes(&e->attr);
	return 0;
}

/* What was written of it; 0: it is of another kind, or not as the kernel makes it. */
static size_t written_bytes(const uint8_t *record, size_t id_bytes)
{
	struct perf_event_header h;
	size_t at;

	memcpy(&h, record, sizeof(h));
	at = perf_grown_id_at(record, h.type, h.size, false);
	return at && at + id_bytes <= h.size ? at + id_bytes : 0;
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
