/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_KEY_NUMBER_H
#define PROFILE_KEY_NUMBER_H

#include "base/budget.h"
#include "base/intern.h"

/** Numbers of keys, up to a limit, as long as the budget has room. */
struct key_numbers {
	struct budget_account *account;
	const char *what;     /* static words, of what the budget has no room for */
	size_t max;           /* keys in one table */
	uint64_t *nr_no_room; /* counts keys that got no number */
	bool is_failed;       /* memory ran short */
};

/**
 * The number of a key of @p bytes bytes, from 0: of all that @p t has, in the order in which they
 * came. *is_new: it came first, and the caller adds what it stands for.
 * @return false: it has none, as there is no room, or no memory.
 */
bool key_number(struct key_numbers *k, struct intern *t, const void *key, size_t bytes,
		uint32_t *ret, bool *is_new);

#endif
