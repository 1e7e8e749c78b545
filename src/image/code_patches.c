/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_patches.h"

#include <stdlib.h>

#include "base/search.h"

/* Addresses are cut into segments at all beginnings and ends; each segment has its patches by time.
 */
enum { MAX_PATCHES = 4 << 20, MAX_REFS = 16 << 20 };

/* --- collecting --- */

struct code_patches *code_patches_new(void)
{
	return mem_zalloc(sizeof(struct code_patches));
}

void code_patches_free(struct code_patches *p)
{
	if (!p)
		return;
	vec_done(&p->all);
	vec_done(&p->segments);
	mem_free(p->refs);
	mem_free(p);
}

enum clew_err code_patches_add(struct code_patches *p, const struct code_patch *patch)
{
	struct code_patch n = *patch;

	if (p->all.nr >= MAX_PATCHES || n.start >= n.end)
		return CLEW_OK;
	n.order = (uint32_t)p->all.nr;
	return vec_push(&p->all, n) ? CLEW_OK : CLEW_NO_MEMORY;
}

/** Old and new code may differ in length: what both have, then what one has. */
enum clew_err code_patches_poke(struct code_patches *p, struct arena *memory,
				const struct code_poke *t)
{
	size_t old = t->old_bytes, new = t->new_bytes, both = old < new ? old : new;
	const uint8_t *copy =
		(const uint8_t *)arena_strndup(memory, (const char *)t->bytes, old + new);
	struct code_patch first = {.time = t->time, .start = t->addr, .end = t->addr + both}, rest;
	enum clew_err err;

	if (!copy)
		return CLEW_NO_MEMORY;
	first.old = copy;
	first.bytes = copy + old;
	rest = (struct code_patch){.time = t->time,
				   .start = t->addr + both,
				   .end = t->addr + (old > new ? old : new),
				   .old = old > new ? copy + both : NULL,
				   .bytes = new > old ? copy + old + both : NULL};
	err = code_patches_add(p, &first);
	return err ? err : code_patches_add(p, &rest);
}

/* --- putting into order --- */

static int by_time(const void *x, const void *y)
{
	const struct code_patch *a = x, *b = y;

	if (a->time.ns != b->time.ns)
		return a->time.ns < b->time.ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_value(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static bool make_segments(struct code_patches *p)
{
	struct {
		VEC(uint64_t);
	} cuts = {0};
	bool ok = vec_reserve(&cuts, 2 * p->all.nr);

	for (size_t i = 0; ok && i < p->all.nr; i++) {
		cuts.data[cuts.nr++] = p->all.data[i].start;
		cuts.data[cuts.nr++] = p->all.data[i].end;
	}
	if (ok)
		qsort(cuts.data, cuts.nr, sizeof(*cuts.data), by_value);
	for (size_t i = 1; ok && i < cuts.nr; i++) {
		if (cuts.data[i - 1] != cuts.data[i])
			ok = vec_push(&p->segments,
				      (struct code_segment){cuts.data[i - 1], cuts.data[i], 0, 0});
	}
	vec_done(&cuts);
	return ok;
}

/** The first segment that ends above @p addr. */
static size_t segment_above(const struct code_patches *p, uint64_t addr)
{
	return search_first(p->segments.nr, i, p->segments.data[i].end > addr);
}

/** How many patches each segment has; those that are too many for us are omitted. */
static size_t count_refs(struct code_patches *p)
{
	size_t nr = 0;

	for (size_t k = 0; k < p->all.nr; k++) {
		const struct code_patch *a = &p->all.data[k];
		size_t i = segment_above(p, a->start);

		for (; i < p->segments.nr && p->segments.data[i].start < a->end; i++, nr++)
			p->segments.data[i].nr++;
		if (nr > MAX_REFS)
			p->all.nr = k + 1;
	}
	return nr;
}

/** Of code that moved away, and that other code may have taken the place of before. */
static bool is_gone_already(const struct code_patches *p, const struct code_segment *s,
			    const struct code_patch *a)
{
	return a->removes &&
	       (!s->nr || p->all.data[p->refs[s->first + s->nr - 1]].order != a->removes - 1);
}

static void fill_refs(struct code_patches *p)
{
	for (size_t k = 0; k < p->all.nr; k++) {
		struct code_patch *a = &p->all.data[k];

		for (size_t i = segment_above(p, a->start);
		     i < p->segments.nr && p->segments.data[i].start < a->end; i++) {
			struct code_segment *s = &p->segments.data[i];

			if (is_gone_already(p, s, a))
				continue;
			a->replaces |= s->nr || a->old;
			p->refs[s->first + s->nr++] = (uint32_t)k;
		}
	}
}

enum clew_err code_patches_close(struct code_patches *p)
{
	uint32_t at = 0;
	size_t nr;

	if (!p->all.nr)
		return CLEW_OK;
	qsort(p->all.data, p->all.nr, sizeof(*p->all.data), by_time);
	if (!make_segments(p))
		return CLEW_NO_MEMORY;
	nr = count_refs(p);
	p->refs = mem_calloc(nr + 1, sizeof(*p->refs));
	if (!p->refs)
		return CLEW_NO_MEMORY;
	vec_for_each (&p->segments, s) {
		s->first = at;
		at += s->nr;
		s->nr = 0;
	}
	fill_refs(p);
	return CLEW_OK;
}

/* --- asking --- */

/** Of the segment's patches, the last one no later than @p time; NULL: all are later. */
static const struct code_patch *patch_at(const struct code_patches *p, const struct code_segment *s,
					 struct clew_perf_ns time)
{
	size_t after = search_first(s->nr, i, p->all.data[p->refs[s->first + i]].time.ns > time.ns);

	return after ? &p->all.data[p->refs[s->first + after - 1]] : NULL;
}

enum code_patched code_patches_find(const struct code_patches *p, struct clew_perf_ns time,
				    uint64_t addr, struct code_region *ret)
{
	size_t i = segment_above(p, addr);
	const struct code_segment *s = i < p->segments.nr ? &p->segments.data[i] : NULL;
	const struct code_patch *a, *first;
	const uint8_t *bytes;

	*ret = (struct code_region){i ? p->segments.data[i - 1].end : 0, s ? s->start : UINT64_MAX,
				    NULL};
	if (!s || s->start > addr)
		return CODE_NOT_PATCHED;
	*ret = (struct code_region){s->start, s->end, NULL};
	if (!s->nr)
		return CODE_NOT_PATCHED;
	a = patch_at(p, s, time);
	first = &p->all.data[p->refs[s->first]];
	bytes = a ? a->bytes : first->old;
	if (!a)
		a = first;
	if (!bytes && a == first && first->bytes) { /* what was there before is unknown */
		ret->bytes = first->bytes + (s->start - first->start);
		return CODE_NEW_LATER;
	}
	if (!bytes)
		return CODE_REMOVED;
	ret->bytes = bytes + (s->start - a->start);
	return CODE_PATCHED;
}

const struct code_patch *code_patches_at(const struct code_patches *p, struct clew_perf_ns time,
					 uint64_t addr, bool or_later)
{
	size_t i = segment_above(p, addr);
	const struct code_segment *s = i < p->segments.nr ? &p->segments.data[i] : NULL;

	const struct code_patch *a;

	if (!s || s->start > addr || !s->nr)
		return NULL;
	a = patch_at(p, s, time);
	return a || !or_later ? a : &p->all.data[p->refs[s->first]];
}

void code_patches_mark_hidden(const struct code_patches *p, bool *is_hidden)
{
	vec_for_each (&p->segments, s) {
		for (uint32_t i = 0; i + 1 < s->nr; i++)
			is_hidden[p->all.data[p->refs[s->first + i]].order] = true;
	}
}
