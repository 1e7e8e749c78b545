/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SNAPSHOT_CS_SNAPSHOT_INI_H
#define TRACE_SNAPSHOT_CS_SNAPSHOT_INI_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/vec.h"

/*
 * The .ini files of snapshots: "[section]", "key = value", comments from ; or # to the end of the
 * line. Sections may come twice, keys too; all lines are kept in order. Names compare without
 * regard to case.
 */
struct cs_ini_line {
	const char *section; /* NUL-terminated, in the arena, as the others */
	const char *key, *value;
	uint32_t section_nr; /* counts headings: two sections of one name differ in it */
};

struct cs_ini {
	VEC(struct cs_ini_line);
	uint32_t nr_bad; /* lines that are neither heading, comment nor "key = value" */
	bool is_cut;     /* more than CS_INI_MAX_LINES */
};

enum { CS_INI_MAX_LINES = 50000 };

/** @return false: out of memory. The caller ends it with vec_done(). */
bool cs_ini_parse(struct cs_ini *ret, struct bytes text, struct arena *arena);

/** The last value of a key; NULL: no such key. */
const char *cs_ini_get(const struct cs_ini *ini, const char *section, const char *key);

bool cs_ini_is(const char *a, const char *b);

/** A number in C notation, what follows it is not looked at. @return false: there is none. */
bool cs_ini_number(const char *text, uint64_t *ret);

/** The next word of a comma list, without the space around it; @p at moves past it. NULL: no
 * more, or out of memory. */
char *cs_ini_word(const char **at, struct arena *arena);

#endif
