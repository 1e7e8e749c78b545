/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/interval_map.h"

#include "make/splitmix.h"
#include "unit/tap.h"

enum { SIZE = 64, MAX = 2 * SIZE };

/* One that maps addresses to values: an address's value is value + (address - start). */
struct piece {
	uint64_t start, end, value;
};

static int cuts_left = -1; /* fewer than 0: no limit */

static bool cut(void *ctx, void *element, uint64_t start, uint64_t end)
{
	struct piece *p = element;

	(void)ctx;
	if (!cuts_left || start < p->start || end > p->end || start >= end)
		return false;
	cuts_left--;
	p->value += start - p->start;
	p->start = start;
	p->end = end;
	return true;
}

/* Pointers: cut into @p ctx, a store that only grows. */
struct store {
	struct piece pieces[4 * 4096];
	size_t nr;
};

static bool cut_pointer(void *ctx, void *element, uint64_t start, uint64_t end)
{
	struct store *s = ctx;
	struct piece **at = element, *p = &s->pieces[s->nr++];

	*p = **at;
	*at = p;
	return cut(NULL, p, start, end);
}

static const struct interval_type values = {sizeof(struct piece), false, cut};
static const struct interval_type pointers = {sizeof(struct piece *), true, cut_pointer};

/* Maps are small enough to be written down: one character an address, the value; '.' nothing. */
static const char *text_of(const struct interval_map *m)
{
	static char text[SIZE + 1];
	size_t at = 0;

	for (uint64_t addr = 0; addr < SIZE; addr++) {
		size_t i = interval_find(m, addr);
		const struct piece *p = (const struct piece *)m->data + i;

		text[at++] = i == m->nr ? '.' : (char)('a' + p->value + (addr - p->start));
	}
	while (at && text[at - 1] == '.')
		at--;
	text[at] = '\0';
	return text;
}

static bool put(struct interval_map *m, uint64_t start, uint64_t end, uint64_t value)
{
	return interval_insert(m, NULL, &(struct piece){start, end, value});
}

static void test_cuts(void)
{
	struct piece row[MAX];
	struct interval_map m = {&values, row, 0};

	CHECK(interval_find(&m, 0) == 0 && interval_above(&m, 0) == 0,
	      "an empty map covers nothing");
	put(&m, 2, 10, 0);
	CHECK_STR(text_of(&m), "..abcdefgh", "one interval");
	put(&m, 4, 6, 20);
	CHECK_STR(text_of(&m), "..abuvefgh", "a hole in one leaves both ends, with their values");
	CHECK_EQ(m.nr, 3, "... as three intervals");
	put(&m, 0, 3, 15);
	CHECK_STR(text_of(&m), "pqrbuvefgh", "over the beginning of one");
	put(&m, 9, 12, 22);
	CHECK_STR(text_of(&m), "pqrbuvefgwxy", "over the end of one");
	put(&m, 1, 9, 10);
	CHECK_STR(text_of(&m), "pklmnopqrwxy", "over several, the first one cut");
	CHECK_EQ(m.nr, 3, "... which are gone");
	put(&m, 1, 9, 0);
	CHECK_STR(text_of(&m), "pabcdefghwxy", "over exactly one");
	put(&m, 14, 15, 0);
	CHECK_STR(text_of(&m), "pabcdefghwxy..a", "where nothing was");
	put(&m, 15, 16, 3);
	put(&m, 13, 14, 3);
	CHECK_STR(text_of(&m), "pabcdefghwxy.dad", "neighbours do not touch each other");
	cuts_left = 1;
	CHECK(!put(&m, 2, 4, 0), "no memory for the second part of a cut");
	cuts_left = -1;
	CHECK_STR(text_of(&m), "pabcdefghwxy.dad", "... changes nothing");
	interval_remove(&m, interval_overlaps(&m, 8, 14));
	CHECK_STR(text_of(&m), "p.............ad", "whole intervals are removed");
	interval_remove(&m, interval_overlaps(&m, 5, 9));
	CHECK_EQ(m.nr, 3, "... none where none overlaps");
	put(&m, 0, UINT64_MAX, 0);
	CHECK(m.nr == 1 && interval_find(&m, UINT64_MAX) == 1, "the last address is never covered");
}

static bool is_sorted(const struct interval_map *m)
{
	uint64_t end = 0;

	for (size_t i = 0; i < m->nr; i++) {
		const uint64_t *b = interval_at(m, i);

		if (b[0] < end || b[1] <= b[0])
			return false;
		end = b[1];
	}
	return true;
}

/* The model: each address's value on its own. */
static bool is_model(const struct interval_map *m, const uint64_t *model)
{
	for (uint64_t addr = 0; addr < SIZE; addr++) {
		size_t i = interval_find(m, addr);
		const struct piece *p = i < m->nr ? (const void *)interval_at(m, i) : NULL;

		if ((p ? p->value + (addr - p->start) : 0) != model[addr])
			return false;
	}
	return is_sorted(m);
}

static void test_random(void)
{
	static struct store store;
	uint64_t model[SIZE] = {0}, seed = 1;
	struct piece row[MAX], *pointer_row[MAX];
	struct interval_map m = {&values, row, 0}, n = {&pointers, pointer_row, 0};
	int wrong = 0;

	for (uint64_t i = 1; i <= 4096; i++) {
		uint64_t start = splitmix64(&seed) % (SIZE - 1);
		uint64_t end = start + 1 + splitmix64(&seed) % (i % 4 ? 8 : SIZE - 1 - start);
		struct piece *p = &store.pieces[store.nr++];

		if (end > SIZE)
			end = SIZE;
		*p = (struct piece){start, end, i * 1000};
		wrong += !interval_insert(&m, NULL, p) || !interval_insert(&n, &store, &p);
		for (uint64_t a = start; a < end; a++)
			model[a] = i * 1000 + (a - start);
		wrong += !is_model(&m, model) || !is_model(&n, model);
	}
	CHECK(!wrong, "4096 random intervals, in values and in pointers: as address by address");
}

static void test_search(void)
{
	const int v[] = {1, 3, 3, 3, 7};
	const size_t nr = sizeof(v) / sizeof(*v);

	CHECK_EQ(search_first(0, i, v[i] > 0), 0, "search: of nothing");
	CHECK_EQ(search_first(nr, i, v[i] > 0), 0, "search: before all");
	CHECK_EQ(search_first(nr, i, v[i] >= 3), 1, "search: the first of equals");
	CHECK_EQ(search_first(nr, i, v[i] > 3), 4, "search: after equals");
	CHECK_EQ(search_first(nr, i, v[i] > 7), nr, "search: none");
}

int main(void)
{
	test_search();
	test_cuts();
	test_random();
	return tap_done();
}
