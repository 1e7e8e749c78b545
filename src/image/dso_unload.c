/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "image/dso_code_priv.h"

/* For who watches without end: what was read of files is dropped, and read again when asked for. */

struct candidates {
	VEC(struct dso *);
};

void dso_touch(const struct dso *d)
{
	struct dso *owner = d->same ? d->same : d->store->dsos.data[d->id];

	owner->touched_at = ++d->store->nr_touched;
}

/* The kernel's symbols are shared. */
static bool can_unload(const struct dso *d)
{
	if (d->kind == DSO_KERNEL || d->kind == DSO_MODULE || d->kind == DSO_NO_CODE)
		return false;
	return !d->same && (d->has_asked || d->has_asked_code || d->lines);
}

static void unload(struct dso *d)
{
	dso_lines_free(d->lines);
	dso_code_image_free(d->code_image);
	dso_jit_done(d);
	dso_old_done(d);
	sym_table_done(&d->table);
	dso_file_done(&d->files[0]);
	dso_file_done(&d->files[1]);
	dso_file_done(&d->code);
	map_u64_done(&d->found);
	d->lines = NULL;
	d->code_image = NULL;
	d->syms = d->runtime = NULL;
	d->why = d->note = d->why_no_code = d->symbol_file = NULL;
	d->has_asked = d->has_asked_code = d->has_missed = false;
}

static int by_touch(const void *x, const void *y)
{
	const struct dso *a = *(struct dso *const *)x, *b = *(struct dso *const *)y;

	if (a->touched_at != b->touched_at)
		return a->touched_at < b->touched_at ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Read again at once: the answer may be another one now. */
static bool is_outdated(const struct dso *d)
{
	return d->why == dso_over_budget || (d->kind == DSO_JIT && (d->has_missed || d->why));
}

/* Symbols of a file's other names are copies of the owner's. */
static void forget_copies(struct dso_store *s)
{
	vec_for_each (&s->dsos, d) {
		if ((*d)->same && !(*d)->same->has_asked)
			map_u64_done(&(*d)->found);
	}
}

size_t dso_store_trim(struct dso_store *s, uint64_t keep_bytes)
{
	const struct budget *budget = s->opts.budget;
	struct candidates all = {0};
	size_t nr = 0;

	vec_for_each (&s->dsos, d) {
		if (!can_unload(*d))
			continue;
		if (is_outdated(*d)) {
			unload(*d);
			nr++;
		} else if (budget && budget->used > keep_bytes && !vec_push(&all, *d)) {
			break;
		}
	}
	if (all.nr)
		qsort(all.data, all.nr, sizeof(*all.data), by_touch);
	for (size_t i = 0; i < all.nr && budget->used > keep_bytes; i++, nr++)
		unload(all.data[i]);
	vec_done(&all);
	if (nr)
		forget_copies(s);
	return nr;
}

uint64_t dso_store_kept_bytes(const struct dso_store *s)
{
	return s->text.used_bytes + s->dsos.cap * sizeof(*s->dsos.data);
}
