/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/trace_addresses.h"

enum { FULL = 64 * 1024 };

/** Where the code cannot be read any more, the shortest. */
static unsigned int insn_bytes(struct flow_code *c, uint32_t space, enum isa isa, uint64_t addr)
{
	struct flow_insn_bytes all = c->insns->bytes(isa);
	uint8_t ignored[FLOW_MAX_INSN_BYTES];
	unsigned int nr =
		all.least == all.most ? all.most : c->insns->read(c, space, isa, addr, ignored);

	return nr ? nr : all.least;
}

static void put_range(struct trace_addresses *a, uint32_t space, uint8_t isa, uint64_t start,
		      uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes;) {
		buf_hex(&a->out, start + at, 0, '0');
		buf_char(&a->out, '\n');
		at += insn_bytes(&a->code, space, (enum isa)isa, start + at);
	}
}

static void put_block(struct trace_addresses *a, const struct flow_batch *b, uint32_t nr)
{
	const struct flow_block *block = &b->blocks[nr];
	size_t from = a->out.nr;

	if (block_memo_copy(&a->memo, nr, &a->out))
		return;
	put_range(a, block->space, block->isa, block->start, block->bytes);
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
		put_range(a, e->space, e->isa, e->address, e->end - e->address);
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
