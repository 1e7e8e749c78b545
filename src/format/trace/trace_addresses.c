/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/trace_addresses.h"

enum { FULL = 64 * 1024 };

/** A T32 instruction is of 4 bytes where its first halfword says so. Where the code cannot be read
 * any more, 2. */
static unsigned int t32_bytes(const struct code_source *code, uint32_t space, uint64_t addr,
			      struct code_region *r)
{
	uint64_t at = addr - r->start;

	if (addr < r->start || addr >= r->end) {
		if (!code->find(code->ctx, space, addr, r)) {
			*r = (struct code_region){0};
			return 2;
		}
		at = addr - r->start;
	}
	if (r->end - addr < 2)
		return 2;
	return r->bytes[at + 1] >> 3 >= 0x1d ? 4 : 2;
}

static void put_range(struct buf *out, const struct code_source *code, uint32_t space, uint8_t isa,
		      uint64_t start, uint64_t bytes)
{
	struct code_region region = {0};

	for (uint64_t at = 0; at < bytes;) {
		buf_hex(out, start + at, 0, '0');
		buf_char(out, '\n');
		at += isa == ISA_T32 ? t32_bytes(code, space, start + at, &region) : 4;
	}
}

static void put_block(struct trace_addresses *a, const struct flow_batch *b, uint32_t nr)
{
	const struct flow_block *block = &b->blocks[nr];
	size_t from = a->out.nr;

	if (block_memo_copy(&a->memo, nr, &a->out))
		return;
	put_range(&a->out, a->code, block->space, block->isa, block->start, block->bytes);
	if (!a->out.is_failed)
		block_memo_put(&a->memo, nr, a->out.data + from, a->out.nr - from);
}

static void put_item(struct trace_addresses *a, const struct flow_batch *b, uint32_t item)
{
	const struct flow_event *e;

	if (!(item & FLOW_ITEM_EVENT)) {
		put_block(a, b, item >> 1);
		return;
	}
	e = &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT];
	if (e->kind == FLOW_EV_RANGE)
		put_range(&a->out, a->code, e->space, e->isa, e->address, e->end - e->address);
}

enum clew_err trace_addresses_batch(struct trace_addresses *a, const struct flow_batch *b)
{
	enum clew_err err = block_memo_begin(&a->memo, b->epoch) ? CLEW_OK : CLEW_NO_MEMORY;

	for (size_t i = 0; !err && i < b->nr; i++) {
		put_item(a, b, b->items[i]);
		if (a->out.is_failed)
			err = CLEW_NO_MEMORY;
		else if (a->out.nr >= FULL)
			err = a->full(a->ctx, &a->out);
	}
	return err;
}

void trace_addresses_done(struct trace_addresses *a)
{
	buf_done(&a->out);
	block_memo_done(&a->memo);
}
