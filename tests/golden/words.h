/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_GOLDEN_WORDS_H
#define TESTS_GOLDEN_WORDS_H

#include <stdbool.h>
#include <stdint.h>

enum { WORDS_MAX = 40 };

/** What follows a packet's name. A word that was understood is used up. */
struct words {
	char *word[WORDS_MAX];
	unsigned int nr;
};

/** @p line is cut into words. @return false: it is empty, or has too many. */
bool words_cut(struct words *w, char *line, char **ret_name);
void words_use(struct words *w, unsigned int i);
bool words_have(struct words *w, const char *word);
bool words_is_number(const char *s, int base, uint64_t *ret);
/** The number of "KEY=number". */
bool words_value(struct words *w, const char *key, uint64_t *ret);
uint32_t words_value_or(struct words *w, const char *key, uint32_t otherwise);
/** The first word, if it is a number. */
bool words_number(struct words *w, uint64_t *ret);

#endif
