/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

/** Strings to small dense numbers and back. Zeroed struct = empty. Number 0 is always "". */
struct intern {
	struct arena text;
	struct {
		VEC(struct intern_str {
			const char *s; /* NUL-terminated; lives as long as the table */
			uint32_t len;
		});
	} strs;
	uint32_t *slots; /* string number + 1; 0 = empty */
	size_t cap;
};

enum { INTERN_FAILED = UINT32_MAX }; /* out of memory */

uint32_t intern_add(struct intern *t, const char *s, size_t len);

static inline uint32_t intern_str(struct intern *t, const char *s)
{
	return intern_add(t, s, __builtin_strlen(s));
}

/** Is @p s in the table? Adds nothing. */
bool intern_has(const struct intern *t, const char *s);
/** The number of @p s; INTERN_FAILED: it was never added. */
uint32_t intern_find(const struct intern *t, const char *s, size_t len);

/** @p id must come from this table. */
static inline const char *intern_get(const struct intern *t, uint32_t id)
{
	return t->strs.nr ? t->strs.data[id].s : "";
}

void intern_done(struct intern *t);

#endif
