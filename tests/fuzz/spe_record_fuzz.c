/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_record.h"

#include "base/mem.h"
#include "format/trace/spe_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ITEMS = 256 };

static uint64_t next_of(struct spe_reader *r, uint64_t sum, uint64_t *at)
{
	struct spe_record items[MAX_ITEMS];
	size_t n;

	while ((n = spe_reader_take(r, items, MAX_ITEMS)))
		for (size_t i = 0; i < n; i++) {
			if (items[i].offset < *at || !items[i].bytes)
				__builtin_trap(); /* a byte of two items */
			*at = items[i].offset + items[i].bytes;
			sum = (sum ^ items[i].offset ^ items[i].has ^ items[i].outcome ^
			       items[i].timestamp ^ items[i].address[0]) *
			      0x9e3779b97f4a7c15u;
		}
	return sum;
}

/** A number for all items, of input in pieces of @p piece. */
static uint64_t sum_of(struct spe_reader *r, const uint8_t *data, size_t size, size_t piece,
		       enum spe_start start)
{
	uint64_t sum = 0, at = 0;

	spe_reader_init(r, 0);
	spe_reader_start(r, 0, start);
	for (size_t i = 0; i < size; i += piece) {
		spe_reader_feed(r, data + i, size - i < piece ? size - i : piece);
		sum = next_of(r, sum, &at);
	}
	spe_reader_end(r);
	sum = next_of(r, sum, &at);
	if (at > size || r->counts.bytes[SPE_COMPLETE] + r->counts.bytes[SPE_DAMAGED] +
					 r->counts.bytes[SPE_CUT] + r->counts.bytes[SPE_SKIPPED] +
					 r->counts.padding_bytes !=
				 size)
		__builtin_trap();
	return sum;
}

/** A byte for the pieces and the start, then SPE. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spe_reader *r = size ? mem_alloc(sizeof(*r)) : NULL;
	struct buf text = {0};
	enum spe_start start;

	if (!r)
		return 0;
	start = data[0] & 1 ? SPE_ANYWHERE : SPE_AT_RECORD;
	if (sum_of(r, data + 1, size - 1, size, start) !=
	    sum_of(r, data + 1, size - 1, 1 + (data[0] >> 1), start))
		__builtin_trap(); /* pieces matter */
	mem_free(r);
	if (size < 1 << 16)
		spe_dump(&text, data + 1, size - 1, data[0], SPE_CORE_UNKNOWN);
	buf_done(&text);
	return 0;
}
