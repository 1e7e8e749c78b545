/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_impl.h"

uint64_t who_nr_maps_dropped(const struct who *w)
{
	return w->nr_maps_dropped;
}

struct who_space *who_space_new(struct who *w)
{
	struct who_space *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->id = w->nr_spaces++;
	s->refs = 1;
	return s;
}

struct who_space *who_space_hold(struct who_space *s)
{
	s->refs++;
	return s;
}

void who_space_release(struct who *w, struct who_space *s)
{
	if (!s || --s->refs)
		return;
	who_maps_release(&w->pool, s->maps);
	who_maps_release(&w->pool, s->before_exec);
	mem_free(s);
}

struct who_space *who_space_clone(struct who *w, struct who_space *from)
{
	struct who_space *s = who_space_new(w);

	if (!s)
		return NULL;
	s->maps = who_maps_hold(from->maps);
	return s;
}

void who_space_exec(struct who *w, struct who_space *s)
{
	who_maps_release(&w->pool, s->before_exec);
	s->before_exec = s->maps;
	s->maps = NULL;
	s->last = NULL;
	s->generation++;
	s->code_generation++;
}

void who_forget_code(struct who *w)
{
	for (size_t i = 0; i < w->threads.cap; i++) {
		struct who_thread *t =
			w->threads.used[i]
				? (struct who_thread *)(uintptr_t)w->threads.slots[i].value
				: NULL;

		if (t && t->space)
			t->space->code_from = t->space->code_to = (struct clew_perf_ns){0};
	}
}

void who_space_settle(struct who *w, struct who_space *s)
{
	if (!s->before_exec)
		return;
	who_maps_release(&w->pool, s->before_exec);
	s->before_exec = NULL;
	s->last = NULL;
	s->generation++;
	s->code_generation++;
}

struct who_map *who_space_find(struct who_space *s, uint64_t addr)
{
	struct who_map *m;

	if (s->last && addr >= s->last->start && addr < s->last->end)
		return s->last;
	m = who_maps_find(s->maps, addr);
	if (!m) /* not for `last`: part of it may be covered by a new one */
		return who_maps_find(s->before_exec, addr);
	return s->last = m;
}

static bool is_code(const struct who_map *m)
{
	return !m->prot || m->prot & WHO_PROT_EXEC; /* 0: unknown */
}

/* The new map is dropped, but it did replace what was there: remove that. Maps shared with other
 * spaces cannot be edited: then the space loses all of them. */
static void uncover(struct who *w, struct who_space *s, uint64_t start, uint64_t end)
{
	struct interval_range r = who_maps_overlaps(s->maps, start, end);

	w->nr_maps_dropped++;
	if (r.first == r.end)
		return;
	if (s->maps->refs > 1) {
		who_maps_release(&w->pool, s->maps);
		s->maps = NULL;
	} else {
		who_maps_remove(s->maps, r);
	}
	s->last = NULL;
	s->generation++;
	s->code_generation++;
}

static bool has_code_in(const struct who_maps *m, struct interval_range r)
{
	for (size_t i = r.first; i < r.end; i++) {
		if (is_code(m->v[i]))
			return true;
	}
	return false;
}

/* CLEW_NO_MEMORY: nothing was changed. */
static enum clew_err insert(struct who *w, struct who_space *s, struct who_map *map)
{
	bool has_code;

	if (!who_maps_own(&w->pool, &s->maps, 2))
		return CLEW_NO_MEMORY;
	has_code = is_code(map) ||
		   has_code_in(s->maps, who_maps_overlaps(s->maps, map->start, map->end));
	if (!who_maps_insert(&w->pool, s->maps, map))
		return CLEW_NO_MEMORY;
	s->last = NULL;
	s->generation++;
	s->code_generation += has_code;
	return CLEW_OK;
}

static struct who_map *map_of(struct who *w, const struct perf_mmap *mm)
{
	struct who_map *m = who_map_new(&w->pool);
	enum clew_err err = m ? who_text(w, mm->filename, &m->path, &m->path_id) : CLEW_OK;

	w->pool.is_full |= err == CLEW_LIMIT;
	if (!m || err != CLEW_OK)
		return NULL;
	who_map_init(m, mm);
	return m;
}

/* perf records data mappings beside copied stacks, and so the same heap thousands of times. */
static bool is_there(const struct who_space *s, const struct perf_mmap *mm, uint64_t end)
{
	const struct who_map *m = who_maps_find(s->maps, mm->start);

	return m && m->start == mm->start && m->end == end && m->pgoff == mm->pgoff &&
	       m->prot == mm->prot && m->flags == mm->flags && m->maj == mm->maj &&
	       m->min == mm->min && m->ino == mm->ino && m->ino_generation == mm->ino_generation &&
	       m->pid == mm->pid &&
	       m->build_id_bytes == (mm->has_build_id ? mm->build_id_bytes : 0) &&
	       !memcmp(m->build_id, mm->build_id, m->build_id_bytes) &&
	       !strcmp(m->path, mm->filename);
}

enum clew_err who_take_mmap(struct who *w, struct who_space *space, const struct perf_mmap *mm)
{
	enum clew_err err = CLEW_NO_MEMORY;
	struct who_map *m;
	uint64_t end;

	if (!mm->len || __builtin_add_overflow(mm->start, mm->len, &end))
		return CLEW_OK; /* covers nothing */
	if (is_there(space, mm, end))
		return CLEW_OK;
	if (space == w->others->space || (space->maps && space->maps->nr >= WHO_MAX_MAPS)) {
		uncover(w, space, mm->start, end);
		return CLEW_OK;
	}
	m = map_of(w, mm);
	if (m) {
		m->is_kernel = space == w->kernel;
		err = insert(w, space, m);
	}
	if (err == CLEW_OK || !w->pool.is_full)
		return err;
	uncover(w, space, mm->start, end);
	return CLEW_OK;
}
