/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_reach.h"

#include "base/hash.h"
#include "base/mem.h"

enum { PAGE = 1 << 10, NR_PAGES = 16 << 10 };

/** The way through a page, from where it was entered. */
struct etm_reach_page {
	uint64_t at, next; /* next: behind the last instruction that begins in it; 0: no entry */
	uint32_t space, nr;
};

void etm_reach_done(struct etm_reach *r)
{
	mem_free(r->pages);
	r->pages = NULL;
}

static struct etm_reach_page *slot_of(struct etm_reach *r, uint32_t space, uint64_t at)
{
	if (!r->pages)
		r->pages = mem_calloc(NR_PAGES, sizeof(*r->pages));
	return r->pages ? &r->pages[hash_two(at, space) & (NR_PAGES - 1)] : NULL;
}

/** From @p at, the first instruction of a page, to the next one. Shorter: code ends there. */
static uint32_t through_page(struct etm_reach *r, struct etm_blocks *b, uint32_t space, uint64_t at,
			     uint64_t end, uint64_t *ret_next)
{
	struct etm_reach_page *p = slot_of(r, space, at);
	uint32_t nr;

	if (p && p->next && p->at == at && p->space == space) {
		*ret_next = p->next;
		return p->nr;
	}
	nr = etm_blocks_count(b, space, ISA_T32, at, end, ret_next);
	if (p && *ret_next >= end)
		*p = (struct etm_reach_page){at, *ret_next, space, nr};
	return nr;
}

/** The first @p most instructions from @p at on; there are more before @p end. */
static void first_of(struct etm_blocks *b, uint32_t space, uint64_t at, uint64_t end, uint32_t most,
		     uint64_t *ret_next)
{
	uint64_t less = 0, more = (end - at) / 2;

	while (more - less > 1) {
		uint64_t mid = less + (more - less) / 2;

		if (etm_blocks_count(b, space, ISA_T32, at, at + 2 * mid, ret_next) <= most)
			less = mid;
		else
			more = mid;
	}
	etm_blocks_count(b, space, ISA_T32, at, at + 2 * less, ret_next);
}

uint32_t etm_reach_count(struct etm_reach *r, struct etm_blocks *b, uint32_t space, enum isa isa,
			 uint64_t from, uint64_t to, uint64_t *ret_readable)
{
	uint64_t at = from, next;
	uint32_t nr = 0;

	if (isa != ISA_T32)
		return etm_blocks_count(b, space, isa, from, to, ret_readable);
	while (at < to && nr < ETM_MAX_BLOCK_INSNS) {
		uint64_t end = at | (PAGE - 1);
		uint32_t n;

		end = end < to ? end + (end < UINT64_MAX) : to;
		if (at % PAGE < 4 && end % PAGE == 0)
			n = through_page(r, b, space, at, end, &next);
		else
			n = etm_blocks_count(b, space, isa, at, end, &next);
		if (nr + n > ETM_MAX_BLOCK_INSNS) {
			n = ETM_MAX_BLOCK_INSNS - nr;
			first_of(b, space, at, end, n, &next);
		}
		nr += n;
		at = next;
		if (next < end)
			break;
	}
	*ret_readable = at;
	return nr;
}
