/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_blocks.h"

#include "base/hash.h"

enum { MIN_SLOTS = 4096 };

void flow_blocks_init(struct flow_blocks *b, struct os_heap *heap, struct flow_code *code,
		      bool is_counting)
{
	*b = (struct flow_blocks){.heap = heap, .code = code, .is_counting = is_counting};
}

void flow_blocks_clear(struct flow_blocks *b)
{
	b->all.nr = b->links.nr = b->counts.nr = b->targets.nr = 0;
	flow_code_forget(b->code);
	if (b->slots)
		memset(b->slots, 0xff, b->nr_slots * sizeof(*b->slots));
}

size_t flow_blocks_bytes(const struct flow_blocks *b)
{
	return b->all.nr * (sizeof(*b->all.data) + sizeof(*b->links.data) + 2 * sizeof(*b->slots)) +
	       b->counts.nr * sizeof(*b->counts.data) + b->targets.nr * sizeof(*b->targets.data);
}

static uint64_t key_of(uint32_t space, enum isa isa, uint64_t addr)
{
	return hash_two(addr, (uint64_t)space << 2 | isa);
}

static bool grow(struct flow_blocks *b)
{
	size_t nr = b->nr_slots ? b->nr_slots * 2 : MIN_SLOTS;
	size_t bytes = nr * sizeof(uint32_t);
	uint32_t *slots = os_heap_grow(b->heap, NULL, 0, &bytes);

	if (!slots)
		return false;
	memset(slots, 0xff, nr * sizeof(*slots));
	for (size_t i = 0; i < b->all.nr; i++) {
		const struct flow_block *k = &b->all.data[i];
		size_t at = key_of(k->space, (enum isa)k->isa, k->start) & (nr - 1);

		while (slots[at] != FLOW_NO_BLOCK)
			at = (at + 1) & (nr - 1);
		slots[at] = (uint32_t)i;
	}
	os_heap_free(b->heap, b->slots, b->nr_slots * sizeof(*slots));
	b->slots = slots;
	b->nr_slots = nr;
	return true;
}

/** @return false: out of memory. */
static bool add(struct flow_blocks *b, const struct flow_block *block)
{
	struct flow_targets targets = {
		.to = {FLOW_NO_BLOCK, FLOW_NO_BLOCK, FLOW_NO_BLOCK}
        };
	struct flow_link link = {
		{FLOW_NO_BLOCK, FLOW_NO_BLOCK},
                FLOW_NO_BLOCK, block->nr_insns
        };

	if (flow_is_indirect(block))
		link.other = (uint32_t)b->targets.nr;
	if (!os_heap_reserve(b->heap, &b->all, b->all.nr + 1) ||
	    !os_heap_reserve(b->heap, &b->links, b->all.nr + 1) ||
	    (b->is_counting && !os_heap_reserve(b->heap, &b->counts, b->all.nr + 1)) ||
	    (flow_is_indirect(block) && !os_heap_reserve(b->heap, &b->targets, b->targets.nr + 1)))
		return false;
	if (flow_is_indirect(block))
		b->targets.data[b->targets.nr++] = targets;
	b->all.data[b->all.nr++] = *block;
	b->links.data[b->links.nr++] = link;
	if (b->is_counting)
		b->counts.data[b->counts.nr++] = (struct flow_count){
			{0, 0}
                };
	return true;
}

/** The slot of the block at @p addr, or a free one for it. */
static size_t slot_of(const struct flow_blocks *b, uint32_t space, enum isa isa, uint64_t addr)
{
	size_t at = key_of(space, isa, addr) & (b->nr_slots - 1);

	for (; b->slots[at] != FLOW_NO_BLOCK; at = (at + 1) & (b->nr_slots - 1)) {
		const struct flow_block *k = &b->all.data[b->slots[at]];

		if (k->start == addr && k->space == space && k->isa == (uint8_t)isa)
			break;
	}
	return at;
}

uint32_t flow_blocks_find(const struct flow_blocks *b, uint32_t space, enum isa isa, uint64_t addr)
{
	return b->nr_slots ? b->slots[slot_of(b, space, isa, addr)] : FLOW_NO_BLOCK;
}

uint32_t flow_blocks_get(struct flow_blocks *b, uint32_t space, enum isa isa, uint64_t addr)
{
	struct flow_block block = {.start = addr, .space = space, .isa = (uint8_t)isa};
	size_t at;

	if (b->all.nr * 3 >= b->nr_slots * 2 && !grow(b))
		return FLOW_NO_BLOCK;
	at = slot_of(b, space, isa, addr);
	if (b->slots[at] != FLOW_NO_BLOCK)
		return b->slots[at];
	b->code->insns->build(b->code, &block);
	flow_code_mark(b->code, &block);
	if (!add(b, &block))
		return FLOW_NO_BLOCK;
	b->slots[at] = (uint32_t)(b->all.nr - 1);
	return b->slots[at];
}
