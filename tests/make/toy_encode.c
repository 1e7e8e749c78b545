/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/toy_encode.h"

static void put_byte(struct toy_encoder *e, uint8_t byte)
{
	buf_add(e->out, &byte, 1);
}

static void flush(struct toy_encoder *e)
{
	if (e->nr_branches)
		put_byte(e, (uint8_t)(TOY_BRANCHES | 1u << e->nr_branches | e->branches));
	e->branches = e->nr_branches = 0;
}

static void put_address(struct toy_encoder *e, enum toy_packet header, uint64_t address)
{
	flush(e);
	put_byte(e, (uint8_t)header);
	for (int i = 0; i < 8; i++)
		put_byte(e, (uint8_t)(address >> 8 * i));
}

void toy_put_sync(struct toy_encoder *e, uint64_t pc)
{
	flush(e);
	for (int i = 0; i < TOY_PADS; i++)
		put_byte(e, TOY_PAD);
	put_address(e, TOY_SYNC, pc);
	e->nr_stack = 0;
}

static void put_branch(struct toy_encoder *e, bool is_taken)
{
	e->branches = (uint8_t)(e->branches | (unsigned int)is_taken << e->nr_branches++);
	if (e->nr_branches == TOY_MAX_BRANCHES || etm_random_one_in(&e->random, 20))
		flush(e);
}

static unsigned int depth(const struct toy_encoder *e)
{
	return e->is_silent ? TOY_SILENT_STACK : TOY_STACK;
}

static void push(struct toy_encoder *e, uint64_t next)
{
	e->top = (e->top + 1) % depth(e);
	e->stack[e->top] = next;
	e->nr_stack += e->nr_stack < depth(e);
}

static void pop(struct toy_encoder *e)
{
	e->top = (e->top + depth(e) - 1) % depth(e);
	e->nr_stack--;
}

static void put_target(struct toy_encoder *e, const struct insn *i, uint64_t to)
{
	bool may_pop = e->is_silent ? i->flags & INSN_RET : i->kind != INSN_FAR;
	bool has_address = !may_pop || !e->nr_stack || e->stack[e->top] != to;

	if (may_pop && e->nr_stack && (e->is_silent || !has_address))
		pop(e);
	if (has_address)
		put_address(e, TOY_ADDRESS, to);
	else if (e->is_silent)
		put_branch(e, true);
}

void toy_put_waypoint(struct toy_encoder *e, const struct insn *i, bool is_taken, uint64_t next,
		      uint64_t to)
{
	if (!e->is_silent || i->kind == INSN_COND)
		put_branch(e, is_taken);
	if (i->flags & INSN_LINK)
		push(e, next);
	if (i->kind == INSN_INDIRECT || i->kind == INSN_FAR)
		put_target(e, i, to);
}

void toy_put_exception(struct toy_encoder *e, uint64_t at, uint64_t to)
{
	put_address(e, TOY_EXCEPTION, at);
	put_address(e, TOY_ADDRESS, to);
}
