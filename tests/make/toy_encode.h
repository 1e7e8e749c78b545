/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_TOY_ENCODE_H
#define TESTS_MAKE_TOY_ENCODE_H

#include "isa/insn.h"
#include "make/etm_code.h"
#include "make/toy.h"

enum { TOY_STACK = 16, TOY_SILENT_STACK = 64 };

/** Puts into packets what ran. */
struct toy_encoder {
	struct buf *out;
	struct etm_random random; /* where there is a choice */
	bool is_silent;
	uint64_t stack[TOY_SILENT_STACK];
	unsigned int top, nr_stack;
	uint8_t branches, nr_branches; /* that no packet has yet */
};

/** @p i, a waypoint, was taken or not: @p next is after it, execution continues at @p to. */
void toy_put_waypoint(struct toy_encoder *e, const struct insn *i, bool is_taken, uint64_t next,
		      uint64_t to);
/** Execution is at @p pc. */
void toy_put_sync(struct toy_encoder *e, uint64_t pc);
/** What ran ended before @p at; execution continues at @p to. */
void toy_put_exception(struct toy_encoder *e, uint64_t at, uint64_t to);

#endif
