/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "annotate/ann_impl.h"
#include "base/hash.h"
#include "base/same_text.h"

enum { MAX_LEVELS = 32 };

/** Innermost place, and all calls around it. */
static bool is_same(const struct annotation *a, const struct ann_line *l,
		    const struct dso_line *levels, size_t nr)
{
	if (l->line != levels[0].line || l->nr_inlines != nr - 1 ||
	    !is_same_text(l->file, levels[0].file))
		return false;
	for (size_t i = 0; i + 1 < nr; i++) {
		const struct ann_inline *in = &a->inlines.data[l->first_inline + i];

		if (in->line != levels[i + 1].line ||
		    !is_same_text(in->function, levels[i].function) ||
		    !is_same_text(in->file, levels[i + 1].file))
			return false;
	}
	return true;
}

static uint64_t hash_of(const struct dso_line *levels, size_t nr)
{
	uint64_t h = nr;

	for (size_t i = 0; i < nr; i++) {
		const struct dso_line *l = &levels[i];

		h = hash_two(h, l->line);
		if (l->file)
			h = hash_two(h, hash_bytes(l->file, strlen(l->file)));
		if (l->function)
			h = hash_two(h, hash_bytes(l->function, strlen(l->function)));
	}
	return h;
}

static bool add_line(struct annotation *a, const struct dso_line *levels, size_t nr)
{
	struct ann_line l = {.file = levels[0].file,
			     .line = levels[0].line,
			     .first_inline = (uint32_t)a->inlines.nr,
			     .nr_inlines = (uint32_t)nr - 1};

	for (size_t i = 0; i + 1 < nr; i++) {
		struct ann_inline in = {levels[i].function, levels[i + 1].file, levels[i + 1].line};

		if (!vec_push(&a->inlines, in))
			return false;
	}
	return vec_push(&a->lines, l);
}

/** @return false when memory is short. */
static bool find_line(struct annotation *a, struct map_u64 *seen, const struct dso_line *levels,
		      size_t nr, uint32_t *ret)
{
	uint64_t key = hash_of(levels, nr), *at;

	while ((at = map_u64_get(seen, key))) {
		if (is_same(a, &a->lines.data[*at], levels, nr)) {
			*ret = (uint32_t)*at;
			return true;
		}
		key++;
	}
	*ret = (uint32_t)a->lines.nr;
	return map_u64_put(seen, key, a->lines.nr) && add_line(a, levels, nr);
}

bool ann_lines_add(struct annotation *a, struct dso *d)
{
	struct dso_line levels[MAX_LEVELS];
	struct map_u64 seen = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < a->insns.nr; i++) {
		struct ann_insn *n = &a->insns.data[i];
		size_t nr = dso_find_lines(d, n->rel, levels, MAX_LEVELS);

		if (nr && (levels[0].file || nr > 1))
			ok = find_line(a, &seen, levels, nr, &n->line);
	}
	map_u64_done(&seen);
	return ok;
}
