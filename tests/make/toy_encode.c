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

void toy_put_branch(struct toy_encoder *e, bool is_taken)
{
	e->branches = (uint8_t)(e->branches | (unsigned int)is_taken << e->nr_branches++);
	if (e->nr_branches == TOY_MAX_BRANCHES || etm_random_one_in(&e->random, 20))
		flush(e);
}

void toy_push(struct toy_encoder *e, uint64_t next)
{
	e->top = (e->top + 1) % TOY_STACK;
	e->stack[e->top] = next;
	e->nr_stack += e->nr_stack < TOY_STACK;
}

void toy_put_target(struct toy_encoder *e, uint64_t to)
{
	if (!e->nr_stack || e->stack[e->top] != to) {
		put_address(e, TOY_ADDRESS, to);
		return;
	}
	e->top = (e->top + TOY_STACK - 1) % TOY_STACK;
	e->nr_stack--;
}

void toy_put_exception(struct toy_encoder *e, uint64_t at, uint64_t to)
{
	put_address(e, TOY_EXCEPTION, at);
	put_address(e, TOY_ADDRESS, to);
}
