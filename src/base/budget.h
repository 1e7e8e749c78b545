/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How many bytes may be unpacked or kept of an input. A plain counter that its owner hands to the
 * stores: each takes before it keeps something and gives back what it frees. Where taking fails,
 * only that one thing is omitted. Any thread may take and give. Zeroed struct = no limit; so is
 * NULL in place of one.
 */
struct budget {
	uint64_t limit; /* bytes; 0: none */
	uint64_t used, peak;
	uint64_t held;          /* of used: by budget_hold() */
	uint64_t nr_refused;    /* things omitted */
	uint64_t refused_bytes; /* what they would have taken, where that is known */
	uint64_t first_bytes;   /* of the first of them */
	const char *first_what; /* static words, "the debug sections of" */
	char first_input[256];  /* the file it is of, cut; "": the recording */
};

/** An entry's part of tables that double when they are full. */
enum { BUDGET_TABLE_BYTES = 96 };

/** @return false: there is no room, and nothing was taken. */
bool budget_take(struct budget *b, uint64_t bytes);

/** What was taken, at most. */
void budget_give(struct budget *b, uint64_t bytes);

/**
 * Count as used what has to be kept for a while in any case: records that wait for their turn.
 * Its owner releases it early where budget_holds_much().
 */
void budget_hold(struct budget *b, uint64_t bytes);
void budget_let_go(struct budget *b, uint64_t bytes);

/** Is more than a quarter of the limit held? */
bool budget_holds_much(const struct budget *b);

/**
 * What one store takes, all of which goes back at once; one thread. Each kind of thing that is
 * omitted is noted once, however many of it there are. Zeroed struct but for the budget.
 */
struct budget_account {
	struct budget *budget; /* NULL: no limit */
	uint64_t charged;
	const char *refused[8]; /* static words */
};

/** @p what: of the recording. @return false: there is no room. */
bool budget_account_take(struct budget_account *a, uint64_t bytes, const char *what);
void budget_account_give(struct budget_account *a, uint64_t bytes);
void budget_account_done(struct budget_account *a);

/** @p bytes, or a quarter of the limit where that is less: what a store may hold that throws away
 * what is too much, and is not charged. */
static inline uint64_t budget_part(const struct budget *b, uint64_t bytes)
{
	return b && b->limit && b->limit / 4 < bytes ? b->limit / 4 : bytes;
}

/** Bytes that can be taken now; all ones: any. */
uint64_t budget_left(const struct budget *b);

/** Something is omitted: @p what (static words) of @p input. */
void budget_refuse(struct budget *b, uint64_t bytes, const char *what, const char *input);

/** budget_take(), and budget_refuse() where there is no room. */
bool budget_take_for(struct budget *b, uint64_t bytes, const char *what, const char *input);

#endif
