/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow_impl.h"
#include "flow/flow_walk.h"

enum {
	MAX_SKIPPED = 4096, /* branches that a source address may lead over: real ones few */
	MAX_IT_BYTES = 14,  /* from an IT to the branch that is the last of its block */
};

static bool bad_image(struct etm_flow *f, const char *what)
{
	f->flow.front->lose(&f->flow, FLOW_NO_SYNC_BAD_IMAGE, what);
	return false;
}

/** Do bytes before the branch at @p pc look like an IT that makes it conditional? It would be the
 * last of up to four instructions. Unreadable ones may. */
static bool may_follow_it(struct etm_flow *f, const struct flow_block *b, uint64_t pc)
{
	const uint8_t *p;

	for (uint64_t at = pc - 2; pc - at <= MAX_IT_BYTES; at -= 2) {
		if (flow_code_at(&f->flow.code, b->space, at, &p) < 2 ||
		    (p[1] == 0xbf && p[0] & 0xf))
			return true;
	}
	return false;
}

/** Does execution never get past this block's end without an E atom? */
static bool always_branches(struct etm_flow *f, const struct flow_block *b)
{
	uint64_t next = b->start + b->bytes;

	if (!flow_is_branch(b) || b->kind == INSN_COND || b->flags & INSN_MAY_FAIL)
		return false;
	if (b->kind == INSN_BRANCH && b->target == next)
		return false; /* some units say N */
	return b->isa != ISA_T32 || !may_follow_it(f, b, next - b->last_bytes);
}

/** From f->flow.pc, which stays, to @p to, past what need not have been taken? */
static bool is_open(struct etm_flow *f, uint64_t to)
{
	const uint64_t pc = f->flow.pc;
	const uint32_t at = flow_here(&f->flow) ? f->flow.at : FLOW_NO_BLOCK;
	bool ok = true;

	for (unsigned int nr = 0; f->flow.at != FLOW_NO_BLOCK && nr < MAX_SKIPPED; nr++) {
		const struct flow_block *b = &f->flow.blocks.all.data[f->flow.at];

		if (b->kind == INSN_PLAIN || to - b->start < b->bytes)
			break;
		ok = !always_branches(f, b);
		if (!ok || !flow_fall_through(&f->flow))
			break;
	}
	f->flow.pc = pc;
	f->flow.at = at;
	return ok;
}

bool etm_walk_source(struct etm_flow *f, const struct etm_elem *e)
{
	uint64_t from;
	uint32_t nr_insns = 0, nr_walked = 0, nr_blocks = 0;

	if (f->flow.needs_context) {
		flow_drop(&f->flow, 1);
		return true;
	}
	if (flow_may_pop(&f->flow) && !flow_pop(&f->flow))
		return false;
	f->flow.popping = FLOW_POPS_NOTHING; /* the target is not in the trace, and not needed */
	f->flow.from = FLOW_NO_BLOCK;
	if (f->flow.needs_address || f->flow.pc > e->value)
		flow_move_to(&f->flow, e->value, etm_isa_of(f, e->is));
	if (!is_open(f, e->value))
		return bad_image(f, "a branch that is always taken, before a source address");
	from = f->flow.pc;
	for (;;) {
		const struct flow_block *b;
		uint64_t branch;

		if (!flow_here(&f->flow))
			return false;
		b = &f->flow.blocks.all.data[f->flow.at];
		branch = b->start + b->bytes - b->last_bytes;
		if (b->kind == INSN_PLAIN || branch > e->value)
			flow_put_range(&f->flow, from, b->start, nr_insns); /* got so far */
		if (b->kind == INSN_PLAIN)
			return flow_step_broken(&f->flow, b);
		if (branch > e->value)
			return bad_image(f, "no branch at a source address");
		nr_walked += b->nr_insns;
		if (nr_walked > FLOW_MAX_BLOCK_INSNS)
			return bad_image(f, "a source address far from where execution was");
		nr_insns += b->nr_insns;
		if (branch == e->value)
			break;
		if (!f->flow.items || f->opts.splits_source_ranges) {
			flow_put_item(&f->flow, f->flow.at, false);
			from = b->start + b->bytes;
			nr_insns = 0;
			if (f->flow.nr_items >= FLOW_BATCH_ITEMS)
				flow_deliver(&f->flow);
		}
		if (++nr_blocks == MAX_SKIPPED)
			return bad_image(f, "a source address many branches away");
		if (!flow_fall_through(&f->flow))
			return false;
	}
	if (from == f->flow.blocks.all.data[f->flow.at].start) {
		flow_put_item(&f->flow, f->flow.at, true);
	} else {
		const struct flow_block *b = &f->flow.blocks.all.data[f->flow.at];

		flow_put_range(&f->flow, from, b->start + b->bytes, nr_insns);
	}
	flow_take(&f->flow, f->flow.at);
	return true;
}
