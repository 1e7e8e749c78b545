/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/jit_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/map_u64.h"
#include "base/search.h"
#include "elf/jitdump.h"

enum {
	MAX_FUNCS = 2 << 20,
	MAX_LINES = 16 << 20,
	/* A patch with its segments and what sorts them; a function with its first one. */
	PATCH_BYTES = sizeof(struct code_patch) + 128,
	FUNC_BYTES = sizeof(struct jit_func) + 16 + PATCH_BYTES,
	MAX_SAME_ADDRESS = 64, /* of which one may be the same again */
	CLOCK_SLACK_NS = 1000 * 1000 * 1000
};

struct reader {
	struct jit_code *j;
	struct jitdump dump;
	const struct dso_clock *clock;
	const struct jit_wanted *wanted;
	bool is_timed;
	uint64_t shift; /* add to times */
	bool has_own;   /* records name the process that began the file */
	uint16_t machine;
	/* -> in funcs; lines that wait for the function at their address -> in lines */
	struct map_u64 by_index, by_addr, waiting;
};

struct jit_code *jit_code_new(struct budget *budget)
{
	struct jit_code *j = mem_zalloc(sizeof(*j));

	if (j)
		j->budget = budget;
	if (j && !(j->patches = code_patches_new())) {
		mem_free(j);
		return NULL;
	}
	return j;
}

void jit_code_free(struct jit_code *j)
{
	if (!j)
		return;
	vec_for_each (&j->maps, m)
		os_map_done(m);
	vec_done(&j->maps);
	vec_done(&j->funcs);
	vec_done(&j->lines);
	mem_free(j->by_rel);
	code_patches_free(j->patches);
	budget_give(j->budget, j->charged);
	mem_free(j);
}

static bool charge(struct jit_code *j, uint64_t bytes)
{
	if (!budget_take(j->budget, bytes)) {
		j->is_over_budget = true;
		return false;
	}
	j->charged += bytes;
	return true;
}

/** @return none: it cannot be compared, and counts as before all else. */
static struct clew_perf_ns time_of(const struct reader *r, uint64_t time)
{
	struct clew_perf_ns ret = {time};

	if (!r->is_timed)
		return (struct clew_perf_ns){0};
	if (r->dump.is_arch_time && !r->clock->of_tsc(r->clock->ctx, time, &ret))
		return (struct clew_perf_ns){0};
	ret.ns += r->shift;
	return ret;
}

/**
 * A file that was begun long before its program was, or long after it was mapped, has another clock
 * than it should. Its own times still say what came after what.
 */
static void look_at_begin(struct reader *r)
{
	const struct dso_mapped *when = &r->wanted->when;
	struct clew_perf_ns begun = time_of(r, r->dump.time);
	bool is_early =
		when->begun.ns > CLOCK_SLACK_NS && begun.ns < when->begun.ns - CLOCK_SLACK_NS;

	if (!r->is_timed || !when->mapped.ns || !clew_perf_ns_is_known(when->mapped))
		return;
	if (!is_early && (begun.ns < CLOCK_SLACK_NS || begun.ns - CLOCK_SLACK_NS < when->mapped.ns))
		return;
	r->shift = when->mapped.ns - begun.ns;
	r->j->is_shifted = true;
}

static bool is_timed(const struct reader *r)
{
	if (!r->clock)
		return false;
	return r->dump.is_arch_time ? r->clock->of_tsc != NULL : r->clock->is_monotonic;
}

static bool is_wanted(const struct reader *r, uint32_t pid)
{
	if (r->wanted->is_inherited)
		return pid == r->wanted->pid && pid != r->dump.pid;
	return !r->has_own || pid == r->dump.pid || pid == r->wanted->pid;
}

/** The function @p number is at @p start from then on. */
static bool put(struct reader *r, struct clew_perf_ns time, size_t number, uint64_t start,
		uint64_t size)
{
	struct jit_func *f = &r->j->funcs.data[number];
	size_t order = r->j->patches->all.nr;
	const struct code_patch patch = {.start = start,
					 .end = start + size,
					 .time = time,
					 .bytes = f->bytes,
					 .number = (uint32_t)number};

	if (!charge(r->j, PATCH_BYTES) || code_patches_add(r->j->patches, &patch))
		return false;
	if (r->j->patches->all.nr == order) {
		r->j->nr_omitted++;
		return true;
	}
	f->last_patch = (uint32_t)order;
	f->addr = start;
	return true;
}

static bool is_user_range(uint64_t start, uint64_t size)
{
	return size && start < JIT_HIDDEN && size < JIT_HIDDEN;
}

static bool is_equal(const struct jit_func *a, const struct jit_func *b)
{
	return a->size == b->size && !strcmp(a->name, b->name) &&
	       !memcmp(a->bytes, b->bytes, (size_t)a->size);
}

/** The same code may be put there again, after other code: it is one function. */
static bool find_again(const struct reader *r, const struct jit_func *f, size_t *ret)
{
	const struct jit_func *all = r->j->funcs.data;
	uint32_t at = f->older;

	for (int i = 0; at && i < MAX_SAME_ADDRESS; i++) {
		*ret = at - 1;
		if (is_equal(&all[at - 1], f))
			return true;
		at = all[at - 1].older;
	}
	return false;
}

/** Its lines were written before it, or come after it. */
static void take_waiting(struct reader *r, struct jit_func *f)
{
	uint64_t *at = map_u64_get(&r->waiting, f->loaded_at);

	if (!at)
		return;
	f->first_line = (uint32_t)(*at >> 32);
	f->nr_lines = (uint32_t)*at;
	map_u64_remove(&r->waiting, f->loaded_at);
}

static bool load(struct reader *r, const struct jitdump_record *rec)
{
	struct jit_func f = {.addr = rec->addr,
			     .size = bytes_left(&rec->code),
			     .name = rec->name,
			     .bytes = rec->code.pos,
			     .loaded_at = rec->addr,
			     .last_patch = UINT32_MAX,
			     .machine = r->machine,
			     .file = (uint16_t)(r->j->maps.nr - 1)};
	const uint64_t *older = map_u64_get(&r->by_addr, rec->addr);
	size_t number = r->j->funcs.nr;

	take_waiting(r, &f);
	if (!is_user_range(f.addr, f.size))
		return true;
	f.older = older ? (uint32_t)*older + 1 : 0;
	if (!find_again(r, &f, &number)) {
		number = r->j->funcs.nr;
		if (number >= MAX_FUNCS) {
			r->j->nr_omitted++;
			return true;
		}
		if (!charge(r->j, FUNC_BYTES) || !vec_push(&r->j->funcs, f) ||
		    !map_u64_put(&r->by_addr, f.addr, number))
			return false;
	}
	return map_u64_put(&r->by_index, rec->index, number) &&
	       put(r, time_of(r, rec->time), number, f.addr, f.size);
}

/** By its number, else by where it was. */
static const uint64_t *find_moved(const struct reader *r, const struct jitdump_record *rec)
{
	const uint64_t *at = map_u64_get(&r->by_index, rec->index);

	return at ? at : map_u64_get(&r->by_addr, rec->old_addr);
}

/** From then on the function is no longer where it was, unless other code is there already. Where
 * times do not count, the last code of an address does. */
static bool leave(struct reader *r, struct clew_perf_ns time, size_t number)
{
	const struct jit_func *f = &r->j->funcs.data[number];
	const struct code_patch *was = &r->j->patches->all.data[f->last_patch];
	const struct code_patch gone = {.start = was->start,
					.end = was->end,
					.time = time,
					.number = (uint32_t)number,
					.removes = f->last_patch + 1};

	return !r->is_timed ||
	       (charge(r->j, PATCH_BYTES) && !code_patches_add(r->j->patches, &gone));
}

static bool move(struct reader *r, const struct jitdump_record *rec)
{
	const uint64_t *at = find_moved(r, rec);
	struct clew_perf_ns time = time_of(r, rec->time);
	uint64_t size;

	if (!at || !is_user_range(rec->addr, rec->size ? rec->size : 1) ||
	    r->j->patches->all.nr <= r->j->funcs.data[*at].last_patch)
		return true;
	size = r->j->funcs.data[*at].size;
	if (rec->size && rec->size < size)
		size = rec->size;
	return leave(r, time, (size_t)*at) && put(r, time, (size_t)*at, rec->addr, size);
}

/** Lines of a function: those of its record, or of one that follows it. */
static bool give_lines(struct reader *r, uint64_t addr, size_t first, size_t nr)
{
	return !nr || map_u64_put(&r->waiting, addr, (uint64_t)first << 32 | nr);
}

static bool add_lines(struct reader *r, struct jitdump_record *rec)
{
	struct jitdump_line l = {0};
	size_t first = r->j->lines.nr;

	while (r->j->lines.nr < MAX_LINES && jitdump_next_line(&r->dump, rec, &l)) {
		if (!charge(r->j, sizeof(struct jit_line)) ||
		    !vec_push(&r->j->lines, (struct jit_line){l.addr, l.file, l.line}))
			return false;
	}
	return give_lines(r, rec->addr, first, r->j->lines.nr - first);
}

static bool take(struct reader *r, struct jitdump_record *rec)
{
	switch (rec->kind) {
	case JITDUMP_LOAD:
		return !is_wanted(r, rec->pid) || load(r, rec);
	case JITDUMP_MOVE:
		return !is_wanted(r, rec->pid) || move(r, rec);
	case JITDUMP_DEBUG_INFO:
		return add_lines(r, rec);
	default:
		return true;
	}
}

/** Nothing is written after the end that a record says. */
static bool next(struct jitdump *d, struct jitdump_record *rec)
{
	return !jitdump_next(d, rec) && rec->kind != JITDUMP_CLOSE;
}

static void look_at_pids(struct reader *r, bool *ret_has_others)
{
	struct jitdump d = r->dump;
	struct jitdump_record rec;

	*ret_has_others = false;
	while (next(&d, &rec)) {
		if (rec.kind != JITDUMP_LOAD && rec.kind != JITDUMP_MOVE)
			continue;
		r->has_own |= rec.pid == d.pid;
		*ret_has_others |= rec.pid != d.pid;
	}
}

static int by_line_addr(const void *a, const void *b)
{
	const struct jit_line *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/** Lines that follow their function, which has none so far. */
static void take_late_lines(struct reader *r, size_t first_func)
{
	for (size_t i = r->j->funcs.nr; i > first_func; i--) {
		struct jit_func *f = &r->j->funcs.data[i - 1];

		if (!f->nr_lines)
			take_waiting(r, f);
	}
}

static bool read_all(struct reader *r, bool *ret_has_others)
{
	size_t first_func = r->j->funcs.nr;
	struct jitdump_record rec;

	look_at_pids(r, ret_has_others);
	while (next(&r->dump, &rec)) {
		if (!take(r, &rec))
			return false;
	}
	take_late_lines(r, first_func);
	for (size_t i = first_func; i < r->j->funcs.nr; i++) {
		const struct jit_func *f = &r->j->funcs.data[i];

		if (f->nr_lines)
			qsort(r->j->lines.data + f->first_line, f->nr_lines,
			      sizeof(*r->j->lines.data), by_line_addr);
	}
	return true;
}

bool jit_code_read(struct jit_code *j, struct os_map *map, const struct dso_clock *clock,
		   const struct jit_wanted *wanted, bool *ret_has_others)
{
	struct reader r = {.j = j, .clock = clock, .wanted = wanted};
	bool ok;

	if (jitdump_open(&r.dump, bytes_of(map->data, map->size), NULL) || !charge(j, map->size) ||
	    !vec_push(&j->maps, *map)) {
		os_map_done(map);
		return false;
	}
	r.machine = (uint16_t)r.dump.machine;
	r.is_timed = is_timed(&r);
	j->has_untimed |= !r.is_timed;
	look_at_begin(&r);
	ok = read_all(&r, ret_has_others);
	map_u64_done(&r.by_index);
	map_u64_done(&r.by_addr);
	map_u64_done(&r.waiting);
	return ok;
}

/** What others took the place of is known by its place in the files, which stays when they grow. */
static uint64_t hidden_rel(const struct jit_code *j, const struct jit_func *f)
{
	const struct os_map *m = &j->maps.data[f->file];

	return JIT_HIDDEN + (uint64_t)f->file * JIT_MAX_BYTES + (uint64_t)(f->bytes - m->data);
}

static void hide(struct jit_code *j, const bool *is_hidden, size_t nr)
{
	vec_for_each (&j->funcs, f) {
		bool is = f->last_patch >= nr || is_hidden[f->last_patch];

		f->rel = is ? hidden_rel(j, f) : f->addr;
		j->nr_reused += is;
	}
}

static int by_start(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool sort_by_rel(struct jit_code *j)
{
	struct rel {
		uint64_t start;
		uint32_t func;
	} *rels = mem_calloc(j->funcs.nr + 1, sizeof(*rels));

	j->by_rel = mem_calloc(j->funcs.nr + 1, sizeof(*j->by_rel));
	for (size_t i = 0; rels && i < j->funcs.nr; i++)
		rels[i] = (struct rel){j->funcs.data[i].rel, (uint32_t)i};
	if (rels && j->funcs.nr)
		qsort(rels, j->funcs.nr, sizeof(*rels), by_start);
	for (size_t i = 0; rels && j->by_rel && i < j->funcs.nr; i++)
		j->by_rel[i] = rels[i].func;
	mem_free(rels);
	return rels && j->by_rel;
}

bool jit_code_close(struct jit_code *j)
{
	size_t nr = j->patches->all.nr;
	bool *is_hidden = mem_calloc(nr + 1, sizeof(*is_hidden));
	bool ok = is_hidden && !code_patches_close(j->patches);

	j->nr_omitted += nr - j->patches->all.nr;

	if (ok) {
		code_patches_mark_hidden(j->patches, is_hidden);
		hide(j, is_hidden, nr);
		ok = sort_by_rel(j);
	}
	mem_free(is_hidden);
	return ok;
}

const struct jit_func *jit_code_at(const struct jit_code *j, struct jit_when when, uint64_t addr,
				   uint64_t *ret_rel, bool *ret_is_gone)
{
	const struct code_patch *p = code_patches_at(j->patches, when.time, addr, when.or_later);
	const struct jit_func *f = p && p->bytes ? &j->funcs.data[p->number] : NULL;

	*ret_is_gone = p && !p->bytes;
	*ret_rel = f ? f->rel + (addr - p->start) : addr;
	return f;
}

static const struct jit_func *find_rel(const struct jit_code *j, uint64_t rel)
{
	size_t after = search_first(j->funcs.nr, i, j->funcs.data[j->by_rel[i]].rel > rel);
	const struct jit_func *f = after ? &j->funcs.data[j->by_rel[after - 1]] : NULL;

	return f && rel - f->rel < f->size ? f : NULL;
}

const struct jit_func *jit_code_find(const struct jit_code *j, uint64_t *rel, bool *ret_is_gone)
{
	const struct jit_when in_the_end = {clew_perf_ns_none(), false};

	*ret_is_gone = false;
	return *rel < JIT_HIDDEN ? jit_code_at(j, in_the_end, *rel, rel, ret_is_gone)
				 : find_rel(j, *rel);
}

const struct jit_line *jit_code_line(const struct jit_code *j, const struct jit_func *f,
				     uint64_t rel)
{
	const struct jit_line *lines = j->lines.data + f->first_line;
	uint64_t addr = f->loaded_at + (rel - f->rel);
	size_t after = search_first(f->nr_lines, i, lines[i].addr > addr);

	return after ? &lines[after - 1] : NULL;
}

void jit_code_span(const struct jit_code *j, struct clew_perf_ns time,
		   struct clew_perf_ns *ret_from, struct clew_perf_ns *ret_to)
{
	const struct code_patch *all = j->patches->all.data;
	size_t nr = j->patches->all.nr, after = search_first(nr, i, all[i].time.ns > time.ns);

	ret_from->ns = after ? all[after - 1].time.ns : 0;
	ret_to->ns = after < nr ? all[after].time.ns : UINT64_MAX;
}
