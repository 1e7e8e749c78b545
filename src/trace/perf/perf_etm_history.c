/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/interval_map.h"
#include "trace/perf/perf_etm_impl.h"

/*
 * All that was told of threads and mappings, kept so that it can be asked for any time. A space
 * goes from one version to the next only where code is replaced: what is added to it leaves its
 * number as it was, as nothing can have run there before.
 */
enum { MAX_MAP_SLOTS = 32 << 20, MAX_MAPS = 1 << 18, MAX_JITS = 1 << 12, PROT_EXEC_BIT = 4 };

const struct pe_event *pe_line_at(const struct pe_line *l, uint64_t time)
{
	size_t after = search_first(l->nr, i, l->data[i].time > time);

	return after ? &l->data[after - 1] : NULL;
}

bool pe_line_add(struct pe_line *l, uint64_t time, uint32_t value)
{
	/* Records without a time count from where they stand. */
	if (l->nr && l->data[l->nr - 1].time > time)
		time = l->data[l->nr - 1].time;
	return vec_push(l, (struct pe_event){time, value});
}

/* --- spaces --- */

static uint32_t maps_new(struct pe_history *h)
{
	return vec_push(&h->maps, (struct pe_maps){.refs = 1}) ? (uint32_t)h->maps.nr - 1 : PE_NONE;
}

static uint32_t version_new(struct pe_history *h, uint32_t maps, uint32_t before)
{
	struct pe_version v = {.maps = maps, .before = before};

	return maps != PE_NONE && vec_push(&h->versions, v) ? (uint32_t)h->versions.nr - 1
							    : PE_NONE;
}

static uint32_t space_new(struct pe_history *h, uint32_t pid, uint64_t time, uint32_t version)
{
	struct pe_space s = {.pid = pid};

	if (version == PE_NONE || !pe_line_add(&s.versions, time, version))
		return PE_NONE;
	h->versions.data[version].is_guest = pe_is_guest_number(pid);
	if (vec_push(&h->spaces, s))
		return (uint32_t)h->spaces.nr - 1;
	vec_done(&s.versions);
	return PE_NONE;
}

static uint32_t current(const struct pe_history *h, uint32_t space)
{
	const struct pe_line *l = &h->spaces.data[space].versions;

	return l->data[l->nr - 1].value;
}

/** @p element: of a pe_maps; the history is @p ctx. */
static bool cut(void *ctx, void *element, uint64_t start, uint64_t end)
{
	struct pe_map **at = element,
		      *m = arena_alloc(&((struct pe_history *)ctx)->memory, sizeof(*m));

	if (!m)
		return false;
	*m = **at;
	m->map.start = start;
	m->map.end = end;
	m->map.pgoff += start - (*at)->map.start;
	*at = m;
	return true;
}

static const struct interval_type type = {sizeof(struct pe_map *), true, cut};

static struct interval_map intervals_of(const struct pe_maps *m)
{
	return (struct interval_map){&type, m->v.data, m->v.nr};
}

struct pe_map *pe_maps_find(const struct pe_maps *m, uint64_t addr)
{
	struct interval_map v = intervals_of(m);
	size_t i = interval_find(&v, addr);

	return i < v.nr ? m->v.data[i] : NULL;
}

/** Are the bytes at one address the same ones in both? */
static bool is_same_code(const struct who_map *a, const struct who_map *b)
{
	return a->start - a->pgoff == b->start - b->pgoff && a->path_id == b->path_id &&
	       a->ino == b->ino && a->maj == b->maj && a->min == b->min &&
	       a->ino_generation == b->ino_generation && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

/** Does @p map take the place of other code? */
static bool replaces(const struct pe_maps *m, const struct who_map *map)
{
	struct interval_map v = intervals_of(m);
	struct interval_range r = interval_overlaps(&v, map->start, map->end);

	for (size_t i = r.first; i < r.end; i++) {
		if (!is_same_code(&m->v.data[i]->map, map))
			return true;
	}
	return false;
}

static uint32_t maps_clone(struct pe_history *h, uint32_t from)
{
	uint32_t to = maps_new(h);
	size_t nr = h->maps.data[from].v.nr;

	if (to == PE_NONE || !vec_reserve(&h->maps.data[to].v, nr + 2))
		return PE_NONE;
	if (nr)
		memcpy(h->maps.data[to].v.data, h->maps.data[from].v.data,
		       nr * sizeof(*h->maps.data[to].v.data));
	h->maps.data[to].v.nr = nr;
	h->nr_slots += nr;
	return to;
}

static bool put(struct pe_history *h, struct pe_maps *m, struct pe_map *map)
{
	size_t old = m->v.nr;
	struct interval_map v;

	if (!vec_reserve(&m->v, old + 2))
		return false;
	v = intervals_of(m);
	if (!interval_insert(&v, h, &map))
		return false;
	m->v.nr = v.nr;
	h->nr_slots += v.nr - (v.nr < old ? v.nr : old);
	return true;
}

/** The space's maps as ones that may be changed; @p is_new: from @p time on only. */
static bool own_maps(struct pe_history *h, uint32_t space, uint64_t time, bool is_new,
		     uint32_t *ret)
{
	uint32_t old = current(h, space), from = h->versions.data[old].maps, to, version;

	*ret = from;
	if (!is_new && h->maps.data[from].refs == 1)
		return true;
	to = maps_clone(h, from);
	version = version_new(h, to, h->versions.data[old].before);
	if (version == PE_NONE || !pe_line_add(&h->spaces.data[space].versions, time, version))
		return false;
	h->versions.data[version].is_kernel = h->versions.data[old].is_kernel;
	h->versions.data[version].is_guest = h->versions.data[old].is_guest;
	h->maps.data[from].refs--;
	*ret = to;
	return true;
}

static struct pe_map *map_of(struct pe_history *h, const struct perf_mmap *mm, uint64_t end)
{
	struct pe_map *m = arena_zalloc(&h->memory, sizeof(*m));
	struct who_map *w = m ? &m->map : NULL;
	uint32_t path = intern_str(&h->texts, mm->filename);

	if (!m || path == INTERN_FAILED)
		return NULL;
	*w = (struct who_map){.start = mm->start,
			      .end = end,
			      .pgoff = mm->pgoff,
			      .path = intern_get(&h->texts, path),
			      .path_id = path,
			      .prot = mm->prot,
			      .flags = mm->flags,
			      .maj = mm->maj,
			      .min = mm->min,
			      .ino = mm->ino,
			      .ino_generation = mm->ino_generation,
			      .build_id_bytes = mm->has_build_id ? mm->build_id_bytes : 0,
			      .pid = mm->pid};
	memcpy(w->build_id, mm->build_id, sizeof(w->build_id));
	return m;
}

static enum clew_err take_map(struct pe_history *h, uint64_t time, uint32_t space,
			      const struct perf_mmap *mm, uint64_t end)
{
	struct pe_map *map = map_of(h, mm, end);
	const struct pe_maps *m = &h->maps.data[h->versions.data[current(h, space)].maps];
	uint32_t to;

	if (!map)
		return CLEW_NO_MEMORY;
	map->is_kernel = space == h->kernel;
	if (h->nr_slots > MAX_MAP_SLOTS || m->v.nr > MAX_MAPS)
		return CLEW_OK;
	if (!own_maps(h, space, time, replaces(m, &map->map), &to))
		return CLEW_NO_MEMORY;
	return put(h, &h->maps.data[to], map) ? CLEW_OK : CLEW_NO_MEMORY;
}

/** "jit-PID.dump", which a compiler maps so that the recording names it. */
static bool is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits = strncmp(name, "jit-", 4) ? 0 : strspn(name + 4, "0123456789");

	return digits && !strcmp(name + 4 + digits, ".dump");
}

static enum clew_err note_jit(struct pe_history *h, const struct perf_mmap *m)
{
	uint32_t path;

	/* A guest's compiler has another clock. */
	if (h->jits.nr >= MAX_JITS || !is_jitdump(m->filename) || pe_is_guest_number(m->pid))
		return CLEW_OK;
	path = intern_str(&h->texts, m->filename);
	if (path == INTERN_FAILED)
		return CLEW_NO_MEMORY;
	vec_for_each (&h->jits, j) {
		if (j->pid == m->pid && j->path == intern_get(&h->texts, path))
			return CLEW_OK;
	}
	return vec_push(&h->jits,
			(struct pe_jit){.pid = m->pid, .path = intern_get(&h->texts, path)})
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

/* --- threads --- */

static const struct pe_thread *thread_find(const struct pe_history *h, uint32_t tid)
{
	const uint64_t *at = map_u64_get(&h->by_tid, tid);

	return at ? &h->threads.data[*at] : NULL;
}

static struct pe_thread *thread_get(struct pe_history *h, uint32_t tid)
{
	uint64_t *at = map_u64_get(&h->by_tid, tid);

	if (at)
		return &h->threads.data[*at];
	if (!vec_push(&h->threads, (struct pe_thread){.tid = tid}))
		return NULL;
	if (!map_u64_put(&h->by_tid, tid, h->threads.nr - 1)) {
		h->threads.nr--;
		return NULL;
	}
	return &h->threads.data[h->threads.nr - 1];
}

static bool add_life(struct pe_history *h, uint32_t tid, uint64_t time, uint32_t pid,
		     uint32_t space)
{
	struct pe_thread *t = space == PE_NONE ? NULL : thread_get(h, tid);
	size_t nr = t ? t->lives.nr : 0;

	if (!t)
		return false;
	if (nr && t->lives.data[nr - 1].time > time)
		time = t->lives.data[nr - 1].time;
	return vec_push(&t->lives, (struct pe_life){time, pid, space});
}

/** The process's space as of now, made where nothing told of it. PE_NONE: no memory. */
static uint32_t space_of(struct pe_history *h, uint64_t time, uint32_t pid)
{
	uint64_t *at = map_u64_get(&h->by_pid, pid);
	uint32_t space;

	if (at)
		return (uint32_t)*at;
	space = space_new(h, pid, time, version_new(h, maps_new(h), PE_NONE));
	return space != PE_NONE && map_u64_put(&h->by_pid, pid, space) ? space : PE_NONE;
}

/** The thread as one of process @p pid. */
static uint32_t meet(struct pe_history *h, uint64_t time, uint32_t pid, uint32_t tid)
{
	uint32_t space = space_of(h, time, pid);
	struct pe_thread *t = space == PE_NONE ? NULL : thread_get(h, tid);
	const struct pe_life *l;

	if (!t)
		return PE_NONE;
	l = t->lives.nr ? &t->lives.data[t->lives.nr - 1] : NULL;
	if (l && l->pid == pid && l->space == space)
		return space;
	return add_life(h, tid, time, pid, space) ? space : PE_NONE;
}

enum clew_err pe_history_mmap(struct pe_history *h, uint64_t time, bool is_kernel,
			      const struct perf_mmap *m)
{
	uint32_t space = is_kernel ? h->kernel : meet(h, time, m->pid, m->tid);
	uint64_t end;

	h->nr_taken++;
	if (space == PE_NONE || (!is_kernel && note_jit(h, m)))
		return CLEW_NO_MEMORY;
	if (!m->len || __builtin_add_overflow(m->start, m->len, &end))
		return CLEW_OK;
	if (m->is_data || (m->is_mmap2 && m->prot && !(m->prot & PROT_EXEC_BIT)))
		return CLEW_OK;
	return take_map(h, time, space, m, end);
}

enum clew_err pe_history_poke(struct pe_history *h, uint64_t time, const struct perf_text_poke *t)
{
	if (!h->pokes && !(h->pokes = pe_patches_new()))
		return CLEW_NO_MEMORY;
	return pe_patches_poke(h->pokes, &h->memory, time, t);
}

static bool exec(struct pe_history *h, uint64_t time, uint32_t space)
{
	uint32_t old = current(h, space), maps = h->versions.data[old].maps, version;
	struct pe_space *s = &h->spaces.data[space];

	/* Nothing was there: it is the same program still, of which nothing was told. */
	if (!h->maps.data[maps].v.nr)
		return true;
	version = version_new(h, maps_new(h), old);
	if (version == PE_NONE || !pe_line_add(&s->versions, time, version) ||
	    !pe_line_add(&s->execs, time, (uint32_t)s->execs.nr + 1))
		return false;
	h->versions.data[version].is_guest = h->versions.data[old].is_guest;
	h->maps.data[maps].refs--;
	return true;
}

enum clew_err pe_history_comm(struct pe_history *h, uint64_t time, const struct perf_comm *c)
{
	uint32_t space = meet(h, time, c->pid, c->tid), text = intern_str(&h->texts, c->comm);
	struct pe_thread *t = space == PE_NONE ? NULL : thread_get(h, c->tid);

	h->nr_taken++;
	if (!t || text == INTERN_FAILED || !pe_line_add(&t->comms, time, text))
		return CLEW_NO_MEMORY;
	return !c->is_exec || exec(h, time, space) ? CLEW_OK : CLEW_NO_MEMORY;
}

/** What fork does: the same code until one of both changes it. */
static uint32_t space_clone(struct pe_history *h, uint32_t from, uint32_t pid, uint64_t time)
{
	uint32_t version = current(h, from);

	h->maps.data[h->versions.data[version].maps].refs++;
	return space_new(h, pid, time, version);
}

static bool inherit_comm(struct pe_history *h, uint64_t time, uint32_t from, uint32_t to)
{
	const struct pe_thread *p = thread_find(h, from);
	uint32_t text;
	struct pe_thread *t;

	if (!p || !p->comms.nr)
		return true;
	text = p->comms.data[p->comms.nr - 1].value;
	t = thread_get(h, to);
	return t && pe_line_add(&t->comms, time, text);
}

enum clew_err pe_history_fork(struct pe_history *h, uint64_t time, const struct perf_task *t)
{
	uint32_t parent = meet(h, time, t->ppid, t->ptid), space = parent;

	h->nr_taken++;
	if (parent == PE_NONE)
		return CLEW_NO_MEMORY;
	if (t->tid == t->ptid)
		return CLEW_OK;
	if (t->is_recorders)
		space = space_of(h, time, t->pid);
	else if (t->pid != t->ppid)
		space = space_clone(h, parent, t->pid, time);
	if (space == PE_NONE || !map_u64_put(&h->by_pid, t->pid, space) ||
	    !add_life(h, t->tid, time, t->pid, space) || !inherit_comm(h, time, t->ptid, t->tid))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

/* --- CPUs --- */

static struct pe_line *line_of_cpu(struct pe_history *h, uint32_t cpu)
{
	uint64_t *at = map_u64_get(&h->by_cpu, cpu);

	if (at)
		return &h->cpus.data[*at];
	if (!vec_push(&h->cpus, (struct pe_line){0}) ||
	    !map_u64_put(&h->by_cpu, cpu, h->cpus.nr - 1))
		return NULL;
	return &h->cpus.data[h->cpus.nr - 1];
}

enum clew_err pe_history_run(struct pe_history *h, uint64_t time, uint32_t cpu, uint32_t pid,
			     uint32_t tid)
{
	struct pe_line *l;

	if (cpu == PE_NONE || h->nr_switches >= PE_MAX_SWITCHES)
		return CLEW_OK;
	if (tid != PE_NONE && pid != PE_NONE && tid && meet(h, time, pid, tid) == PE_NONE)
		return CLEW_NO_MEMORY;
	l = line_of_cpu(h, cpu);
	if (!l)
		return CLEW_NO_MEMORY;
	if (l->nr && l->data[l->nr - 1].value == tid)
		return CLEW_OK;
	h->nr_switches++;
	return pe_line_add(l, time, tid) ? CLEW_OK : CLEW_NO_MEMORY;
}

uint32_t pe_history_runner(const struct pe_history *h, uint32_t cpu, uint64_t from, uint64_t to)
{
	const uint64_t *at = map_u64_get(&h->by_cpu, cpu);
	const struct pe_event *e;

	if (!at || !pe_history_knows(h, to))
		return PE_NONE;
	e = pe_line_at(&h->cpus.data[*at], to);
	return e && e->time <= from ? e->value : PE_NONE;
}

/* --- what is asked --- */

const struct pe_life *pe_history_life(const struct pe_history *h, uint32_t tid, uint64_t time)
{
	const struct pe_thread *t = thread_find(h, tid);
	size_t after;

	if (!t || !t->lives.nr || !pe_history_knows(h, time))
		return NULL;
	after = search_first(t->lives.nr, i, t->lives.data[i].time > time);
	return &t->lives.data[after ? after - 1 : 0];
}

const char *pe_history_comm_of(const struct pe_history *h, uint32_t tid, uint64_t time)
{
	const struct pe_thread *t = thread_find(h, tid);
	const struct pe_event *e;

	if (!t || !t->comms.nr || !pe_history_knows(h, time))
		return tid ? NULL : "swapper";
	e = pe_line_at(&t->comms, time);
	return intern_get(&h->texts, e ? e->value : t->comms.data[0].value);
}

/* A record adds a life of its thread, and to three lines, most of which double. */
enum { RECORD_BYTES = 2 * (sizeof(struct pe_life) + 3 * sizeof(struct pe_event)) };

static uint64_t history_bytes(const struct pe_history *h)
{
	return h->memory.used_bytes + h->texts.text.used_bytes +
	       h->texts.strs.cap * sizeof(*h->texts.strs.data) +
	       h->texts.cap * sizeof(*h->texts.slots) +
	       (h->by_tid.cap + h->by_pid.cap) * (sizeof(*h->by_tid.slots) + 1) +
	       h->threads.cap * sizeof(*h->threads.data) + h->spaces.cap * sizeof(*h->spaces.data) +
	       h->versions.cap * sizeof(*h->versions.data) + h->maps.cap * sizeof(*h->maps.data) +
	       h->nr_slots * sizeof(struct pe_map *) + h->nr_taken * RECORD_BYTES +
	       h->nr_switches * 2 * sizeof(struct pe_event) +
	       (h->pokes ? h->pokes->all.cap * sizeof(*h->pokes->all.data) * 3 : 0);
}

void pe_history_charge(struct pe_history *h, uint64_t time)
{
	uint64_t bytes = history_bytes(h), before = h->account.charged;

	if (bytes <= before || h->is_cut ||
	    budget_account_take(&h->account, bytes - before, "what threads did later in"))
		return;
	h->is_cut = true;
	h->cut_at = time;
}

enum clew_err pe_history_init(struct pe_history *h, struct budget *budget)
{
	*h = (struct pe_history){.account.budget = budget};
	for (int i = 0; i < PE_NR_NO_CODE; i++) {
		if (version_new(h, maps_new(h), PE_NONE) == PE_NONE)
			return CLEW_NO_MEMORY;
	}
	h->kernel = space_new(h, PE_NONE, 0, version_new(h, maps_new(h), PE_NONE));
	if (h->kernel == PE_NONE)
		return CLEW_NO_MEMORY;
	h->versions.data[current(h, h->kernel)].is_kernel = true;
	return CLEW_OK;
}

void pe_history_done(struct pe_history *h)
{
	vec_for_each (&h->threads, t) {
		vec_done(&t->lives);
		vec_done(&t->comms);
	}
	vec_for_each (&h->spaces, s) {
		vec_done(&s->versions);
		vec_done(&s->execs);
	}
	vec_for_each (&h->maps, m)
		vec_done(&m->v);
	vec_for_each (&h->cpus, c)
		vec_done(c);
	vec_for_each (&h->jits, j) {
		pe_patches_free(j->patches);
		os_map_done(&j->map);
	}
	pe_patches_free(h->pokes);
	vec_done(&h->jits);
	vec_done(&h->threads);
	vec_done(&h->spaces);
	vec_done(&h->versions);
	vec_done(&h->maps);
	vec_done(&h->cpus);
	map_u64_done(&h->by_tid);
	map_u64_done(&h->by_pid);
	map_u64_done(&h->by_cpu);
	intern_done(&h->texts);
	arena_done(&h->memory);
	budget_account_done(&h->account);
}
