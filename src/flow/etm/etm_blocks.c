/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_blocks.h"

#include "base/hash.h"
#include "isa/a32/a32_branch.h"
#include "isa/a64/a64_branch.h"

enum { MIN_SLOTS = 4096, NO_SPACE = UINT32_MAX, MAX_QUICK_INSNS = 1024 };

void etm_blocks_init(struct etm_blocks *b, struct os_heap *heap, const struct code_source *code,
		     bool has_wfx, bool is_counting)
{
	*b = (struct etm_blocks){.heap = heap,
				 .code = code,
				 .has_wfx = has_wfx,
				 .is_counting = is_counting,
				 .region_space = NO_SPACE};
}

void etm_blocks_clear(struct etm_blocks *b)
{
	b->all.nr = b->links.nr = b->counts.nr = b->ways.nr = 0;
	b->region_space = NO_SPACE;
	if (b->slots)
		memset(b->slots, 0xff, b->nr_slots * sizeof(*b->slots));
}

size_t etm_blocks_bytes(const struct etm_blocks *b)
{
	return b->all.nr * (sizeof(*b->all.data) + sizeof(*b->links.data) + 2 * sizeof(*b->slots)) +
	       b->counts.nr * sizeof(*b->counts.data) + b->ways.nr * sizeof(*b->ways.data);
}

static uint64_t key_of(uint32_t space, enum isa isa, uint64_t addr)
{
	return hash_two(addr, (uint64_t)space << 2 | isa);
}

/** Readable bytes from @p addr on; 0: none. */
static size_t code_at(struct etm_blocks *b, uint32_t space, uint64_t addr, const uint8_t **ret)
{
	struct code_region *r = &b->region;

	if (b->region_space != space || addr < r->start || addr >= r->end) {
		if (!b->code->find(b->code->ctx, space, addr, r) || addr < r->start ||
		    addr >= r->end) {
			b->region_space = NO_SPACE;
			return 0;
		}
		b->region_space = space;
	}
	*ret = r->bytes + (addr - r->start);
	return (size_t)(r->end - addr);
}

/** One instruction, which may stand in two regions. @return its bytes; 0: not readable. */
static unsigned int insn_at(struct etm_blocks *b, uint32_t space, enum isa isa, uint64_t addr,
			    uint32_t *ret)
{
	unsigned int step = isa == ISA_T32 ? 2 : 4, nr = 0;
	uint8_t bytes[4] = {0};
	const uint8_t *p;

	for (unsigned int want = step; nr < want; nr += step) {
		size_t left = code_at(b, space, addr + nr, &p);

		if (left < step)
			return 0;
		memcpy(bytes + nr, p, step);
		if (isa == ISA_T32 && !nr && t32_is_wide(p[1]))
			want = 4;
	}
	*ret = insn_word(bytes);
	if (isa == ISA_T32)
		*ret = *ret << 16 | *ret >> 16;
	return nr;
}

static struct insn decode(enum isa isa, uint32_t word, uint64_t pc)
{
	return isa == ISA_A64 ? a64_decode(word, pc)
	     : isa == ISA_A32 ? a32_decode(word, pc)
			      : t32_decode(word, pc);
}

/** Skip what is no waypoint in one region. *ret_nr: instructions. */
static size_t skip_plain(const struct etm_blocks *b, enum isa isa, const uint8_t *code,
			 size_t bytes, uint32_t *ret_nr)
{
	size_t off;

	if (isa == ISA_T32)
		return t32_find_waypoint(code, bytes, b->has_wfx, ret_nr);
	off = isa == ISA_A64 ? a64_find_waypoint(code, bytes, b->has_wfx)
			     : a32_find_waypoint(code, bytes, b->has_wfx);
	*ret_nr = (uint32_t)(off / 4);
	return off;
}

static void end_block(struct flow_block *ret, const struct insn *i, unsigned int bytes)
{
	ret->kind = i->kind;
	ret->flags = i->flags;
	ret->target = i->target;
	ret->last_bytes = (uint8_t)bytes;
}

/** Most blocks are A64 and stand in one region. @return false: this one may not. */
static bool build_a64(struct etm_blocks *b, struct flow_block *ret)
{
	const uint8_t *code;
	size_t left = code_at(b, ret->space, ret->start, &code);
	size_t nr = left / 4 < MAX_QUICK_INSNS ? left / 4 : MAX_QUICK_INSNS;

	for (size_t at = 0; at < nr; at++) {
		uint32_t word = insn_word(code + 4 * at);
		struct insn i;

		if (!a64_may_be_waypoint(word))
			continue;
		i = a64_decode(word, ret->start + 4 * at);
		if (!insn_is_waypoint(&i, b->has_wfx))
			continue;
		ret->nr_insns = (uint16_t)(at + 1);
		ret->bytes = 4 * (uint32_t)(at + 1);
		end_block(ret, &i, 4);
		return true;
	}
	return false;
}

static void build(struct etm_blocks *b, struct flow_block *ret)
{
	enum isa isa = (enum isa)ret->isa;
	uint64_t at = ret->start;
	const uint8_t *code;
	struct insn i;
	uint32_t word, nr;
	unsigned int n;

	while (ret->nr_insns < ETM_MAX_BLOCK_INSNS) {
		size_t left = code_at(b, ret->space, at, &code);
		size_t most = 2 * (size_t)(ETM_MAX_BLOCK_INSNS - ret->nr_insns);

		at += skip_plain(b, isa, code, left < most ? left : most, &nr);
		ret->nr_insns = (uint16_t)(ret->nr_insns + nr);
		if (ret->nr_insns == ETM_MAX_BLOCK_INSNS)
			break;
		n = insn_at(b, ret->space, isa, at, &word);
		if (!n) {
			ret->flags = ETM_BLOCK_NO_CODE;
			break;
		}
		i = decode(isa, word, at);
		at += n;
		ret->nr_insns++;
		if (!insn_is_waypoint(&i, b->has_wfx))
			continue;
		end_block(ret, &i, n);
		break;
	}
	if (ret->kind == INSN_PLAIN && !ret->flags)
		ret->flags = ETM_BLOCK_ENDLESS;
	ret->bytes = (uint32_t)(at - ret->start);
}

static bool grow(struct etm_blocks *b)
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

		while (slots[at] != ETM_NO_BLOCK)
			at = (at + 1) & (nr - 1);
		slots[at] = (uint32_t)i;
	}
	os_heap_free(b->heap, b->slots, b->nr_slots * sizeof(*slots));
	b->slots = slots;
	b->nr_slots = nr;
	return true;
}

/** @return false: out of memory. */
static bool add(struct etm_blocks *b, const struct flow_block *block)
{
	struct etm_ways ways = {
		.to = {ETM_NO_BLOCK, ETM_NO_BLOCK, ETM_NO_BLOCK}
        };
	struct etm_link link = {
		{ETM_NO_BLOCK, ETM_NO_BLOCK},
                ETM_NO_BLOCK, block->nr_insns
        };

	if (block->kind == INSN_INDIRECT)
		link.other = (uint32_t)b->ways.nr;
	if (!os_heap_reserve(b->heap, &b->all, b->all.nr + 1) ||
	    !os_heap_reserve(b->heap, &b->links, b->all.nr + 1) ||
	    (b->is_counting && !os_heap_reserve(b->heap, &b->counts, b->all.nr + 1)) ||
	    (block->kind == INSN_INDIRECT && !os_heap_reserve(b->heap, &b->ways, b->ways.nr + 1)))
		return false;
	if (block->kind == INSN_INDIRECT)
		b->ways.data[b->ways.nr++] = ways;
	b->all.data[b->all.nr++] = *block;
	b->links.data[b->links.nr++] = link;
	if (b->is_counting)
		b->counts.data[b->counts.nr++] = (struct etm_count){
			{0, 0}
                };
	return true;
}

uint32_t etm_blocks_get(struct etm_blocks *b, uint32_t space, enum isa isa, uint64_t addr)
{
	struct flow_block block = {.start = addr, .space = space, .isa = (uint8_t)isa};
	size_t at;

	if (b->all.nr * 3 >= b->nr_slots * 2 && !grow(b))
		return ETM_NO_BLOCK;
	for (at = key_of(space, isa, addr) & (b->nr_slots - 1); b->slots[at] != ETM_NO_BLOCK;
	     at = (at + 1) & (b->nr_slots - 1)) {
		const struct flow_block *k = &b->all.data[b->slots[at]];

		if (k->start == addr && k->space == space && k->isa == (uint8_t)isa)
			return b->slots[at];
	}
	if (isa != ISA_A64 || !build_a64(b, &block))
		build(b, &block);
	if (!add(b, &block))
		return ETM_NO_BLOCK;
	b->slots[at] = (uint32_t)(b->all.nr - 1);
	return b->slots[at];
}

/** Instructions that begin in the first @p bytes of a region's last @p left and end in it. */
static uint32_t count_in(enum isa isa, const uint8_t *code, size_t left, uint64_t bytes,
			 uint32_t most, size_t *ret_bytes)
{
	size_t at = 0;
	uint32_t nr = 0;

	if (isa != ISA_T32) {
		uint64_t whole = bytes / 4 + (bytes % 4 != 0);

		whole = whole < left / 4 ? whole : left / 4;
		nr = whole < most ? (uint32_t)whole : most;
		*ret_bytes = (size_t)nr * 4;
		return nr;
	}
	for (; nr < most && at < bytes && left - at >= 2; nr++) {
		unsigned int n = t32_is_wide(code[at + 1]) ? 4 : 2;

		if (left - at < n)
			break;
		at += n;
	}
	*ret_bytes = at;
	return nr;
}

uint32_t etm_blocks_count(struct etm_blocks *b, uint32_t space, enum isa isa, uint64_t from,
			  uint64_t to, uint64_t *ret_readable)
{
	uint64_t at = from;
	uint32_t nr = 0, word;

	while (at < to && nr < ETM_MAX_BLOCK_INSNS) {
		const uint8_t *code = NULL;
		size_t left = code_at(b, space, at, &code), bytes;
		uint32_t n = count_in(isa, code, left, to - at, ETM_MAX_BLOCK_INSNS - nr, &bytes);

		if (!n) { /* none, or one in two regions */
			bytes = insn_at(b, space, isa, at, &word);
			n = 1;
		}
		if (!bytes || bytes > UINT64_MAX - at)
			break;
		at += bytes;
		nr += n;
	}
	*ret_readable = at;
	return nr;
}
