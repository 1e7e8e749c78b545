/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/live_space.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/interval_map.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "os/clock.h"
#include "os/pid_view.h"
#include "os/proc.h"
#include "os/proc_map.h"
#include "record/stacks/tables/live_code.h"
#include "who/who_play.h"

enum {
	MAX_FILES = 1 << 16,     /* different ones; further ones have no tables */
	MAX_PROCESSES = 1 << 17, /* with more all are forgotten, and read again */
	MAX_MAPS = 1 << 16,      /* executable ones of a process */
	MAX_TRIES = 3,
};

#define REREAD_NS 100000000ull

struct map {
	uint64_t start, end, offset;
	uint32_t file;
	bool is_probes;
};

struct process {
	struct {
		VEC(struct map); /* by address, not overlapping */
	} maps;
	uint64_t id;      /* a new one with each change: key of the walker's memo */
	uint64_t read_ns; /* when /proc was last read; 0: never */
};

struct file {
	const struct unw_code *code;
	const char *name;
	uint64_t dev, ino;
	uint8_t build_id[20], nr_build_id;
	bool is_done, is_asked;
	uint8_t tries;
};

struct live_space {
	struct unw_store *store;
	struct unw_memo *memo;
	struct map_u64 process_of_pid, file_of_hash;
	struct arena names;
	struct {
		VEC(struct process *);
	} free; /* ended ones, for the next */
	struct {
		VEC(struct file); /* [0]: none */
	} files;
	bool has_own_procfs; /* ids in /proc are those of records */
	uint64_t last_id;
	size_t table_bytes;
	struct buf text;
	bool (*ask)(void *ctx, uint32_t file, const struct live_mapping *m); /* NULL: store */
	void *ask_ctx;
};

/* The walk's context. */
struct walk {
	struct live_space *live;
	struct process *process;
	struct unw_space *space;
	uint32_t pid;
};

struct live_space *live_space_new(struct unw_store *store)
{
	struct live_space *l = mem_zalloc(sizeof(*l));
	struct os_pid_view view;

	if (!l)
		return NULL;
	os_pid_view_read(&view);
	l->has_own_procfs = view.is_own;
	l->store = store;
	l->memo = unw_memo_new();
	if (l->memo && vec_push(&l->files, (struct file){.name = "", .is_done = true}))
		return l;
	live_space_free(l);
	return NULL;
}

static void free_process(struct process *p)
{
	vec_done(&p->maps);
	mem_free(p);
}

static void forget_all(struct live_space *l)
{
	for (size_t i = 0; i < l->process_of_pid.cap; i++)
		if (l->process_of_pid.used[i])
			free_process((struct process *)(uintptr_t)l->process_of_pid.slots[i].value);
	map_u64_done(&l->process_of_pid);
	l->process_of_pid = (struct map_u64){0};
}

void live_space_free(struct live_space *l)
{
	if (!l)
		return;
	forget_all(l);
	vec_for_each (&l->free, p)
		free_process(*p);
	vec_done(&l->free);
	vec_done(&l->files);
	map_u64_done(&l->file_of_hash);
	arena_done(&l->names);
	buf_done(&l->text);
	unw_memo_free(l->memo);
	mem_free(l);
}

size_t live_space_nr_processes(const struct live_space *l)
{
	return l->process_of_pid.nr;
}

size_t live_space_nr_files(const struct live_space *l)
{
	return l->files.nr - 1;
}

size_t live_space_table_bytes(const struct live_space *l)
{
	return l->table_bytes;
}

void live_space_set_ask(struct live_space *l,
			bool (*ask)(void *ctx, uint32_t file, const struct live_mapping *m),
			void *ctx)
{
	l->ask = ask;
	l->ask_ctx = ctx;
}

static void set_code(struct live_space *l, struct file *f, const struct unw_code *code)
{
	f->code = code;
	f->is_done = code || ++f->tries >= MAX_TRIES;
	if (code && code->table.head)
		l->table_bytes += code->table.head->bytes;
}

void live_space_set_code(struct live_space *l, uint32_t file, const struct unw_code *code)
{
	struct file *f = &l->files.data[file];

	f->is_asked = false;
	set_code(l, f, code);
}

static struct process *find_process(const struct live_space *l, uint32_t pid)
{
	const uint64_t *p = map_u64_get(&l->process_of_pid, pid);

	return p ? (struct process *)(uintptr_t)*p : NULL;
}

static void forget(struct live_space *l, uint32_t pid)
{
	struct process *p = find_process(l, pid);

	if (!p)
		return;
	map_u64_remove(&l->process_of_pid, pid);
	p->maps.nr = 0;
	if (!vec_push(&l->free, p))
		free_process(p);
}

/* A new one without maps in the place of an older one of that number. */
static struct process *make_process(struct live_space *l, uint32_t pid)
{
	struct process *p;

	forget(l, pid);
	if (l->process_of_pid.nr >= MAX_PROCESSES)
		forget_all(l);
	p = l->free.nr ? l->free.data[--l->free.nr] : mem_zalloc(sizeof(*p));
	if (!p)
		return NULL;
	p->id = ++l->last_id;
	p->read_ns = 0;
	if (map_u64_put(&l->process_of_pid, pid, (uintptr_t)p))
		return p;
	free_process(p);
	return NULL;
}

static bool is_file(const struct file *f, const struct file *other)
{
	return f->dev == other->dev && f->ino == other->ino &&
	       f->nr_build_id == other->nr_build_id &&
	       !memcmp(f->build_id, other->build_id, f->nr_build_id) &&
	       !strcmp(f->name, other->name);
}

/* The file's number; 0 where it has no tables anyway. */
static uint32_t file_number(struct live_space *l, struct file f)
{
	uint64_t key = hash_two(hash_two(f.dev, f.ino), hash_bytes(f.name, strlen(f.name)));
	const uint64_t *known;

	if (live_code_is_anonymous(f.name))
		return 0;
	key = hash_two(key, hash_bytes(f.build_id, f.nr_build_id));
	while ((known = map_u64_get(&l->file_of_hash, key))) {
		if (is_file(&l->files.data[*known], &f))
			return (uint32_t)*known;
		key++;
	}
	if (l->files.nr >= MAX_FILES)
		return 0;
	f.name = arena_strndup(&l->names, f.name, strlen(f.name));
	if (!f.name || !vec_push(&l->files, f))
		return 0;
	if (!map_u64_put(&l->file_of_hash, key, l->files.nr - 1))
		return 0;
	return (uint32_t)(l->files.nr - 1);
}

static bool cut(void *ctx, void *element, uint64_t start, uint64_t end)
{
	struct map *m = element;

	(void)ctx;
	m->offset += start - m->start;
	m->start = start;
	m->end = end;
	return true;
}

static const struct interval_type type = {sizeof(struct map), false, cut};

static struct interval_map intervals_of(const struct process *p)
{
	return (struct interval_map){&type, p->maps.data, p->maps.nr};
}

static void add_map(struct live_space *l, struct process *p, const struct map *m)
{
	struct interval_map v;

	if (m->end <= m->start || p->maps.nr >= MAX_MAPS)
		return;
	p->id = ++l->last_id;
	if (!vec_reserve(&p->maps, p->maps.nr + 2)) {
		p->maps.nr = 0; /* to be read from /proc again */
		return;
	}
	v = intervals_of(p);
	interval_insert(&v, NULL, m);
	p->maps.nr = v.nr;
}

static void add_line(struct live_space *l, struct process *p, const struct proc_map *line)
{
	char name[4096];
	struct map m = {.start = line->start, .end = line->end, .offset = line->offset};
	struct file f = {.dev = (uint64_t)line->maj << 32 | line->min, .ino = line->ino};
	size_t n = line->name_bytes < sizeof(name) - 1 ? line->name_bytes : sizeof(name) - 1;

	memcpy(name, line->name, n);
	name[n] = '\0';
	f.name = name;
	m.file = file_number(l, f);
	m.is_probes = !strcmp(name, unw_probes_name);
	add_map(l, p, &m);
}

/* 0: /proc does not show it. */
static uint32_t procfs_of(const struct live_space *l, uint32_t pid)
{
	return l->has_own_procfs ? pid : os_pid_procfs(pid);
}

static void read_maps(struct live_space *l, struct process *p, uint32_t pid)
{
	uint32_t procfs = procfs_of(l, pid);
	struct proc_map map;
	const char *at;

	p->read_ns = os_clock_ns();
	if (!proc_maps_read(procfs, &l->text))
		return;
	p->maps.nr = 0;
	for (at = buf_cstr(&l->text); proc_map_next(&at, &map);)
		if (map.prot & PROC_MAP_X)
			add_line(l, p, &map);
	p->id = ++l->last_id;
}

static enum clew_err on_mmap(void *ctx, struct clew_perf_ns time, bool is_kernel,
			     const struct perf_mmap *m)
{
	struct live_space *l = ctx;
	struct file f = {.name = m->filename};
	struct process *p;
	struct map map = {.start = m->start, .end = m->start + m->len, .offset = m->pgoff};

	(void)time;
	if (is_kernel || m->is_data || !(m->prot & PROC_MAP_X))
		return CLEW_OK;
	p = find_process(l, m->pid);
	if (!p)
		return CLEW_OK; /* read from /proc when it is wanted, this map among the others */
	map.is_probes = !strcmp(m->filename, unw_probes_name);
	if (m->has_build_id) {
		f.nr_build_id = m->build_id_bytes;
		memcpy(f.build_id, m->build_id, sizeof(f.build_id));
	} else {
		f.dev = (uint64_t)m->maj << 32 | m->min;
		f.ino = m->ino;
	}
	map.file = file_number(l, f);
	add_map(l, p, &map);
	return CLEW_OK;
}

/* All maps of the new image are recorded from here on. */
static enum clew_err on_comm(void *ctx, struct clew_perf_ns time, const struct perf_comm *c)
{
	(void)time;
	if (c->is_exec)
		make_process(ctx, c->pid);
	return CLEW_OK;
}

static enum clew_err on_fork(void *ctx, struct clew_perf_ns time, const struct perf_task *t)
{
	struct live_space *l = ctx;
	const struct process *parent;
	struct process *child;

	(void)time;
	if (t->pid == t->ppid || t->pid != t->tid)
		return CLEW_OK;
	forget(l, t->pid);
	parent = find_process(l, t->ppid);
	if (!parent)
		return CLEW_OK;
	child = make_process(l, t->pid);
	parent = find_process(l, t->ppid); /* forgotten, if there were too many */
	if (!child || !parent || !vec_reserve(&child->maps, parent->maps.nr))
		return CLEW_OK;
	if (parent->maps.nr)
		memcpy(child->maps.data, parent->maps.data,
		       parent->maps.nr * sizeof(*parent->maps.data));
	child->maps.nr = parent->maps.nr;
	return CLEW_OK;
}

/* Threads that outlive the first are read from /proc. */
static enum clew_err on_end(void *ctx, struct clew_perf_ns time, const struct perf_task *t)
{
	(void)time;
	if (t->pid == t->tid)
		forget(ctx, t->pid);
	return CLEW_OK;
}

void live_space_record(struct live_space *l, const struct perf_record *r)
{
	static const struct who_player player = {
		.mmap = on_mmap, .comm = on_comm, .fork = on_fork, .exit = on_end};

	who_play(&player, l, NULL, r, &(struct who_stamp){0});
}

static void find_code(struct live_space *l, uint32_t pid, const struct map *m)
{
	struct file *f = &l->files.data[m->file];
	const struct live_mapping place = {.pid = procfs_of(l, pid),
					   .start = m->start,
					   .end = m->end,
					   .name = f->name,
					   .ino = f->ino,
					   .build_id = f->nr_build_id ? f->build_id : NULL,
					   .nr_build_id = f->nr_build_id};

	if (!l->ask) {
		set_code(l, f, live_code_find(l->store, &place));
	} else if (l->ask(l->ask_ctx, m->file, &place)) {
		f->is_asked = true;
	} else {
		f->is_done = true; /* out of memory */
	}
}

static const struct unw_code *code_of(struct live_space *l, uint32_t pid, const struct map *m)
{
	const struct file *f = &l->files.data[m->file];

	if (!f->is_done && !f->is_asked)
		find_code(l, pid, m);
	return f->code;
}

static const struct map *map_at(const struct process *p, uint64_t pc)
{
	struct interval_map v = intervals_of(p);
	size_t i = interval_find(&v, pc);

	return i < v.nr ? &p->maps.data[i] : NULL;
}

static bool find(void *ctx, uint64_t pc, struct unw_map *ret)
{
	struct walk *w = ctx;
	const struct map *m = map_at(w->process, pc);

	/* A record was lost, or the process ran before: look, but not for each wild address. */
	if (!m && (!w->process->read_ns || os_clock_ns() - w->process->read_ns > REREAD_NS)) {
		read_maps(w->live, w->process, w->pid);
		w->space->id = w->process->id;
		m = map_at(w->process, pc);
	}
	if (!m)
		return false;
	*ret = (struct unw_map){.start = m->start, .end = m->end, .bias = m->offset - m->start};
	ret->is_probes = m->is_probes;
	ret->code = code_of(w->live, w->pid, m);
	ret->is_pending = w->live->files.data[m->file].is_asked;
	return true;
}

static bool read_none(void *ctx, uint64_t address, uint64_t *ret)
{
	(void)ctx;
	(void)address;
	(void)ret;
	return false;
}

/* Known, or else read from /proc; NULL: out of memory. */
static struct process *enter(struct live_space *l, uint32_t pid)
{
	struct process *p = find_process(l, pid);

	if (p)
		return p;
	p = make_process(l, pid);
	if (p)
		read_maps(l, p, pid);
	return p;
}

void live_space_preload(struct live_space *l, uint32_t pid)
{
	struct process *p = enter(l, pid);

	for (size_t i = 0; p && i < p->maps.nr; i++)
		code_of(l, pid, &p->maps.data[i]);
}

void live_space_forget(struct live_space *l, uint32_t pid)
{
	forget(l, pid);
}

bool live_space_covers(struct live_space *l, uint32_t pid, uint64_t pc)
{
	const struct process *p = enter(l, pid);

	return p && map_at(p, pc);
}

bool live_space_is_signal(struct live_space *l, uint32_t pid, uint64_t pc)
{
	struct process *p = enter(l, pid);
	const struct map *m = p ? map_at(p, pc) : NULL;
	const struct unw_code *code = m ? code_of(l, pid, m) : NULL;

	return code && code->table.head &&
	       unw_table_find(&code->table, pc - m->start + m->offset)->flags & UNW_SIGNAL;
}

void live_space_walk(struct live_space *l, uint32_t pid, const struct unw_regs *regs,
		     const struct live_stack *stack, struct unw_frames *frames)
{
	struct process *p = enter(l, pid);
	struct unw_space space = {.find = find,
				  .read = read_none,
				  .stack = stack->bytes,
				  .stack_start = stack->start,
				  .stack_bytes = stack->size,
				  .is_copy = true,
				  .arch = UNW_OWN_ARCH,
				  .va_bits = regs->pc >> 48 ? 52 : (uint8_t)os_address_bits()};
	struct walk w = {.live = l, .process = p, .space = &space, .pid = pid};

	if (!p) { /* the one frame that needs nothing */
		frames->pc[0] = regs->pc;
		frames->nr = 1;
		frames->stop = UNW_STOP_NO_MAPPING;
		return;
	}
	space.id = p->id;
	space.ctx = &w;
	unw_walk(&space, l->memo, regs, frames);
}
