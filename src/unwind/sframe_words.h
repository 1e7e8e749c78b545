/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_WORDS_H
#define UNWIND_SFRAME_WORDS_H

#include "unwind/sframe_write.h"

/*
 * One rule as the data words of a row.
 */
enum { SFRAME_MAX_WORDS = 6 };

struct sframe_words {
	unsigned int nr;    /* 0: outermost */
	unsigned int bytes; /* of each: 1, 2 or 4, the least that holds all */
	uint8_t info;       /* the row's info byte */
	int64_t word[SFRAME_MAX_WORDS];
};

/** What all rows of a function have in common. */
struct sframe_style {
	enum unw_arch arch;
	uint8_t version;
	bool is_flex;
};

/** Can @p rule be written in a function of kind DEFAULT? Version 3: else it is FLEX. */
bool sframe_is_default(const struct sframe_style *style, const struct unw_rule *rule);

/** @return false and *why where the form has no words for it. */
bool sframe_words_of(const struct sframe_style *style, const struct unw_rule *rule,
		     struct sframe_words *ret, enum sframe_left_out *why);

#endif
