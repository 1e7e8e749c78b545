/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/merge_record.h"

enum { HEADER = sizeof(struct perf_event_header), WORD = 8 };

static void put_header(struct buf *out, uint32_t type, uint16_t misc, size_t size)
{
	struct perf_event_header h = {type, misc, (uint16_t)size};

	buf_add(out, &h, sizeof(h));
}

static bool lacks_identifier(const struct perf_attr *attr)
{
	return !(attr->sample_type & PERF_SAMPLE_IDENTIFIER);
}

bool merge_put_host(struct buf *out, const struct perf_record *r, const struct perf_attr *attr,
		    uint64_t id)
{
	bool adds = attr && lacks_identifier(attr) && r->type < PERF_RECORD_HEADER_ATTR;
	size_t size = r->size + (adds ? (size_t)WORD : 0);

	if (size > MERGE_RECORD_MAX)
		return false;
	put_header(out, r->type, r->misc, size);
	if (adds && r->type == PERF_RECORD_SAMPLE)
		buf_u64(out, id);
	buf_add(out, r->data + HEADER, r->size - (size_t)HEADER);
	if (adds && r->type != PERF_RECORD_SAMPLE)
		buf_u64(out, id);
	return true;
}

bool merge_takes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_TEXT_POKE:
		return true;
	default:
		return false;
	}
}

static uint16_t guest_misc(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	misc &= (uint16_t)~PERF_RECORD_MISC_CPUMODE_MASK;
	return (uint16_t)(misc |
			  (mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL
				   ? PERF_RECORD_MISC_GUEST_KERNEL
				   : PERF_RECORD_MISC_GUEST_USER));
}

static void set_u64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* Before CPU: IDENTIFIER IP TID TIME ADDR ID STREAM_ID. */
static void set_sample(uint8_t *body, uint64_t type, const struct merge_stamp *stamp)
{
	const uint64_t before_time = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	const uint64_t before_id = before_time | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	const uint64_t before_cpu = before_id | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;

	set_u64(body, stamp->id);
	set_u64(body + WORD * __builtin_popcountll(type & before_time), stamp->time);
	if (type & PERF_SAMPLE_ID)
		set_u64(body + WORD * __builtin_popcountll(type & before_id), stamp->id);
	memcpy(body + WORD * __builtin_popcountll(type & before_cpu), &stamp->cpu,
	       sizeof(stamp->cpu));
}

static bool put_sample(struct buf *out, const struct perf_record *r, const struct perf_attr *attr,
		       const struct merge_stamp *stamp)
{
	size_t more = lacks_identifier(attr) ? WORD : 0, size = r->size + more, at = out->nr;
	struct perf_sample s;

	if (size > MERGE_RECORD_MAX ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, attr, &s) ||
	    !buf_reserve(out, size))
		return false;
	put_header(out, r->type, guest_misc(r->misc), size);
	buf_fill(out, '\0', more);
	buf_add(out, r->data + HEADER, r->size - (size_t)HEADER);
	set_sample((uint8_t *)out->data + at + HEADER, attr->sample_type | PERF_SAMPLE_IDENTIFIER,
		   stamp);
	return true;
}

/* Some bodies repeat the id or the time. */
static void set_body(uint8_t *body, size_t size, uint32_t type, const struct merge_stamp *stamp)
{
	enum { TASK_TIME_AT = 16, TASK_BYTES = 24 };

	if (type == PERF_RECORD_LOST && size >= WORD)
		set_u64(body, stamp->id);
	if ((type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) && size >= TASK_BYTES)
		set_u64(body + TASK_TIME_AT, stamp->time);
}

bool merge_put_guest(struct buf *out, const struct perf_record *r, const struct perf_attr *attr,
		     const struct merge_stamp *stamp)
{
	struct bytes body = perf_record_body(r);
	struct perf_attr with = *attr;
	size_t at = out->nr, kept, size;
	struct perf_sample_id id;

	with.sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (r->type == PERF_RECORD_SAMPLE)
		return put_sample(out, r, attr, stamp);
	if (perf_sample_id_parse(body, r->swap, attr, &id))
		return false;
	kept = bytes_left(&body) - id.size_bytes;
	size = HEADER + kept + perf_sample_id_bytes(&with);
	if (size > MERGE_RECORD_MAX || !buf_reserve(out, size))
		return false;
	put_header(out, r->type, guest_misc(r->misc), size);
	buf_add(out, body.pos, kept);
	set_body((uint8_t *)out->data + at + HEADER, kept, r->type, stamp);
	id.id = stamp->id;
	id.time = stamp->time;
	id.cpu = stamp->cpu;
	perf_sample_id_put(out, &with, &id);
	return true;
}
