/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_patches.h"

#include <stdlib.h>

#include "base/map_u64.h"
#include "base/search.h"
#include "elf/jitdump.h"

/* Addresses are cut into segments at all beginnings and ends; each segment has its patches by time.
 */
enum { MAX_PATCHES = 4 << 20, MAX_REFS = 16 << 20, MAX_DUMP_BYTES = 1 << 30 };

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

static enum clew_err add(struct code_patches *p, const struct code_patch *patch)
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
	err = add(p, &first);
	return err ? err : add(p, &rest);
}

/* --- jitdump --- */

struct loaded {
	struct code_patches *to;
	struct map_u64 by_index; /* of a function -> its newest patch */
	bool has_time;
};

static enum clew_err take_jit(struct loaded *l, const struct jitdump_record *r)
{
	uint64_t *moved = r->kind == JITDUMP_MOVE ? map_u64_get(&l->by_index, r->index) : NULL;
	struct code_patch n = {.time = {l->has_time ? r->time : 0}, .start = r->addr};
	size_t size = bytes_left(&r->code), nr = l->to->all.nr;
	enum clew_err err;

	n.bytes = r->code.pos;
	if (moved) {
		n.bytes = l->to->all.data[*moved].bytes;
		size = (size_t)(l->to->all.data[*moved].end - l->to->all.data[*moved].start);
	} else if (r->kind != JITDUMP_LOAD) {
		return CLEW_OK;
	}
	if (__builtin_add_overflow(n.start, size, &n.end))
		return CLEW_OK;
	err = add(l->to, &n);
	if (!err && l->to->all.nr > nr && !map_u64_put(&l->by_index, r->index, nr))
		err = CLEW_NO_MEMORY;
	return err;
}

static enum clew_err read_dump(struct code_patches *p, struct bytes text, bool has_clock)
{
	struct jitdump_record r;
	struct jitdump d;
	struct loaded l = {.to = p};
	enum clew_err err = CLEW_OK;

	if (jitdump_open(&d, text, NULL))
		return CLEW_OK;
	l.has_time = has_clock && !d.is_arch_time;
	while (!err && !jitdump_next(&d, &r))
		err = take_jit(&l, &r);
	map_u64_done(&l.by_index);
	return err;
}

enum clew_err code_patches_dump(struct code_patches *p, const char *path, bool is_forced,
				bool has_clock, struct os_map *ret_map)
{
	int fd = os_open_trusted(path, is_forced ? OS_ANY_OWNER : 0);
	bool is_usable = fd >= 0 && !os_map_fd(fd, ret_map, NULL);

	os_close(fd);
	if (!is_usable || ret_map->size > MAX_DUMP_BYTES)
		return CLEW_OK;
	return read_dump(p, bytes_of(ret_map->data, ret_map->size), has_clock);
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

static void fill_refs(struct code_patches *p)
{
	for (size_t k = 0; k < p->all.nr; k++) {
		struct code_patch *a = &p->all.data[k];

		for (size_t i = segment_above(p, a->start);
		     i < p->segments.nr && p->segments.data[i].start < a->end; i++) {
			struct code_segment *s = &p->segments.data[i];

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
