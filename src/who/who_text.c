/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_impl.h"

const char who_not_kept[] = "[not kept]";

enum clew_err who_text(struct who *w, const char *s, const char **ret, uint32_t *ret_id)
{
	uint32_t id;

	if (!intern_has(&w->texts, s) &&
	    !budget_account_take(&w->account, strlen(s) + 1 + BUDGET_TABLE_BYTES,
				 "names of threads and files of"))
		return CLEW_LIMIT;
	id = intern_str(&w->texts, s);
	if (id == INTERN_FAILED)
		return CLEW_NO_MEMORY;
	if (ret_id)
		*ret_id = id;
	*ret = intern_get(&w->texts, id);
	return CLEW_OK;
}
