/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_REFUSAL_REFUSAL_TEXT_H
#define RECORD_REFUSAL_REFUSAL_TEXT_H

#include <clew/err.h>

#include "base/attributes.h"
#include "record/refusal/refusal.h"

/* Shared by the refusal*.c files: one explanation being written. */
struct refusal_case {
	const struct rec_refusal *r;
	const struct rec_world *w;
	struct rec_refusal_text *ret;
};

void refusal_cause(const struct refusal_case *c, const char *format, ...) CLEW_PRINTF(2, 3);
void refusal_remedy(const struct refusal_case *c, const char *format, ...) CLEW_PRINTF(2, 3);

static inline bool refusal_has(const struct refusal_case *c, uint64_t flag)
{
	return c->r->attr->flags & flag;
}

/** EACCES, EPERM of perf_event_open(). */
void refusal_of_permission(const struct refusal_case *c);

/** EINVAL of perf_event_open(). */
void refusal_of_attr(const struct refusal_case *c);

/** EOPNOTSUPP of perf_event_open(). */
void refusal_of_ability(const struct refusal_case *c);

#endif
