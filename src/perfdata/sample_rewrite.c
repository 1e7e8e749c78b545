/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/sample_rewrite.h"

#include "perfdata/record_put.h"

enum { MAX_RECORD = UINT16_MAX & ~7 };

/* Where the parts stand, from the record's first byte. */
struct places {
	size_t chain;          /* its count */
	size_t regs, regs_end; /* user registers with their abi */
	size_t stack_end;      /* of the user stack, which begins where the registers end */
};

static void find_places(struct places *p, const uint8_t *record, const struct perf_attr *attr,
			const struct perf_sample *s)
{
	const uint64_t type = attr->sample_type;
	size_t at;

	p->chain = (size_t)(s->callchain.data - record) - 8;
	at = p->chain + 8 + 8 * (size_t)s->callchain.nr;
	if (type & PERF_SAMPLE_RAW)
		at += 4 + bytes_left(&s->raw);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		at += 8 + (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX ? 8u : 0u) +
		      8 * ((size_t)s->branches.words.nr + s->branches.counters.nr);
	p->regs = at;
	if (type & PERF_SAMPLE_REGS_USER)
		at += 8 + 8 * (size_t)s->regs_user.words.nr;
	p->regs_end = at;
	if (type & PERF_SAMPLE_STACK_USER)
		at += 8 + (s->stack_user.data.pos ? bytes_left(&s->stack_user.data) + 8 : 0);
	p->stack_end = at;
}

/* How many words of the chain fit. */
static bool fit(size_t total, uint32_t *chain_nr)
{
	size_t over = total > MAX_RECORD ? (total - MAX_RECORD + 7) / 8 : 0;

	if (over > *chain_nr)
		return false;
	*chain_nr -= (uint32_t)over;
	return true;
}

uint32_t sample_chain_room(size_t size, const struct perf_sample *s)
{
	size_t others = size - 8 * (size_t)s->callchain.nr;

	return others < MAX_RECORD ? (uint32_t)((MAX_RECORD - others) / 8) : 0;
}

uint32_t sample_rewrite(struct buf *out, const uint8_t *record, size_t size,
			const struct perf_attr *attr, const struct perf_sample *s,
			const struct sample_edit *e)
{
	uint32_t chain_nr = e->replaces_chain ? 0 : s->callchain.nr;
	size_t start = out->nr, total, chain_end;
	uint64_t nr;
	struct places p;

	find_places(&p, record, attr, s);
	total = size - 8 * (size_t)(s->callchain.nr - chain_nr) + 8 * (size_t)e->nr_words;
	total -= e->drops_regs ? p.regs_end - p.regs : 0;
	total -= e->drops_stack ? p.stack_end - p.regs_end : 0;
	if (!fit(total, &chain_nr)) {
		buf_add(out, record, size);
		return UINT32_MAX;
	}
	if (!buf_reserve(out, total))
		return UINT32_MAX;
	chain_end = p.chain + 8 + 8 * (size_t)s->callchain.nr;
	nr = (uint64_t)chain_nr + e->nr_words;
	buf_add(out, record, p.chain);
	buf_add(out, &nr, sizeof(nr));
	buf_add(out, s->callchain.data, 8 * (size_t)chain_nr);
	buf_add(out, e->words, 8 * (size_t)e->nr_words);
	buf_add(out, record + chain_end, p.regs - chain_end);
	if (!e->drops_regs)
		buf_add(out, record + p.regs, p.regs_end - p.regs);
	if (!e->drops_stack)
		buf_add(out, record + p.regs_end, p.stack_end - p.regs_end);
	buf_add(out, record + p.stack_end, size - p.stack_end);
	perf_record_end(out, start);
	return e->nr_words;
}
