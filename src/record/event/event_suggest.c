/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "record/event/event_spell.h"

void event_guess_start(struct event_guess *g, struct event_word word)
{
	near_name_start(&g->near, word.s, word.n);
}

void event_guess_try(struct event_guess *g, const char *name)
{
	near_name_try(&g->near, name);
}

const char *event_guess_text(const struct event_guess *g, char *ret, size_t size)
{
	*ret = '\0';
	if (*g->near.best)
		snprintf(ret, size, "; did you mean '%s'?", g->near.best);
	return ret;
}
