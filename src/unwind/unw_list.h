/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_LIST_H
#define UNWIND_UNW_LIST_H

#include "base/vec.h"
#include "unwind/unw_table.h"

/*
 * The inside of struct unw_list, for unw_list.c and unw_table.c alone.
 */

/** Distinct rules. Zeroed struct = empty. */
struct unw_rules {
	VEC(struct unw_rule);
	uint32_t *slots; /* index + 1 of a rule, 0: free */
	size_t nr_slots; /* a power of two, or 0 */
};

/** Index of @p rule in @p s, which gets it where it is new. @return false when memory is short. */
bool unw_rules_intern(struct unw_rules *s, const struct unw_rule *rule, uint32_t *ret);
void unw_rules_done(struct unw_rules *s);

struct unw_function {
	uint64_t start, end;
	size_t first, nr; /* its marks */
};

/** From start + off on, rules[rule]. */
struct unw_mark {
	uint32_t off, rule;
};

struct unw_list {
	struct {
		VEC(struct unw_function);
	} functions;
	struct {
		VEC(struct unw_mark);
	} marks;
	struct unw_rules rules;
	bool is_open;        /* rows go to the last function */
	bool is_without_rbx; /* set before the first row: where rbx is saved makes no difference */
	bool is_unordered;   /* functions do not stand in strict order of start */
	enum clew_err err;   /* remembered until the table is built */
};

/** Walks a list from address to address: rule holds in [at, until). Borrows the list. */
struct unw_sweep {
	struct unw_list *list;
	struct {
		VEC(struct unw_open);
	} open;      /* functions that cover at, in order of start: the last one counts */
	size_t next; /* function */
	uint64_t at, until;
	const struct unw_rule *rule; /* NULL: no function, or none of its rows */
	uint32_t index;              /* of rule */
};

struct unw_open {
	size_t function, mark;
};

/** Put the functions in order of start. */
void unw_list_sort(struct unw_list *l);
/** Does a function of @p l, which is sorted, hold @p rel? O(log n); of nested ones the last counts.
 */
bool unw_list_covers(const struct unw_list *l, uint64_t rel);

/** Sorts @p l; the sweep stands before the first function; until is its start. */
enum clew_err unw_sweep_init(struct unw_sweep *s, struct unw_list *l);
/** Go to until. @return false when memory is short. */
bool unw_sweep_next(struct unw_sweep *s);
void unw_sweep_done(struct unw_sweep *s);

#endif
