/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_TOY_ENCODE_H
#define TESTS_MAKE_TOY_ENCODE_H

#include "make/etm_code.h"
#include "make/toy.h"

enum { TOY_STACK = 16 };

/** Puts into packets what ran. */
struct toy_encoder {
	struct buf *out;
	struct etm_random random; /* where there is a choice */
	uint64_t stack[TOY_STACK];
	unsigned int top, nr_stack;
	uint8_t branches, nr_branches; /* that no packet has yet */
};

void toy_put_branch(struct toy_encoder *e, bool is_taken);
/** A call was taken: it returns to @p next. */
void toy_push(struct toy_encoder *e, uint64_t next);
/** An indirect branch was taken to @p to. */
void toy_put_target(struct toy_encoder *e, uint64_t to);
/** Execution is at @p pc. */
void toy_put_sync(struct toy_encoder *e, uint64_t pc);
/** What ran ended before @p at; execution continues at @p to. */
void toy_put_exception(struct toy_encoder *e, uint64_t at, uint64_t to);

#endif
