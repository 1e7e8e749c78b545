/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_runs.h"

#include <string.h>

#include "base/search.h"

/*
 * A run: a byte of flags, then numbers of 7 bits a byte, low ones first: ns since the last one's
 * begin; of a thread its id, less that of the thread before, with the sign lowest; its root id.
 * Each block begins as if the last time was the block's and the last id 0.
 */

enum {
	BLOCK_RUNS = 64,
	GROUP_RUNS = WHO_GROUP_BLOCKS * BLOCK_RUNS,
	MAX_RUN_BYTES = 1 + 10 + 5 + 5,
	IS_SPILLED = 1, /* of where */
};

enum {
	KIND_MASK = 3,
	END_SHIFT = 2,
	IS_BACKWARD = 1 << 4,
	IS_SCHED = 1 << 5,
	HAS_ROOT = 1 << 6,
};

static uint8_t *put_number(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

static const uint8_t *get_number(const uint8_t *p, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	for (; *p & 0x80; shift += 7)
		v |= (uint64_t)(*p++ & 0x7f) << shift;
	*ret = v | (uint64_t)*p << shift;
	return p + 1;
}

static uint64_t with_sign(int64_t v)
{
	return v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1;
}

static int64_t without_sign(uint64_t v)
{
	return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

static uint8_t flags_of(const struct who_run *r)
{
	return (uint8_t)(r->kind | r->end << END_SHIFT | (r->is_backward ? IS_BACKWARD : 0) |
			 (r->is_sched ? IS_SCHED : 0) | (r->has_root ? HAS_ROOT : 0));
}

/* --- groups --- */

/** The current group as one allocation: its blocks, then its runs. NULL: no memory. */
static uint8_t *seal(const struct who_runs *l, size_t *ret_bytes)
{
	size_t bytes = sizeof(l->blocks) + ((l->bytes.nr + 7) & ~(size_t)7);
	uint8_t *p = mem_zalloc(bytes);

	*ret_bytes = bytes;
	if (!p)
		return NULL;
	memcpy(p, l->blocks, sizeof(l->blocks));
	memcpy(p + sizeof(l->blocks), l->bytes.data, l->bytes.nr);
	return p;
}

/** Takes @p p. @return the value for who_run_group.where. */
static uintptr_t place(struct who_run_store *s, uint8_t *p, size_t bytes)
{
	bool is_kept = !s || !s->spill.put || s->kept_bytes + bytes <= s->keep_bytes;
	uint64_t at = is_kept ? UINT64_MAX : s->spill.put(s->spill.ctx, p, bytes);

	if (at == UINT64_MAX) {
		if (s)
			s->kept_bytes += bytes;
		return (uintptr_t)p;
	}
	s->spilled_bytes += bytes;
	mem_free(p);
	return (uintptr_t)at | IS_SPILLED;
}

static bool close_group(struct who_runs *l)
{
	size_t bytes, cap = l->groups.cap;
	uint8_t *p;

	if (!vec_reserve(&l->groups, l->groups.nr + 1))
		return false;
	p = seal(l, &bytes);
	if (!p)
		return false;
	if (l->store)
		l->store->index_bytes += (l->groups.cap - cap) * sizeof(*l->groups.data);
	l->groups.data[l->groups.nr++] =
		(struct who_run_group){l->blocks[0].from, place(l->store, p, bytes)};
	l->bytes.nr = 0;
	return true;
}

static bool begin_block(struct who_runs *l, struct clew_perf_ns from)
{
	if (l->nr % BLOCK_RUNS)
		return true;
	if (l->nr && l->nr % GROUP_RUNS == 0 && !close_group(l))
		return false;
	l->last = from;
	l->last_id = (struct who_local_id){0};
	l->blocks[l->nr % GROUP_RUNS / BLOCK_RUNS] = (struct who_run_block){from, l->bytes.nr};
	return true;
}

bool who_runs_end(struct who_runs *l)
{
	bool is_open = l->bytes.nr;

	if (is_open && !close_group(l))
		return false;
	vec_done(&l->bytes);
	return true;
}

void who_runs_map(struct who_runs *l, const uint8_t *base)
{
	vec_for_each (&l->groups, g) {
		if (g->where & IS_SPILLED)
			g->where += (uintptr_t)base;
	}
}

bool who_runs_add(struct who_runs *l, const struct who_run *r)
{
	struct clew_perf_ns from = l->nr && r->from.ns < l->last.ns ? l->last : r->from;
	uint8_t *p;

	if (!begin_block(l, from) || !vec_reserve(&l->bytes, l->bytes.nr + MAX_RUN_BYTES))
		return false;
	p = l->bytes.data + l->bytes.nr;
	*p++ = flags_of(r);
	p = put_number(p, from.ns - l->last.ns);
	if (r->kind == WHO_RUN_THREAD) {
		p = put_number(p, with_sign((int64_t)r->id.n - l->last_id.n));
		l->last_id = r->id;
	}
	if (r->has_root)
		p = put_number(p, r->root.n);
	l->bytes.nr = (size_t)(p - l->bytes.data);
	l->last = from;
	l->nr++;
	return true;
}

/* --- reading --- */

static const struct who_run_block *blocks_of(const struct who_runs *l, uint64_t group)
{
	return (const struct who_run_block *)(l->groups.data[group].where & ~(uintptr_t)IS_SPILLED);
}

/** Enter the block that begins with run @p c->index. @return the base of its times. */
static struct clew_perf_ns enter_block(struct who_run_cursor *c)
{
	const struct who_run_block *blocks = blocks_of(c->line, c->index / GROUP_RUNS),
				   *b = &blocks[c->index % GROUP_RUNS / BLOCK_RUNS];

	c->at = (const uint8_t *)(blocks + WHO_GROUP_BLOCKS) + b->at;
	c->last_id = (struct who_local_id){0};
	return b->from;
}

/** The run at c->at into next; @p last is when the one before began. */
static void read_next(struct who_run_cursor *c, struct clew_perf_ns last)
{
	const uint8_t *p;
	uint8_t flags;
	uint64_t v;

	if (c->index % BLOCK_RUNS == 0)
		last = enter_block(c);
	p = c->at;
	flags = *p++;
	c->next = (struct who_run){.kind = flags & KIND_MASK,
				   .end = flags >> END_SHIFT & 3,
				   .is_backward = flags & IS_BACKWARD,
				   .is_sched = flags & IS_SCHED,
				   .has_root = flags & HAS_ROOT};
	p = get_number(p, &v);
	c->next.from.ns = last.ns + v;
	if (c->next.kind == WHO_RUN_THREAD) {
		p = get_number(p, &v);
		c->last_id.n = (int32_t)(c->last_id.n + without_sign(v));
		c->next.id = c->last_id;
	}
	if (c->next.has_root) {
		p = get_number(p, &v);
		c->next.root.n = (uint32_t)v;
	}
	c->at = p;
	c->index++;
}

bool who_runs_next(struct who_run_cursor *c)
{
	if (!c->has_next)
		return false;
	c->prev = c->run;
	c->has_prev = true;
	c->run = c->next;
	c->has_next = c->index < c->line->nr;
	if (c->has_next)
		read_next(c, c->run.from);
	return true;
}

static bool begin(const struct who_runs *l, uint64_t block, struct who_run_cursor *c)
{
	*c = (struct who_run_cursor){.line = l};
	if (!l->nr)
		return false;
	c->index = block * BLOCK_RUNS;
	read_next(c, (struct clew_perf_ns){0});
	c->has_next = true;
	who_runs_next(c);
	c->has_prev = false;
	return true;
}

bool who_runs_first(const struct who_runs *l, struct who_run_cursor *c)
{
	return begin(l, 0, c);
}

/** How many blocks begin before @p time. */
static uint64_t blocks_before(const struct who_runs *l, struct clew_perf_ns time)
{
	size_t nr = search_first(l->groups.nr, i, l->groups.data[i].from.ns >= time.ns), nr_blocks;
	const struct who_run_block *b;

	if (!nr)
		return 0;
	b = blocks_of(l, --nr);
	nr_blocks = nr + 1 < l->groups.nr ? (size_t)WHO_GROUP_BLOCKS
					  : (l->nr - nr * GROUP_RUNS + BLOCK_RUNS - 1) / BLOCK_RUNS;
	return nr * WHO_GROUP_BLOCKS + search_first(nr_blocks, i, b[i].from.ns >= time.ns);
}

bool who_runs_seek(const struct who_runs *l, struct clew_perf_ns time, struct who_run_cursor *c)
{
	uint64_t nr = blocks_before(l, time);

	/* A block early, so that the run before is known. */
	return begin(l, nr > 1 ? nr - 2 : 0, c);
}

bool who_runs_find(const struct who_runs *l, struct clew_perf_ns time, struct who_run_cursor *c)
{
	if (!who_runs_seek(l, time, c))
		return false;
	while (c->has_next && c->next.from.ns <= time.ns)
		who_runs_next(c);
	return c->run.from.ns <= time.ns;
}

void who_runs_done(struct who_runs *l)
{
	vec_for_each (&l->groups, g) {
		if (!(g->where & IS_SPILLED))
			mem_free((void *)g->where);
	}
	vec_done(&l->groups);
	vec_done(&l->bytes);
	*l = (struct who_runs){.store = l->store};
}
