/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_programs.h"

#include <stdio.h>

#include "base/search.h"
#include "who/who.h"

enum {
	MAX_FORKS = 16, /* how far up a child's code is looked for */
	BOOT_SLACK_NS = 2000 * 1000 * 1000
};

void ana_programs_done(struct ana_programs *p)
{
	vec_for_each (&p->of_pid, l)
		vec_done(l);
	vec_done(&p->of_pid);
	vec_done(&p->all);
	map_u64_done(&p->by_pid);
	perf_kept_maps_done(&p->kept);
}

static struct ana_program_list *list_of(const struct ana_programs *p, uint32_t pid)
{
	const uint64_t *at = map_u64_get(&p->by_pid, pid);

	return at ? &p->of_pid.data[*at] : NULL;
}

static struct ana_program_list *list_get(struct ana_programs *p, uint32_t pid)
{
	struct ana_program_list *l = list_of(p, pid);

	if (l)
		return l;
	if (!vec_push(&p->of_pid, (struct ana_program_list){0}) ||
	    !map_u64_put(&p->by_pid, pid, p->of_pid.nr - 1))
		return NULL;
	return &p->of_pid.data[p->of_pid.nr - 1];
}

/** How many of them began no later than @p time. */
static size_t nr_until(const struct ana_programs *p, const struct ana_program_list *l,
		       struct clew_perf_ns time)
{
	return search_first(l->nr, i, p->all.data[l->data[i]].from.ns > time.ns);
}

static bool insert(struct ana_program_list *l, size_t at, uint32_t program)
{
	if (!vec_push(l, program))
		return false;
	for (size_t i = l->nr - 1; i > at; i--)
		l->data[i] = l->data[i - 1];
	l->data[at] = program;
	return true;
}

static void end(struct ana_program *prog, struct clew_perf_ns time)
{
	if (!clew_perf_ns_is_known(prog->to) || time.ns < prog->to.ns)
		prog->to = time;
}

/** A program begins, unless it is known to. *ret: ANA_NO_PROGRAM: no room. */
static bool begin(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time, uint32_t parent,
		  uint32_t *ret)
{
	struct ana_program_list *l = list_get(p, pid);
	size_t at = l ? nr_until(p, l, time) : 0;
	struct ana_program n = {
		.pid = pid, .parent = parent, .from = time, .to = clew_perf_ns_none()};

	*ret = ANA_NO_PROGRAM;
	if (!l)
		return false;
	if (at && p->all.data[l->data[at - 1]].from.ns == time.ns) {
		*ret = l->data[at - 1];
		return true;
	}
	if (!budget_account_take(p->account, sizeof(n) + BUDGET_TABLE_BYTES, "programs of"))
		return true;
	n.serial = (uint32_t)l->nr;
	if (at < l->nr)
		n.to = p->all.data[l->data[at]].from;
	if (!vec_push(&p->all, n) || !insert(l, at, (uint32_t)p->all.nr - 1))
		return false;
	if (at)
		end(&p->all.data[l->data[at - 1]], time);
	*ret = (uint32_t)p->all.nr - 1;
	return true;
}

uint32_t ana_program_at(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time)
{
	const struct ana_program_list *l = list_of(p, pid);
	size_t after = l ? nr_until(p, l, time) : 0;
	uint32_t ret;

	if (after)
		return l->data[after - 1];
	begin(p, pid, (struct clew_perf_ns){0}, ANA_NO_PROGRAM, &ret);
	return ret;
}

static enum clew_err take_fork(struct ana_programs *p, const struct perf_task *t,
			       struct clew_perf_ns time)
{
	uint32_t parent, ignored;

	if (t->pid == t->ppid || t->is_recorders || !who_is_thread(t->pid))
		return CLEW_OK;
	parent = who_is_orphan(t) ? ANA_NO_PROGRAM : ana_program_at(p, t->ppid, time);
	return begin(p, t->pid, time, parent, &ignored) ? CLEW_OK : CLEW_NO_MEMORY;
}

static void take_exit(struct ana_programs *p, const struct perf_task *t, struct clew_perf_ns time)
{
	const struct ana_program_list *l = list_of(p, t->pid);
	size_t after = l && t->pid == t->tid ? nr_until(p, l, time) : 0;

	if (after)
		end(&p->all.data[l->data[after - 1]], time);
}

enum clew_err ana_programs_take(struct ana_programs *p, const struct perf_record *r,
				struct clew_perf_ns time, uint32_t *ret_pid)
{
	struct perf_comm c;
	struct perf_task t;
	uint32_t ignored;

	if (!clew_perf_ns_is_known(time))
		return CLEW_OK;
	if (r->type == PERF_RECORD_COMM && !perf_comm_parse(r, &c) && c.is_exec &&
	    who_is_thread(c.pid)) {
		*ret_pid = c.pid;
		return begin(p, c.pid, time, ANA_NO_PROGRAM, &ignored) ? CLEW_OK : CLEW_NO_MEMORY;
	}
	if (r->type == PERF_RECORD_FORK && !perf_task_parse(r, &t))
		return take_fork(p, &t, time);
	if (r->type == PERF_RECORD_EXIT && !perf_task_parse(r, &t))
		take_exit(p, &t, time);
	return CLEW_OK;
}

/* The recording's clock is no clock of files: it may be fast or slow by some millionths. */
static uint64_t doubt_of(struct clew_perf_ns time)
{
	return BOOT_SLACK_NS + time.ns / 10000;
}

static uint64_t wall_of(const struct ana_programs *p, struct clew_perf_ns time)
{
	return time.ns && clew_perf_ns_is_known(time) ? time.ns + p->wall.offset : 0;
}

static struct dso_life life_of(const struct ana_programs *p, const struct ana_program *prog)
{
	struct dso_life life = {.from = wall_of(p, prog->from)};

	if (!p->wall.is_known)
		return (struct dso_life){0};
	life.since = p->wall.boot;
	if (p->wall.boot)
		life.from -= life.from ? doubt_of(prog->from) : 0;
	else
		life.to = wall_of(p, prog->to);
	return life;
}

/** The recorder lists a process again when it runs another program: the first one since is its. */
static const struct perf_kept_map *kept_of(const struct ana_programs *p,
					   const struct ana_program *prog)
{
	const struct perf_kept_map *all = p->kept.data;
	size_t at = search_first(p->kept.nr, i,
				 all[i].pid > prog->pid ||
					 (all[i].pid == prog->pid && all[i].time >= prog->from.ns));

	if (at == p->kept.nr || all[at].pid != prog->pid)
		return NULL;
	return clew_perf_ns_is_known(prog->to) && all[at].time > prog->to.ns ? NULL : &all[at];
}

static bool keep_map(const struct ana_programs *p, const struct ana_program *prog)
{
	const struct perf_kept_map *m = kept_of(p, prog);

	return !m || !m->bytes ||
	       dso_jit_keep_map(prog->dso,
				&(struct dso_kept_map){m->packed, m->bytes, perf_kept_map_unpack});
}

/** What the parents' compilers wrote for it into files that they had mapped. */
static bool inherit(struct ana_programs *p, struct dso *d, uint32_t program)
{
	for (int i = 0; i < MAX_FORKS && program != ANA_NO_PROGRAM; i++) {
		const struct ana_program *from = &p->all.data[program];

		if (from->dso && !dso_jit_inherit(d, from->dso))
			return false;
		program = from->parent;
	}
	return true;
}

struct dso *ana_program_dso(struct ana_programs *p, uint32_t program)
{
	struct ana_program *prog = &p->all.data[program];
	char path[32];
	struct dso_key key = {
		.kind = DSO_JIT, .path = path, .pid = prog->pid, .program = prog->serial};
	const uint64_t *mnt_ns = map_u64_get(p->mnt_ns, prog->pid);
	struct dso_life life = life_of(p, prog);

	if (prog->dso)
		return prog->dso;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", prog->pid);
	key.mnt_ns_ino = mnt_ns ? *mnt_ns : 0;
	prog->dso = dso_store_get(p->dsos, &key);
	if (!prog->dso)
		return NULL;
	dso_jit_set_life(prog->dso, &life);
	return keep_map(p, prog) && inherit(p, prog->dso, prog->parent) ? prog->dso : NULL;
}

bool ana_program_maps(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time,
		      struct dso *file)
{
	uint32_t program = ana_program_at(p, pid, time);
	struct dso_mapped when = {.mapped = time};
	struct dso *d;

	if (program == ANA_NO_PROGRAM)
		return true;
	when.begun = p->all.data[program].from;
	d = ana_program_dso(p, program);
	return d && dso_jit_add_dump(d, file, &when);
}

uint32_t ana_program_of(const struct ana_programs *p, uint32_t pid, size_t i)
{
	const struct ana_program_list *l = list_of(p, pid);

	return l && i < l->nr ? l->data[i] : ANA_NO_PROGRAM;
}

static bool has_dumps(const struct ana_program *prog)
{
	return prog->dso && dso_jit_has_dumps(prog->dso);
}

/** A child's own files may be its parent's. */
static struct dso *dso_with_dumps(struct ana_programs *p, uint32_t program)
{
	uint32_t up = program;

	for (int i = 0; i < MAX_FORKS && up != ANA_NO_PROGRAM; i++) {
		if (has_dumps(&p->all.data[up]))
			return ana_program_dso(p, program);
		up = p->all.data[up].parent;
	}
	return NULL;
}

const struct code_patches *ana_program_patches(struct ana_programs *p, uint32_t program,
					       struct clew_perf_ns *ret_known_at)
{
	*ret_known_at = clew_perf_ns_none();
	if (!dso_with_dumps(p, program))
		return NULL;
	for (int i = 0; i < MAX_FORKS && program != ANA_NO_PROGRAM; i++) {
		const struct ana_program *prog = &p->all.data[program];
		const struct code_patches *patches =
			has_dumps(prog) ? dso_jit_patches(prog->dso) : NULL;

		if (patches)
			return patches;
		*ret_known_at = prog->from;
		program = prog->parent;
	}
	return NULL;
}

static struct clew_perf_ns earlier(struct clew_perf_ns a, struct clew_perf_ns b)
{
	return a.ns < b.ns ? a : b;
}

/** @p program's, then those of what it was forked from, up to the one of @p mapper. */
static bool find_up(struct ana_programs *p, uint32_t program, uint32_t mapper, struct jit_when when,
		    uint64_t addr, struct ana_jit_place *ret)
{
	for (int i = 0; i < MAX_FORKS && program != ANA_NO_PROGRAM; i++) {
		const struct ana_program *prog;

		ret->dso = ana_program_dso(p, program);
		ret->is_known = ret->dso && dso_jit_find(ret->dso, when, addr, &ret->rel);
		if (!ret->dso || ret->is_known)
			return true;
		prog = &p->all.data[program];
		if (prog->pid == mapper)
			return true;
		when.time = earlier(when.time, prog->from);
		when.or_later = false;
		program = prog->parent;
	}
	return false;
}

bool ana_programs_find(struct ana_programs *p, uint32_t pid, uint32_t mapper, struct jit_when when,
		       uint64_t addr, struct ana_jit_place *ret)
{
	uint32_t program = ana_program_at(p, pid, when.time);

	*ret = (struct ana_jit_place){.rel = addr};
	if (program != ANA_NO_PROGRAM && find_up(p, program, mapper, when, addr, ret))
		return ret->dso;
	program = ana_program_at(p, mapper, when.time);
	ret->dso = program == ANA_NO_PROGRAM ? NULL : ana_program_dso(p, program);
	ret->is_known = ret->dso && dso_jit_find(ret->dso, when, addr, &ret->rel);
	return ret->dso;
}

void ana_programs_span(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time,
		       struct clew_perf_ns *ret_from, struct clew_perf_ns *ret_to)
{
	const struct ana_program_list *l = list_of(p, pid);
	size_t after = l ? nr_until(p, l, time) : 0;
	struct dso *d = after ? dso_with_dumps(p, l->data[after - 1]) : NULL;

	*ret_from = (struct clew_perf_ns){0};
	*ret_to = (struct clew_perf_ns){UINT64_MAX};
	if (d)
		dso_jit_span(d, time, ret_from, ret_to);
}
