/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "make/perf_encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_long_rows(const struct perf_attr *a)
{
	/* What the encoder does not write as the kernel might: it checks nothing it is given. */
	return (a->sample_type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) ==
	       (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
}

/* A decoded sample, encoded again, is the start of what it was decoded from. */
static void check_round_trip(struct bytes body, bool swap, const struct perf_attr *attr,
			     const struct perf_sample *s)
{
	struct perf_put again = {.big = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)};
	struct perf_sample twice;
	struct bytes b;

	perf_encode_sample(&again, attr, s);
	b = put_result(&again);
	b.pos += sizeof(struct perf_event_header);
	if (bytes_left(&b) > bytes_left(&body) && !(attr->sample_type & PERF_SAMPLE_STACK_USER))
		__builtin_trap();
	if (perf_sample_parse(b, s->misc, swap, attr, &twice) != CLEW_OK || twice.ip != s->ip ||
	    twice.time != s->time || twice.callchain.nr != s->callchain.nr ||
	    twice.branches.nr != s->branches.nr || twice.code_page_size != s->code_page_size)
		__builtin_trap();
	buf_done(&again.buf);
}

/* u8 flags (1: the other byte order), u8 misc, 144 bytes of attr, body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes body = bytes_of(data, size), raw_attr;
	struct perf_sample_id id;
	struct perf_attr attr;
	struct perf_sample s;
	uint8_t flags, misc;
	bool swap;

	if (!bytes_u8(&body, &flags) || !bytes_u8(&body, &misc) ||
	    !bytes_take(&body, PERF_ATTR_SIZE_VER9, &raw_attr))
		return 0;
	swap = flags & 1;
	if (perf_attr_parse(raw_attr, swap, &attr) != CLEW_OK)
		return 0;
	perf_sample_id_parse(body, swap, &attr, &id);
	perf_id_pos_of(&attr);
	if (perf_sample_parse(body, misc, swap, &attr, &s) == CLEW_OK && !has_long_rows(&attr))
		check_round_trip(body, swap, &attr, &s);
	return 0;
}
