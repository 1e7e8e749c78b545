/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/near_name.h"

#include <stdint.h>
#include <string.h>

enum { MAX_WORD = 64, FAR = 1000 };

/* Letter case is half a mistake, however many letters it concerns: so distances count halves. */
enum { EDIT = 2, CASE = 1 };

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static size_t cost(char a, char b)
{
	return lower(a) == lower(b) ? 0 : EDIT;
}

/* Levenshtein's distance with swaps of two neighbours (optimal string alignment), three rows. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][MAX_WORD + 1], *before = rows[0], *above = rows[1], *row = rows[2];

	if (n > MAX_WORD || m > MAX_WORD)
		return FAR;
	for (size_t j = 0; j <= m; j++)
		above[j] = j * EDIT;
	for (size_t i = 1; i <= n; i++) {
		size_t *unused = before;

		row[0] = i * EDIT;
		for (size_t j = 1; j <= m; j++) {
			row[j] = min3(above[j] + EDIT, row[j - 1] + EDIT,
				      above[j - 1] + cost(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + EDIT < row[j])
				row[j] = before[j - 2] + EDIT;
		}
		before = above;
		above = row;
		row = unused;
	}
	return above[m];
}

void near_name_start(struct near_name *n, const char *word, size_t size)
{
	/* One mistake in three letters is the most that is worth a question. */
	*n = (struct near_name){.word = word,
				.size = size,
				.distance = size > MAX_WORD ? 0 : EDIT * (size + 2) / 3 + 1};
}

void near_name_try(struct near_name *n, const char *name)
{
	size_t size = strlen(name), d;

	if (size >= sizeof(n->best))
		return;
	d = distance(n->word, n->size, name, size);
	if (d == 0 && memcmp(n->word, name, size) != 0)
		d = CASE;
	/* The word itself is no correction: it is there, and of no use. */
	if (d && d < n->distance) {
		n->distance = d;
		memcpy(n->best, name, size + 1);
	}
}
