/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_LEFT_OUT_H
#define API_LEFT_OUT_H

#include <clew/session.h>

#include "base/budget.h"

static inline struct clew_left_out left_out_of(const struct budget *b)
{
	return (struct clew_left_out){.limit = b->limit,
				      .nr = b->nr_refused,
				      .first_bytes = b->first_bytes,
				      .first_what = b->first_what,
				      .first_input = b->first_input};
}

#endif
