/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_insn_counter.h"

#include "base/hash.h"
#include "base/mem.h"

enum { PAGE = 1 << 10, NR_PAGES = 16 << 10 };

/** The way through a page, from where it was entered. */
struct flow_insn_page {
	uint64_t at, next; /* next: after the last instruction that begins in it; 0: no entry */
	uint32_t space;
	uint16_t nr;
	uint8_t isa;
};

/** Code of one kind in one space. */
struct code {
	struct flow_code *code;
	uint32_t space;
	enum isa isa;
	struct flow_insn_bytes bytes; /* of its instructions */
};

static struct code code_of(struct flow_code *c, uint32_t space, enum isa isa)
{
	return (struct code){c, space, isa, c->insns->bytes(isa)};
}

static uint32_t count(const struct code *c, uint64_t from, uint64_t to, uint64_t *ret_readable)
{
	const struct flow_span s = {from, to, c->space, c->isa};

	return flow_code_count(c->code, &s, ret_readable);
}

void flow_insn_counter_done(struct flow_insn_counter *r)
{
	mem_free(r->pages);
	r->pages = NULL;
}

static struct flow_insn_page *slot_of(struct flow_insn_counter *r, uint32_t space, uint64_t at)
{
	if (!r->pages)
		r->pages = mem_calloc(NR_PAGES, sizeof(*r->pages));
	return r->pages ? &r->pages[hash_two(at, space) & (NR_PAGES - 1)] : NULL;
}

/** From @p at, the first instruction of a page, to the next one. Shorter: code ends there. */
static uint32_t through_page(struct flow_insn_counter *r, const struct code *c, uint64_t at,
			     uint64_t end, uint64_t *ret_next)
{
	struct flow_insn_page *p = slot_of(r, c->space, at);
	uint32_t nr;

	if (p && p->next && p->at == at && p->space == c->space && p->isa == (uint8_t)c->isa) {
		*ret_next = p->next;
		return p->nr;
	}
	nr = count(c, at, end, ret_next);
	if (p && *ret_next >= end)
		*p = (struct flow_insn_page){at, *ret_next, c->space, (uint16_t)nr,
					     (uint8_t)c->isa};
	return nr;
}

/** The first @p most instructions from @p at on; there are more before @p end. */
static void first_of(const struct code *c, uint64_t at, uint64_t end, uint32_t most,
		     uint64_t *ret_next)
{
	uint64_t least = c->bytes.least, less = 0, more = (end - at) / least;

	while (more - less > 1) {
		uint64_t mid = less + (more - less) / 2;

		if (count(c, at, at + least * mid, ret_next) <= most)
			less = mid;
		else
			more = mid;
	}
	count(c, at, at + least * less, ret_next);
}

static uint32_t walk(struct flow_insn_counter *r, const struct code *c, uint64_t from, uint64_t to,
		     uint64_t *ret_readable)
{
	uint64_t at = from, next;
	uint32_t nr = 0;

	while (at < to && nr < FLOW_MAX_RUN_INSNS) {
		uint64_t end = at | (PAGE - 1);
		uint32_t n;

		end = end < to ? end + (end < UINT64_MAX) : to;
		if (at % PAGE < c->bytes.most && end % PAGE == 0)
			n = through_page(r, c, at, end, &next);
		else
			n = count(c, at, end, &next);
		if (nr + n > FLOW_MAX_RUN_INSNS) {
			n = FLOW_MAX_RUN_INSNS - nr;
			first_of(c, at, end, n, &next);
		}
		nr += n;
		at = next;
		if (next < end)
			break;
	}
	*ret_readable = at;
	return nr;
}

uint32_t flow_insn_counter_count(struct flow_insn_counter *r, struct flow_code *c,
				 const struct flow_span *s, uint64_t *ret_readable)
{
	struct code code = code_of(c, s->space, s->isa);

	if (code.bytes.least == code.bytes.most)
		return flow_code_count(c, s, ret_readable);
	return walk(r, &code, s->from, s->to, ret_readable);
}

uint8_t flow_insn_counter_last(struct flow_insn_counter *r, struct flow_code *c,
			       const struct flow_span *s)
{
	struct flow_insn_bytes bytes = c->insns->bytes(s->isa);
	struct flow_span without = *s;
	uint64_t end;

	for (uint8_t n = bytes.least; n < bytes.most; n = (uint8_t)(n + bytes.least)) {
		without.to = s->to - n;
		flow_insn_counter_count(r, c, &without, &end);
		if (end == without.to)
			return n;
	}
	return bytes.most;
}
