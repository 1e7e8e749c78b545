/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_grown.h"

enum {
	NAME_AT = 24,    /* of a KSYMBOL; there a BPF_EVENT ends */
	LENGTHS_AT = 16, /* of a TEXT_POKE; its bytes follow */
	LENGTHS_BYTES = 4,
};

static size_t after_name(const uint8_t *record, size_t size)
{
	const uint8_t *end = memchr(record + NAME_AT, 0, size - NAME_AT);

	return end ? (size_t)(end + 1 - record) : 0;
}

static size_t after_code(const uint8_t *record, size_t size, bool swap)
{
	size_t nr = (size_t)load_u16(record + LENGTHS_AT, swap) +
		    load_u16(record + LENGTHS_AT + 2, swap);

	return nr <= size - LENGTHS_AT - LENGTHS_BYTES ? LENGTHS_AT + LENGTHS_BYTES + nr : 0;
}

size_t perf_grown_id_at(const uint8_t *record, uint32_t type, size_t size, bool swap)
{
	size_t end = 0;

	if (size < NAME_AT)
		return 0;
	if (type == PERF_RECORD_BPF_EVENT)
		end = NAME_AT;
	else if (type == PERF_RECORD_KSYMBOL)
		end = after_name(record, size);
	else if (type == PERF_RECORD_TEXT_POKE)
		end = after_code(record, size, swap);
	end = (size_t)align_up(end, 8);
	return end <= size ? end : 0;
}

static bool is_zero(const uint8_t *p, size_t nr)
{
	uint8_t any = 0;

	for (size_t i = 0; i < nr; i++)
		any |= p[i];
	return !any;
}

/* Are the @p bytes at the end of @p r a sample_id of one of the events? */
static bool is_id(const struct perf_evlist *l, const struct perf_record *r, uint32_t bytes)
{
	const uint64_t with_id = PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER;
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *e;
	struct perf_sample_id id;

	if (is_zero(body.end - bytes, bytes))
		return false;
	e = perf_evlist_of_record(l, r->type, body, r->swap);
	if (!e || perf_sample_id_bytes(&e->attr) != bytes)
		return false;
	if (!(e->attr.sample_type & with_id) || !e->nr_ids)
		return true;
	return perf_sample_id_parse(body, r->swap, &e->attr, &id) == CLEW_OK &&
	       perf_evlist_by_id(l, id.id) == e;
}

uint16_t perf_grown_true_size(const struct perf_evlist *l, const struct perf_record *r)
{
	size_t at = perf_grown_id_at(r->data, r->type, r->size, r->swap);
	struct perf_record shorter = *r;

	for (uint32_t words = 1; at && words <= PERF_ID_MAX_WORDS; words++) {
		size_t size = at + 8 * (size_t)words;

		if (size >= r->size || !(l->grown_id_words >> words & 1))
			continue;
		shorter.size = (uint16_t)size;
		if (is_id(l, &shorter, 8 * words))
			return shorter.size;
	}
	return r->size;
}
