/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "profile/line_counts.h"

/* Files get their numbers in order of path, so that all else is ordered by number. */

static int by_path(const void *a, const void *b, void *paths)
{
	return strcmp(intern_get(paths, *(const uint32_t *)a),
		      intern_get(paths, *(const uint32_t *)b));
}

/** @p ret: the new number of each. @return false when memory is short. */
static bool order_files(struct line_counts *c, uint32_t *order, uint32_t *ret)
{
	uint32_t nr = c->paths.strs.nr ? (uint32_t)c->paths.strs.nr - 1 : 0;

	for (uint32_t i = 0; i < nr; i++)
		order[i] = i + 1; /* number 0 of an intern is "" */
	if (nr)
		qsort_r(order, nr, sizeof(*order), by_path, &c->paths);
	for (uint32_t i = 0; i < nr; i++) {
		ret[order[i] - 1] = i;
		if (!vec_push(&c->files, intern_get(&c->paths, order[i])))
			return false;
	}
	return true;
}

static int by_line(const void *x, const void *y)
{
	const struct line_count *a = x, *b = y;
	int c = u64_compare(a->file, b->file);

	return c ? c : u64_compare(a->line, b->line);
}

static int by_function(const void *x, const void *y)
{
	const struct line_function *a = x, *b = y;
	int c = u64_compare(a->file, b->file);

	c = c ? c : u64_compare(a->line, b->line);
	return c ? c : strcmp(a->name, b->name);
}

static int by_branch(const void *x, const void *y)
{
	const struct line_branch *a = x, *b = y;
	int c = u64_compare(a->file, b->file);

	c = c ? c : u64_compare(a->line, b->line);
	c = c ? c : u64_compare(a->binary, b->binary);
	return c ? c : u64_compare(a->address, b->address);
}

static void order_rest(struct line_counts *c, const uint32_t *number)
{
	vec_for_each (&c->lines, l)
		l->file = number[l->file];
	vec_for_each (&c->functions, f)
		f->file = number[f->file];
	vec_for_each (&c->branches, b)
		b->file = number[b->file];
	if (c->lines.nr)
		qsort(c->lines.data, c->lines.nr, sizeof(*c->lines.data), by_line);
	if (c->functions.nr)
		qsort(c->functions.data, c->functions.nr, sizeof(*c->functions.data), by_function);
	if (c->branches.nr)
		qsort(c->branches.data, c->branches.nr, sizeof(*c->branches.data), by_branch);
}

enum clew_err line_counts_finish(struct line_counts *c)
{
	size_t nr = c->paths.strs.nr + 1;
	uint32_t *order = mem_calloc(2 * nr, sizeof(*order));
	bool ok = order && order_files(c, order, order + nr);

	if (ok)
		order_rest(c, order + nr);
	mem_free(order);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}
