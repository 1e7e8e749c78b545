/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/interval_map.h"
#include "who/who_impl.h"

enum {
	/* Linux lets a process have 65,530 maps unless configured otherwise; a file may claim more.
	 */
	MAX_MAPS = 1 << 18,
	/* Over all spaces: bounds what a file of forks, each followed by one change, can make us
	   copy. */
	MAX_MAP_SLOTS = 32 << 20,
};

struct who_maps {
	uint32_t refs;
	size_t nr, cap;
	struct who_map *v[]; /* sorted by start, disjoint */
};

uint64_t who_nr_maps_dropped(const struct who *w)
{
	return w->nr_maps_dropped;
}

static const char mappings[] = "mappings of";

static struct who_maps *maps_new(struct who *w, size_t cap)
{
	struct who_maps *m;

	if (w->nr_map_slots + cap > MAX_MAP_SLOTS ||
	    !budget_account_take(&w->account, cap * sizeof(m->v[0]), mappings)) {
		w->is_full = true;
		return NULL;
	}
	m = mem_alloc(sizeof(*m) + cap * sizeof(m->v[0]));
	if (!m)
		return NULL;
	*m = (struct who_maps){.refs = 1, .cap = cap};
	w->nr_map_slots += cap;
	return m;
}

static void maps_release(struct who *w, struct who_maps *m)
{
	if (!m || --m->refs)
		return;
	w->nr_map_slots -= m->cap;
	budget_account_give(&w->account, m->cap * sizeof(m->v[0]));
	mem_free(m);
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
	maps_release(w, s->maps);
	maps_release(w, s->before_exec);
	mem_free(s);
}

struct who_space *who_space_clone(struct who *w, struct who_space *from)
{
	struct who_space *s = who_space_new(w);

	if (!s)
		return NULL;
	s->maps = from->maps;
	if (s->maps)
		s->maps->refs++;
	return s;
}

void who_space_exec(struct who *w, struct who_space *s)
{
	maps_release(w, s->before_exec);
	s->before_exec = s->maps;
	s->maps = NULL;
	s->last = NULL;
	s->generation++;
	s->code_generation++;
}

void who_space_settle(struct who *w, struct who_space *s)
{
	if (!s->before_exec)
		return;
	maps_release(w, s->before_exec);
	s->before_exec = NULL;
	s->last = NULL;
	s->generation++;
	s->code_generation++;
}

static struct who_map *map_alloc(struct who *w)
{
	if (budget_account_take(&w->account, sizeof(struct who_map), mappings))
		return arena_zalloc(&w->maps, sizeof(struct who_map));
	w->is_full = true;
	return NULL;
}

static bool cut(void *ctx, void *element, uint64_t start, uint64_t end)
{
	return who_map_cut(element, map_alloc(ctx), start, end);
}

static const struct interval_type type = {sizeof(struct who_map *), true, cut};

static struct interval_map intervals_of(const struct who_maps *m)
{
	return (struct interval_map){&type, m ? (void *)m->v : NULL, m ? m->nr : 0};
}

static struct who_map *find(const struct who_maps *m, uint64_t addr)
{
	struct interval_map v = intervals_of(m);
	size_t i = interval_find(&v, addr);

	return i < v.nr ? m->v[i] : NULL;
}

struct who_map *who_space_find(struct who_space *s, uint64_t addr)
{
	struct who_map *m;

	if (s->last && addr >= s->last->start && addr < s->last->end)
		return s->last;
	m = find(s->maps, addr);
	if (!m) /* not for `last`: part of it may be covered by a new one */
		return find(s->before_exec, addr);
	return s->last = m;
}

/* Our own array with room for @p extra more. */
static bool make_writable(struct who *w, struct who_space *s, size_t extra)
{
	size_t nr = s->maps ? s->maps->nr : 0, cap = nr + extra;
	struct who_maps *m;

	if (s->maps && s->maps->refs == 1 && s->maps->cap >= cap)
		return true;
	m = maps_new(w, cap + cap / 2 + 8);
	if (!m)
		return false;
	if (nr)
		memcpy(m->v, s->maps->v, nr * sizeof(m->v[0]));
	m->nr = nr;
	maps_release(w, s->maps);
	s->maps = m;
	return true;
}

enum { PROT_EXEC_BIT = 4 };

static bool is_code(const struct who_map *m)
{
	return !m->prot || m->prot & PROT_EXEC_BIT; /* 0: unknown */
}

/* No map is taken there. What it would have replaced is gone all the same; where the maps are
 * shared with others, all of them are. */
static void uncover(struct who *w, struct who_space *s, uint64_t start, uint64_t end)
{
	struct interval_map v = intervals_of(s->maps);
	struct interval_range r = interval_overlaps(&v, start, end);

	w->nr_maps_dropped++;
	if (r.first == r.end)
		return;
	if (s->maps->refs > 1) {
		maps_release(w, s->maps);
		s->maps = NULL;
	} else {
		interval_remove(&v, r);
		s->maps->nr = v.nr;
	}
	s->last = NULL;
	s->generation++;
	s->code_generation++;
}

static bool has_code_in(const struct interval_map *v, struct interval_range r)
{
	for (size_t i = r.first; i < r.end; i++) {
		if (is_code(((struct who_map **)v->data)[i]))
			return true;
	}
	return false;
}

/* CLEW_NO_MEMORY: nothing was changed. */
static enum clew_err insert(struct who *w, struct who_space *s, struct who_map *map)
{
	struct interval_map v;
	bool has_code;

	if (!make_writable(w, s, 2))
		return CLEW_NO_MEMORY;
	v = intervals_of(s->maps);
	has_code = is_code(map) || has_code_in(&v, interval_overlaps(&v, map->start, map->end));
	if (!interval_insert(&v, w, &map))
		return CLEW_NO_MEMORY;
	s->maps->nr = v.nr;
	s->last = NULL;
	s->generation++;
	s->code_generation += has_code;
	return CLEW_OK;
}

static struct who_map *map_of(struct who *w, const struct perf_mmap *mm)
{
	struct who_map *m = map_alloc(w);
	enum clew_err err = m ? who_text(w, mm->filename, &m->path, &m->path_id) : CLEW_OK;

	w->is_full |= err == CLEW_LIMIT;
	if (!m || err != CLEW_OK)
		return NULL;
	who_map_init(m, mm);
	return m;
}

/* perf records data mappings beside copied stacks, and so the same heap thousands of times. */
static bool is_there(const struct who_space *s, const struct perf_mmap *mm, uint64_t end)
{
	const struct who_map *m = find(s->maps, mm->start);

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
	if (space == w->others->space || (space->maps && space->maps->nr >= MAX_MAPS)) {
		uncover(w, space, mm->start, end);
		return CLEW_OK;
	}
	m = map_of(w, mm);
	if (m) {
		m->is_kernel = space == w->kernel;
		err = insert(w, space, m);
	}
	if (err == CLEW_OK || !w->is_full)
		return err;
	uncover(w, space, mm->start, end);
	return CLEW_OK;
}
