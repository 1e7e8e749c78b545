/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef API_ANA_FRAME_H
#define API_ANA_FRAME_H

#include <clew/session.h>

#include "analyze/analyze.h"

_Static_assert((int)CLEW_LEVEL_GUEST_KERNEL == (int)ANA_GUEST_KERNEL,
	       "the levels are numbered alike");

/** A location as the public headers show it. */
static inline struct clew_frame ana_frame_of(const struct ana_loc *loc)
{
	struct clew_frame f = {.ip = loc->ip, .level = (enum clew_level)loc->level};

	if (loc->dso)
		f.dso = dso_path(loc->dso);
	if (loc->sym) {
		f.symbol = loc->sym->name;
		f.symbol_offset = loc->rel - loc->sym->start;
	}
	return f;
}

#endif
