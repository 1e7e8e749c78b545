/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "record/event_spell.h"

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

void event_guess_start(struct event_guess *g, struct event_word word)
{
	/* One mistake in three letters is the most that is worth a question. */
	*g = (struct event_guess){.word = word, .distance = EDIT * (word.n + 2) / 3 + 1};
}

void event_guess_try(struct event_guess *g, const char *name)
{
	size_t n = strlen(name), d;

	if (n >= sizeof(g->best))
		return;
	d = distance(g->word.s, g->word.n, name, n);
	if (d == 0 && memcmp(g->word.s, name, n))
		d = CASE;
	/* The word itself is no correction: it is there, and of no use. */
	if (d && d < g->distance) {
		g->distance = d;
		memcpy(g->best, name, n + 1);
	}
}

const char *event_guess_text(const struct event_guess *g, char *ret, size_t size)
{
	*ret = '\0';
	if (*g->best)
		snprintf(ret, size, "; did you mean '%s'?", g->best);
	return ret;
}
