/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/words.h"

#include <stdlib.h>
#include <string.h>

void words_use(struct words *w, unsigned int i)
{
	w->nr--;
	memmove(w->word + i, w->word + i + 1, (w->nr - i) * sizeof(*w->word));
}

bool words_have(struct words *w, const char *word)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		if (strcmp(w->word[i], word) == 0) {
			words_use(w, i);
			return true;
		}
	}
	return false;
}

bool words_is_number(const char *s, int base, uint64_t *ret)
{
	char *end;

	*ret = strtoull(s, &end, base);
	return end != s && !*end;
}

bool words_value(struct words *w, const char *key, uint64_t *ret)
{
	size_t n = strlen(key);

	for (unsigned int i = 0; i < w->nr; i++) {
		const char *s = w->word[i];

		if (strncmp(s, key, n) == 0 && s[n] == '=' && words_is_number(s + n + 1, 0, ret)) {
			words_use(w, i);
			return true;
		}
	}
	return false;
}

uint32_t words_value_or(struct words *w, const char *key, uint32_t otherwise)
{
	uint64_t v;

	return words_value(w, key, &v) ? (uint32_t)v : otherwise;
}

bool words_number(struct words *w, uint64_t *ret)
{
	if (!w->nr || !words_is_number(w->word[0], 0, ret))
		return false;
	words_use(w, 0);
	return true;
}

bool words_cut(struct words *w, char *line, char **ret_name)
{
	char *rest = NULL, *word = strtok_r(line, " \t", &rest);

	*ret_name = word;
	w->nr = 0;
	while (word && (word = strtok_r(NULL, " \t", &rest))) {
		if (w->nr == WORDS_MAX)
			return false;
		w->word[w->nr++] = word;
	}
	return *ret_name;
}
