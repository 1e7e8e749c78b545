/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_history.h"

enum {
	MAX_SPACES = 1 << 30, /* who_task.space */
};

/* --- spaces --- */

/** v->maps: taken. WHO_NONE: no memory. */
static uint32_t version_add(struct who_history *h, const struct who_version *v)
{
	if (vec_push(&h->versions, *v))
		return (uint32_t)h->versions.nr - 1;
	who_maps_release(&h->pool, v->maps);
	return WHO_NONE;
}

static uint32_t version_new(struct who_history *h, struct who_maps *maps, uint32_t before)
{
	return version_add(h,
			   &(struct who_version){.maps = maps, .before = before, .nr_spaces = 1});
}

static uint32_t space_new(struct who_history *h, uint32_t pid, struct clew_perf_ns time,
			  uint32_t version)
{
	struct who_space_line s = {.pid = pid};

	if (version == WHO_NONE || h->spaces.nr >= MAX_SPACES ||
	    !who_timeline_add(&s.versions, time, version))
		return WHO_NONE;
	h->versions.data[version].is_guest = who_guests_id(&h->guests, pid);
	if (vec_push(&h->spaces, s))
		return (uint32_t)h->spaces.nr - 1;
	vec_done(&s.versions);
	return WHO_NONE;
}

static uint32_t current(const struct who_history *h, uint32_t space)
{
	const struct who_timeline *l = &h->spaces.data[space].versions;

	return l->data[l->nr - 1].value;
}

/** Are the bytes at one address the same ones in both? */
static bool is_same_code(const struct who_map *a, const struct who_map *b)
{
	return a->start - a->pgoff == b->start - b->pgoff && a->path_id == b->path_id &&
	       a->ino == b->ino && a->maj == b->maj && a->min == b->min &&
	       a->ino_generation == b->ino_generation && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

/** Does @p map take the place of other code? What KSYMBOL names is not in the kernel's files. */
static bool replaces(const struct who_maps *m, const struct who_map *map)
{
	struct interval_range r = who_maps_overlaps(m, map->start, map->end);
	bool is_ksymbol = map->flags == WHO_MAP_IS_KSYMBOL;

	for (size_t i = r.first; i < r.end; i++) {
		const struct who_map *old = m->v[i];

		if (!is_same_code(old, map) && (!is_ksymbol || old->flags == WHO_MAP_IS_KSYMBOL))
			return true;
	}
	return false;
}

/** The space's version as one that may be changed; @p is_new: from @p time on only. WHO_NONE: no
 * memory. */
static uint32_t own_version(struct who_history *h, uint32_t space, struct clew_perf_ns time,
			    bool is_new)
{
	uint32_t old = current(h, space), version;
	const struct who_version *v = &h->versions.data[old];

	if (!is_new && v->nr_spaces == 1)
		return old;
	version = version_new(h, who_maps_hold(v->maps), v->before);
	if (version == WHO_NONE ||
	    !who_timeline_add(&h->spaces.data[space].versions, time, version))
		return WHO_NONE;
	h->versions.data[version].is_kernel = h->versions.data[old].is_kernel;
	h->versions.data[version].is_guest = h->versions.data[old].is_guest;
	h->versions.data[old].nr_spaces--;
	return version;
}

static bool put(struct who_history *h, uint32_t version, struct who_map *map)
{
	struct who_maps **m = &h->versions.data[version].maps;

	return who_maps_own(&h->pool, m, 2) && who_maps_insert(&h->pool, *m, map);
}

static struct who_map *map_of(struct who_history *h, const struct perf_mmap *mm)
{
	struct who_map *m = who_map_new(&h->pool);
	uint32_t path = intern_str(&h->texts, mm->filename);

	if (!m || path == INTERN_FAILED)
		return NULL;
	who_map_init(m, mm);
	m->path = intern_get(&h->texts, path);
	m->path_id = path;
	return m;
}

static enum clew_err take_map(struct who_history *h, struct clew_perf_ns time, uint32_t space,
			      const struct perf_mmap *mm)
{
	struct who_map *map = map_of(h, mm);
	const struct who_maps *m = h->versions.data[current(h, space)].maps;
	uint32_t version;

	if (!map)
		return CLEW_NO_MEMORY;
	map->is_kernel = space == h->kernel;
	if (h->pool.is_full || (m && m->nr >= WHO_MAX_MAPS))
		return CLEW_OK;
	version = own_version(h, space, time, replaces(m, map));
	if (version == WHO_NONE)
		return CLEW_NO_MEMORY;
	return put(h, version, map) || h->pool.is_full ? CLEW_OK : CLEW_NO_MEMORY;
}

/* --- threads --- */

static const struct who_thread_line *thread_find(const struct who_history *h, uint32_t tid)
{
	const uint64_t *at = map_u64_get(&h->by_tid, tid);

	return at ? &h->threads.data[*at] : NULL;
}

static struct who_thread_line *thread_get(struct who_history *h, uint32_t tid)
{
	uint64_t *at = map_u64_get(&h->by_tid, tid);

	if (at)
		return &h->threads.data[*at];
	if (!vec_push(&h->threads, (struct who_thread_line){.tid = tid}))
		return NULL;
	if (!map_u64_put(&h->by_tid, tid, h->threads.nr - 1)) {
		h->threads.nr--;
		return NULL;
	}
	return &h->threads.data[h->threads.nr - 1];
}

static bool add_task(struct who_history *h, uint32_t tid, struct clew_perf_ns time, uint32_t pid,
		     uint32_t space, enum who_task_start start)
{
	struct who_thread_line *t = space == WHO_NONE ? NULL : thread_get(h, tid);
	size_t nr = t ? t->tasks.nr : 0;

	if (!t)
		return false;
	if (nr && t->tasks.data[nr - 1].time.ns > time.ns)
		time = t->tasks.data[nr - 1].time;
	return vec_push(&t->tasks, (struct who_task){time, pid, space & (MAX_SPACES - 1), start});
}

/** The process's space as of now, made where there is none yet. WHO_NONE: no memory. */
static uint32_t space_of(struct who_history *h, struct clew_perf_ns time, uint32_t pid)
{
	uint64_t *at = map_u64_get(&h->by_pid, pid);
	uint32_t space;

	if (at)
		return (uint32_t)*at;
	space = space_new(h, pid, time, version_new(h, NULL, WHO_NONE));
	return space != WHO_NONE && map_u64_put(&h->by_pid, pid, space) ? space : WHO_NONE;
}

/** The thread as one of process @p pid. */
static uint32_t meet(struct who_history *h, struct clew_perf_ns time, uint32_t pid, uint32_t tid)
{
	uint32_t space = space_of(h, time, pid);
	struct who_thread_line *t = space == WHO_NONE ? NULL : thread_get(h, tid);
	const struct who_task *last;

	if (!t)
		return WHO_NONE;
	last = t->tasks.nr ? &t->tasks.data[t->tasks.nr - 1] : NULL;
	if (last && last->pid == pid && last->space == space)
		return space;
	return add_task(h, tid, time, pid, space, WHO_TASK_MET) ? space : WHO_NONE;
}

enum clew_err who_history_mmap(struct who_history *h, struct clew_perf_ns time, bool is_kernel,
			       const struct perf_mmap *m)
{
	uint32_t space;
	uint64_t end;

	h->nr_taken++;
	space = is_kernel ? h->kernel : meet(h, time, m->pid, m->tid);
	if (space == WHO_NONE)
		return CLEW_NO_MEMORY;
	if (!is_kernel && !time.ns)
		thread_get(h, m->tid)->has_found_maps = true;
	if (!m->len || __builtin_add_overflow(m->start, m->len, &end))
		return CLEW_OK;
	if (m->is_data || (m->is_mmap2 && m->prot && !(m->prot & WHO_PROT_EXEC)))
		return CLEW_OK;
	return take_map(h, time, space, m);
}

static bool exec(struct who_history *h, struct clew_perf_ns time, uint32_t space)
{
	uint32_t old = current(h, space), version;
	const struct who_maps *maps = h->versions.data[old].maps;
	struct who_space_line *s = &h->spaces.data[space];

	/* Nothing was mapped: it is the same program still, without records so far. */
	if (!maps || !maps->nr) {
		h->versions.data[old].time = time;
		return true;
	}
	version = version_new(h, NULL, old);
	if (version == WHO_NONE || !who_timeline_add(&s->versions, time, version) ||
	    !who_timeline_add(&s->execs, time, (uint32_t)s->execs.nr + 1))
		return false;
	h->versions.data[version].is_guest = h->versions.data[old].is_guest;
	h->versions.data[old].nr_spaces--;
	return true;
}

enum clew_err who_history_comm(struct who_history *h, struct clew_perf_ns time,
			       const struct perf_comm *c)
{
	uint32_t space, text;
	struct who_thread_line *t;

	h->nr_taken++;
	space = meet(h, time, c->pid, c->tid);
	text = intern_str(&h->texts, c->comm);
	t = space == WHO_NONE ? NULL : thread_get(h, c->tid);
	if (!t || text == INTERN_FAILED || !who_timeline_add(&t->comms, time, text))
		return CLEW_NO_MEMORY;
	return !c->is_exec || exec(h, time, space) ? CLEW_OK : CLEW_NO_MEMORY;
}

/** What fork does: the same code until one of both changes it. */
static uint32_t space_clone(struct who_history *h, uint32_t from, uint32_t pid,
			    struct clew_perf_ns time)
{
	uint32_t version = current(h, from);

	h->versions.data[version].nr_spaces++;
	return space_new(h, pid, time, version);
}

static bool inherit_comm(struct who_history *h, struct clew_perf_ns time, uint32_t from,
			 uint32_t to)
{
	const struct who_thread_line *p = thread_find(h, from);
	struct who_thread_line *t;
	struct who_change last;

	if (!p || !p->comms.nr)
		return true;
	last = p->comms.data[p->comms.nr - 1];
	t = thread_get(h, to);
	return t && who_timeline_inherit(&t->comms, time, last.value, who_change_since(&last));
}

enum clew_err who_history_fork(struct who_history *h, struct clew_perf_ns time,
			       const struct perf_task *t)
{
	bool is_orphan = who_is_orphan(t);
	uint32_t parent = is_orphan ? h->kernel : meet(h, time, t->ppid, t->ptid), space = parent;

	h->nr_taken++;
	if (parent == WHO_NONE)
		return CLEW_NO_MEMORY;
	if (t->tid == t->ptid)
		return CLEW_OK;
	if (t->is_recorders)
		space = space_of(h, time, t->pid);
	else if (is_orphan)
		space = space_new(h, t->pid, time, version_new(h, NULL, WHO_NONE));
	else if (t->pid != t->ppid)
		space = space_clone(h, parent, t->pid, time);
	if (space == WHO_NONE || !map_u64_put(&h->by_pid, t->pid, space) ||
	    !add_task(h, t->tid, time, t->pid, space, WHO_TASK_FORKED) ||
	    (!is_orphan && !inherit_comm(h, time, t->ptid, t->tid)))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

/** The pid that the recorder found; WHO_NONE: it found no such thread. */
static uint32_t found_pid(const struct who_thread_line *t)
{
	uint32_t pid = WHO_NONE;

	for (size_t i = 0; i < t->tasks.nr && !t->tasks.data[i].time.ns; i++)
		pid = t->tasks.data[i].pid;
	return pid;
}

enum clew_err who_history_seen(struct who_history *h, struct clew_perf_ns time, uint32_t pid,
			       uint32_t tid)
{
	struct who_thread_line *t;
	uint32_t found;

	if (!who_is_thread(tid))
		return CLEW_OK;
	if (meet(h, time, pid, tid) == WHO_NONE)
		return CLEW_NO_MEMORY;
	t = thread_get(h, tid);
	if (t->has_run)
		return CLEW_OK;
	found = found_pid(t);
	t->has_run = true;
	t->has_other_pid = found != WHO_NONE && found != pid;
	return CLEW_OK;
}

enum clew_err who_history_reborn(struct who_history *h, struct clew_perf_ns time, uint32_t pid,
				 uint32_t tid)
{
	uint32_t space;

	h->nr_taken++;
	/* The first thread of a process: what that has mapped is unknown. */
	if (pid == tid) {
		space = space_new(h, pid, time, version_new(h, NULL, WHO_NONE));
		if (space == WHO_NONE || !map_u64_put(&h->by_pid, pid, space))
			return CLEW_NO_MEMORY;
	}
	space = space_of(h, time, pid);
	return space != WHO_NONE && add_task(h, tid, time, pid, space, WHO_TASK_REBORN)
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

enum clew_err who_history_run(struct who_history *h, struct clew_perf_ns time, uint32_t pid,
			      uint32_t tid)
{
	bool is_thread = tid && tid != WHO_NONE && pid != WHO_NONE;

	return is_thread && meet(h, time, pid, tid) == WHO_NONE ? CLEW_NO_MEMORY : CLEW_OK;
}

/* --- versions --- */

void who_history_close(struct who_history *h)
{
	vec_for_each (&h->versions, v)
		v->pid = WHO_NONE;
	/* Of one that processes share, the first one's: it is what the others were forked from. */
	vec_for_each (&h->spaces, s) {
		for (size_t i = 0; i < s->versions.nr; i++) {
			const struct who_change *e = &s->versions.data[i];
			struct who_version *v = &h->versions.data[e->value];

			if (v->is_kernel || v->pid != WHO_NONE)
				continue;
			v->pid = s->pid;
			if (v->time.ns < e->time.ns)
				v->time = e->time;
		}
	}
}

static bool keep_version(struct who_timeline *to, const struct who_change *e)
{
	return who_timeline_add(to, e->time, e->value);
}

static bool add_version(struct who_history *h, const struct who_split *split,
			struct who_timeline *to, const struct who_change *from,
			struct clew_perf_ns time)
{
	struct who_version v = h->versions.data[from->value];

	v.maps = who_maps_hold(v.maps);
	v.patches = split->patches;
	if (v.time.ns < time.ns)
		v.time = time;
	if (split->known_at.ns < v.time.ns)
		v.time = split->known_at;
	if (!v.is_kernel)
		v.pid = h->spaces.data[split->space].pid;
	return version_add(h, &v) != WHO_NONE &&
	       who_timeline_add(to, time, (uint32_t)h->versions.nr - 1);
}

static bool split_at(struct who_history *h, const struct who_split *split, struct who_timeline *to,
		     const struct who_timeline *from)
{
	const struct clew_perf_ns *times = split->times;
	size_t t = 0;

	for (size_t i = 0; i < from->nr; i++) {
		const struct who_change *e = &from->data[i];
		struct clew_perf_ns end =
			i + 1 < from->nr ? from->data[i + 1].time : clew_perf_ns_none();

		if (end.ns <= split->from.ns || e->time.ns >= split->to.ns) {
			if (!keep_version(to, e))
				return false;
			continue;
		}
		while (t < split->nr_times && times[t].ns <= e->time.ns)
			t++;
		if (!add_version(h, split, to, e, e->time))
			return false;
		for (; t < split->nr_times && times[t].ns < end.ns; t++) {
			if (!add_version(h, split, to, e, times[t]))
				return false;
		}
	}
	return true;
}

bool who_history_split(struct who_history *h, const struct who_split *split)
{
	struct who_timeline next = {0}, *versions = &h->spaces.data[split->space].versions;

	if (!split_at(h, split, &next, versions)) {
		vec_done(&next);
		return false;
	}
	vec_done(versions);
	*versions = next;
	return true;
}

/* --- what is asked --- */

const struct who_task *who_history_task(const struct who_history *h, uint32_t tid,
					struct clew_perf_ns time)
{
	const struct who_thread_line *t = thread_find(h, tid);
	size_t after;

	if (!t || !t->tasks.nr || !who_history_knows(h, time))
		return NULL;
	after = search_first(t->tasks.nr, i, t->tasks.data[i].time.ns > time.ns);
	return &t->tasks.data[after ? after - 1 : 0];
}

const char *who_history_comm_at(const struct who_history *h, uint32_t tid, struct clew_perf_ns time)
{
	const struct who_thread_line *t = thread_find(h, tid);
	const struct who_change *e;

	if (!t || !t->comms.nr || !who_history_knows(h, time))
		return tid ? NULL : "swapper";
	e = who_timeline_at(&t->comms, time);
	return intern_get(&h->texts, e ? e->value : t->comms.data[0].value);
}

/* A record adds a task to its thread, and to three timelines, most of which double. */
enum { RECORD_BYTES = 2 * (sizeof(struct who_task) + 3 * sizeof(struct who_change)) };

static uint64_t history_bytes(const struct who_history *h)
{
	return h->pool.memory.used_bytes + h->texts.text.used_bytes +
	       h->texts.strs.cap * sizeof(*h->texts.strs.data) +
	       h->texts.cap * sizeof(*h->texts.slots) +
	       (h->by_tid.cap + h->by_pid.cap) * (sizeof(*h->by_tid.slots) + 1) +
	       h->threads.cap * sizeof(*h->threads.data) + h->spaces.cap * sizeof(*h->spaces.data) +
	       h->versions.cap * (sizeof(*h->versions.data) + sizeof(struct who_maps)) +
	       h->pool.nr_slots * sizeof(struct who_map *) + h->nr_taken * RECORD_BYTES;
}

void who_history_charge(struct who_history *h, struct clew_perf_ns time, uint64_t other_bytes)
{
	uint64_t bytes = history_bytes(h) + other_bytes, before = h->account.charged;

	if (bytes <= before || h->is_cut ||
	    budget_account_take(&h->account, bytes - before, "what threads did later in"))
		return;
	h->is_cut = true;
	h->cut_at = time;
}

enum clew_err who_history_init(struct who_history *h, uint32_t nr_empty, struct budget *budget)
{
	*h = (struct who_history){.account.budget = budget, .guests.account.budget = budget};
	for (uint32_t i = 0; i < nr_empty; i++) {
		if (version_new(h, NULL, WHO_NONE) == WHO_NONE)
			return CLEW_NO_MEMORY;
	}
	h->kernel =
		space_new(h, WHO_NONE, (struct clew_perf_ns){0}, version_new(h, NULL, WHO_NONE));
	if (h->kernel == WHO_NONE)
		return CLEW_NO_MEMORY;
	h->versions.data[current(h, h->kernel)].is_kernel = true;
	return CLEW_OK;
}

void who_history_done(struct who_history *h)
{
	vec_for_each (&h->threads, t) {
		vec_done(&t->tasks);
		vec_done(&t->comms);
	}
	vec_for_each (&h->spaces, s) {
		vec_done(&s->versions);
		vec_done(&s->execs);
	}
	vec_for_each (&h->versions, v)
		who_maps_release(&h->pool, v->maps);
	vec_done(&h->threads);
	vec_done(&h->spaces);
	vec_done(&h->versions);
	map_u64_done(&h->by_tid);
	map_u64_done(&h->by_pid);
	who_guests_done(&h->guests);
	intern_done(&h->texts);
	who_map_pool_done(&h->pool);
	budget_account_done(&h->account);
}
