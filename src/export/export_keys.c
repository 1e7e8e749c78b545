/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_own_ids.h"
#include "export/export_impl.h"

/* The owners of samples: threads, control groups, CPUs. */

enum { MAX_KEYS = 1 << 20, MAX_THREADS = 1 << 20, MAX_NAMESPACES = 1 << 20 };

enum clew_err export_take_namespaces(struct export *x, const struct perf_record *r)
{
	enum { AT_INODE = 3 * 16 + 8 /* of "pid" */ };
	struct perf_namespaces n;
	uint64_t inode;

	if (perf_namespaces_parse(r, &n) != CLEW_OK || !bytes_skip(&n.links, AT_INODE) ||
	    !bytes_u64(&n.links, r->swap, &inode))
		return CLEW_OK;
	if (x->pid_ns_of.nr >= MAX_NAMESPACES && !map_u64_get(&x->pid_ns_of, n.pid))
		return CLEW_OK;
	x->last.comm = NULL; /* the next key may be another */
	return map_u64_put(&x->pid_ns_of, n.pid, inode) ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err export_take_ids(struct export *x, const struct perf_record *r)
{
	size_t nr = x->ids.tasks.nr;

	if (perf_who_facts_take(&x->ids, r) == CLEW_NO_MEMORY)
		return CLEW_NO_MEMORY;
	for (; nr < x->ids.tasks.nr; nr++) {
		uint32_t local = x->ids.tasks.data[nr].local;

		if (local && !map_u64_put(&x->inner_of, local, nr))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

/* NULL: it has one id, or others are unknown. */
static const struct perf_who_task *ids_of(const struct export *x, uint32_t id)
{
	const uint64_t *at = map_u64_get(&x->inner_of, id);

	return at ? &x->ids.tasks.data[*at] : NULL;
}

static uint32_t inner_of(const struct export *x, uint32_t id)
{
	const struct perf_who_task *t = ids_of(x, id);

	return t && t->inner != id ? t->inner : 0;
}

static uint64_t pid_ns_of(const struct export *x, uint32_t pid)
{
	const uint64_t *inode = map_u64_get(&x->pid_ns_of, pid);
	const struct perf_who_task *t = inode ? NULL : ids_of(x, pid);

	return inode ? *inode : t ? t->pid_ns : 0;
}

static const char *comm_of(const struct ana_event *e)
{
	return e->comm ? e->comm : ana_name_of_kind(e->who ? e->who->kind : WHO_UNKNOWN);
}

static uint8_t level_of(const struct ana_event *e)
{
	const struct ana_loc *loc = export_innermost(e);

	return loc ? loc->level : ANA_UNKNOWN;
}

static enum clew_err begin_thread(struct export *x, const struct ana_event *e, uint32_t n)
{
	return x->format->thread ? x->format->thread(x, n, e->time) : CLEW_OK;
}

/* Its number; EXPORT_NONE: there is no room for so many. */
static enum clew_err thread_of(struct export *x, const struct ana_event *e, uint32_t comm,
			       uint32_t *ret)
{
	size_t n;

	*ret = EXPORT_NONE;
	if (!map_u64_number(&x->thread_of, (uint64_t)e->pid << 32 | e->tid, x->threads.nr,
			    MAX_THREADS, &n))
		return x->threads.nr >= MAX_THREADS ? CLEW_OK : CLEW_NO_MEMORY;
	*ret = (uint32_t)n;
	if (n == x->threads.nr) {
		const struct export_thread t = {e->pid, e->tid, comm, inner_of(x, e->pid),
						inner_of(x, e->tid)};

		if (!vec_push(&x->threads, t))
			return CLEW_NO_MEMORY;
		return begin_thread(x, e, *ret);
	}
	if (x->threads.data[n].comm == comm)
		return CLEW_OK;
	x->threads.data[n].comm = comm;
	return begin_thread(x, e, *ret);
}

enum { NR_PARTS = 9 };

/* The parts of the key that the format distinguishes. */
static void parts_of(const struct export *x, const struct export_key *k, uint32_t ret[NR_PARTS])
{
	const struct export_thread none = {0};
	const struct export_thread *t =
		k->thread != EXPORT_NONE ? &x->threads.data[k->thread] : &none;
	uint32_t by = x->key_parts;

	ret[0] = by & EXPORT_BY_COMM ? k->comm : 0;
	ret[1] = by & (EXPORT_BY_PID | EXPORT_BY_TID) ? t->pid : 0;
	ret[2] = by & EXPORT_BY_TID ? t->tid : 0;
	ret[3] = by & EXPORT_BY_CPU ? k->cpu : 0;
	ret[4] = by & EXPORT_BY_CGROUP ? k->cgroup : 0;
	ret[5] = by & EXPORT_BY_CUT ? k->cut : 0;
	ret[6] = by & EXPORT_BY_LEVEL ? k->level : 0;
	ret[7] = by & EXPORT_BY_PID ? (uint32_t)k->pid_ns : 0;
	ret[8] = by & EXPORT_BY_PID ? (uint32_t)(k->pid_ns >> 32) : 0;
}

/* Above the limit they are all of one that is unknown. */
static enum clew_err number_of(struct export *x, const struct export_key *k, uint32_t *ret)
{
	static const struct export_key other = {.thread = EXPORT_NONE, .cpu = UINT32_MAX};
	uint32_t parts[NR_PARTS], n;

	parts_of(x, k, parts);
	n = intern_find(&x->key_tuples, (const char *)parts, sizeof(parts));
	if (n == INTERN_FAILED && x->keys.nr >= MAX_KEYS) {
		x->summary.nr_no_key++;
		k = &other;
		parts_of(x, k, parts);
	}
	if (n == INTERN_FAILED)
		n = intern_add(&x->key_tuples, (const char *)parts, sizeof(parts));
	if (n == INTERN_FAILED)
		return CLEW_NO_MEMORY;
	*ret = n - 1; /* number 0 of an intern is "" */
	return *ret < x->keys.nr || vec_push(&x->keys, *k) ? CLEW_OK : CLEW_NO_MEMORY;
}

static bool is_last(const struct export_last_key *l, const struct ana_event *e, uint32_t cut)
{
	return l->comm && l->comm == e->comm && l->pid == e->pid && l->tid == e->tid &&
	       l->cpu == e->cpu && l->cgroup == e->cgroup && l->cut == cut &&
	       l->level == level_of(e);
}

enum clew_err export_key(struct export *x, const struct ana_event *e, uint32_t cut, uint32_t *ret)
{
	struct export_key k = {.cpu = e->cpu, .level = level_of(e), .cut = cut};
	enum clew_err err;

	if (is_last(&x->last, e, cut)) {
		*ret = x->last.key;
		return CLEW_OK;
	}
	k.pid_ns = pid_ns_of(x, e->pid);
	k.comm = export_text_of(&x->tables, comm_of(e));
	k.cgroup = export_text_of(&x->tables, e->cgroup);
	if (k.comm == EXPORT_NONE || k.cgroup == EXPORT_NONE)
		return CLEW_NO_MEMORY;
	err = thread_of(x, e, k.comm, &k.thread);
	if (err == CLEW_OK)
		err = number_of(x, &k, ret);
	x->last = (struct export_last_key){.pid = e->pid,
					   .tid = e->tid,
					   .cpu = e->cpu,
					   .cut = cut,
					   .key = *ret,
					   .comm = err ? NULL : e->comm,
					   .cgroup = e->cgroup,
					   .level = k.level};
	return err;
}
