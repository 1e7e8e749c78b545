/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_latest.h"

#include <stdlib.h>

#include "base/search.h"

enum { NO_SYM = UINT32_MAX };

/** Addresses cut at all beginnings and ends; the last to be added is the first to take its pieces.
 */
struct pieces {
	uint64_t *cuts; /* sorted; piece i is [cuts[i], cuts[i + 1]) */
	uint32_t *sym;  /* of each piece; NO_SYM */
	uint32_t *next; /* a piece no later than the next one that is free */
	size_t nr_cuts;
};

/** A symbol of size 0 covers its own address. */
static uint64_t end_of(const struct sym *s)
{
	return s->end > s->start || s->start == UINT64_MAX ? s->end : s->start + 1;
}

static int by_value(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void cut(struct pieces *p, const struct sym_new *added, size_t nr)
{
	size_t out = 0;

	for (size_t i = 0; i < nr; i++) {
		p->cuts[2 * i] = added[i].s.start;
		p->cuts[2 * i + 1] = end_of(&added[i].s);
	}
	qsort(p->cuts, 2 * nr, sizeof(*p->cuts), by_value);
	for (size_t i = 0; i < 2 * nr; i++) {
		if (!out || p->cuts[out - 1] != p->cuts[i])
			p->cuts[out++] = p->cuts[i];
	}
	p->nr_cuts = out;
	for (size_t i = 0; i < out; i++) {
		p->sym[i] = NO_SYM;
		p->next[i] = (uint32_t)i;
	}
}

/** The first free piece from @p i on; paths are halved on the way. */
static size_t first_free(struct pieces *p, size_t i)
{
	while (p->next[i] != i) {
		p->next[i] = p->next[p->next[i]];
		i = p->next[i];
	}
	return i;
}

/** The last cut begins no piece: it is always free. */
static void take(struct pieces *p, const struct sym *s, uint32_t number)
{
	uint64_t end = end_of(s);
	size_t i = search_first(p->nr_cuts, k, p->cuts[k] >= s->start);

	for (i = first_free(p, i); p->cuts[i] < end; i = first_free(p, i)) {
		p->sym[i] = number;
		p->next[i] = (uint32_t)i + 1;
	}
}

static struct sym_range *join(const struct pieces *p, size_t *ret_nr)
{
	struct sym_range *r = mem_calloc(p->nr_cuts, sizeof(*r));
	size_t nr = 0;

	for (size_t i = 0; r && i + 1 < p->nr_cuts; i++) {
		if (p->sym[i] == NO_SYM)
			continue;
		if (nr && r[nr - 1].sym == p->sym[i] && r[nr - 1].end == p->cuts[i])
			r[nr - 1].end = p->cuts[i + 1];
		else
			r[nr++] = (struct sym_range){p->cuts[i], p->cuts[i + 1], p->sym[i]};
	}
	*ret_nr = nr;
	return r;
}

bool sym_latest_flatten(const struct sym_new *added, size_t nr, struct sym_range **ret,
			size_t *ret_nr)
{
	struct pieces p = {.cuts = mem_calloc(2 * nr + 1, sizeof(*p.cuts)),
			   .sym = mem_calloc(2 * nr + 1, sizeof(*p.sym)),
			   .next = mem_calloc(2 * nr + 1, sizeof(*p.next))};
	bool ok = p.cuts && p.sym && p.next;

	if (ok) {
		cut(&p, added, nr);
		for (size_t i = nr; i-- > 0;)
			take(&p, &added[i].s, (uint32_t)i);
		*ret = join(&p, ret_nr);
		ok = *ret;
	}
	mem_free(p.next);
	mem_free(p.sym);
	mem_free(p.cuts);
	return ok;
}
