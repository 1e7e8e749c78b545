/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/key_number.h"

bool key_number(struct key_numbers *k, struct intern *t, const void *key, size_t bytes,
		uint32_t *ret, bool *is_new)
{
	uint32_t n = intern_find(t, key, bytes);

	*is_new = n == INTERN_FAILED;
	if (*is_new) {
		if (t->strs.nr > k->max ||
		    !budget_account_take(k->account, bytes + BUDGET_TABLE_BYTES, k->what)) {
			++*k->nr_no_room;
			return false;
		}
		n = intern_add(t, key, bytes);
		k->is_failed |= n == INTERN_FAILED;
	}
	*ret = n - 1; /* number 0 of an intern is "" */
	return n != INTERN_FAILED;
}
