/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_deferred.h"

#include "perfdata/record_put.h"

static const uint8_t magic[5] = {'C', 'L', 'E', 'W', 1};

static size_t methods_bytes(uint64_t nr)
{
	return (size_t)align_up((nr + 1) / 2, 8);
}

bool perf_deferred_trailer(const struct perf_record *r, size_t id_bytes,
			   struct perf_deferred_trailer *ret)
{
	struct perf_callchain_deferred c;
	struct bytes b = perf_record_body(r);
	bool mixed;

	if (perf_callchain_deferred_parse(r, &c) != CLEW_OK)
		return false;
	b.pos = c.ips + 8 * c.nr;
	if (bytes_left(&b) < id_bytes || bytes_left(&b) - id_bytes < 8 ||
	    memcmp(b.pos, magic, sizeof(magic)) != 0)
		return false;
	mixed = b.pos[7] == PERF_DEFERRED_MIXED;
	if (bytes_left(&b) - id_bytes != 8 + (mixed ? methods_bytes(c.nr) : 0))
		return false;
	*ret = (struct perf_deferred_trailer){
		.stop = b.pos[5],
		.why = b.pos[6],
		.method = b.pos[7],
		.methods = mixed ? b.pos + 8 : NULL,
	};
	return true;
}

static uint8_t common_method(const uint8_t *method, uint32_t nr)
{
	if (!method || nr < 2)
		return 0;
	for (uint32_t i = 2; i < nr; i++)
		if (method[i] != method[1])
			return PERF_DEFERRED_MIXED;
	return method[1] & 0xf;
}

void perf_deferred_put_trailer(struct buf *b, uint8_t stop, uint8_t why, const uint8_t *method,
			       uint32_t nr)
{
	uint8_t head[8] = {magic[0], magic[1], magic[2], magic[3], magic[4], stop, why};
	size_t nr_bytes = methods_bytes(nr);
	uint8_t *halves;

	head[7] = common_method(method, nr);
	buf_add(b, head, sizeof(head));
	if (head[7] != PERF_DEFERRED_MIXED || !buf_reserve(b, nr_bytes))
		return;
	halves = (uint8_t *)b->data + b->nr;
	memset(halves, 0, nr_bytes);
	for (uint32_t i = 0; i < nr; i++)
		halves[i / 2] |= (uint8_t)((method[i] & 0xf) << 4 * (i & 1));
	b->nr += nr_bytes;
}

void perf_deferred_put(struct buf *b, const struct perf_deferred_stack *s,
		       const struct perf_attr *attr, const struct perf_sample_id *id)
{
	size_t start = perf_record_begin(b, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER);

	buf_u64(b, s->cookie);
	buf_u64(b, s->nr);
	buf_add(b, s->ips, 8 * (size_t)s->nr);
	perf_deferred_put_trailer(b, s->stop, s->why, s->methods, s->nr);
	perf_sample_id_put(b, attr, id);
	perf_record_end(b, start);
}
