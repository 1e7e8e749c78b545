/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_BPF_ENTRY_GUESS_H
#define RECORD_BPF_ENTRY_GUESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Walk the user stack at once, or when the entry to the kernel ends? The same code in the BPF
 * program and in its test.
 *
 * A walk that is put off serves all samples of the entry: right for a long system call, but for a
 * short one twice the cost of a walk at once. The length of an entry is unknown beforehand, so the
 * last one that was put off predicts it: where other samples shared its stack, the next waits, too.
 * Where none did, more and more are walked at once before one is put off again, and only samples in
 * a row that may be of one entry count.
 */
enum { ENTRY_MAX_IN_ROW = 15 };

struct entry_guess {
	uint64_t place;  /* cookie_sight.place of those in a row */
	uint8_t in_row;  /* walked at once */
	uint8_t limit;   /* of in_row */
	bool is_put_off; /* the last walk */
	bool is_shared;  /* by other samples, for the caller to set */
};

static inline struct entry_guess entry_guess_new(void)
{
	return (struct entry_guess){.limit = 1};
}

/** User mode ran: what comes is another entry. */
static inline void entry_guess_user(struct entry_guess *g)
{
	g->in_row = 0;
}

/** A sample in the kernel, at @p place, asks for a stack. @return whether to walk at once. */
static inline bool entry_guess_is_short(struct entry_guess *g, uint64_t place)
{
	if (g->is_put_off)
		g->limit = g->is_shared                     ? 0
			 : g->limit >= ENTRY_MAX_IN_ROW / 2 ? ENTRY_MAX_IN_ROW
							    : (uint8_t)(2 * g->limit + 1);
	if (g->is_put_off || g->place != place)
		g->in_row = 0;
	g->place = place;
	g->is_put_off = g->in_row >= g->limit;
	g->is_shared = false;
	g->in_row++;
	return !g->is_put_off;
}

#endif
