/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_FRAME_H
#define API_FRAME_H

#include <clew/session.h>

#include "analyze/analyze.h"

_Static_assert((int)CLEW_LEVEL_GUEST_KERNEL == (int)ANA_GUEST_KERNEL,
	       "the levels are numbered alike");

/* The public handles are the inner objects, which live as long as the store they are of. */

static inline const struct clew_binary *binary_of(const struct dso *d)
{
	return (const struct clew_binary *)d;
}

static inline const struct clew_symbol *symbol_of(const struct dso_sym *s)
{
	return (const struct clew_symbol *)s;
}

static inline struct clew_frame api_frame_of(const struct ana_loc *loc)
{
	return (struct clew_frame){.ip = loc->ip,
				   .address = loc->rel,
				   .binary = binary_of(loc->dso),
				   .symbol = symbol_of(loc->sym),
				   .level = (enum clew_level)loc->level,
				   .is_return = loc->is_return};
}

#endif
