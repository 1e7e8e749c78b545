/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_runs.h"

#include "base/search.h"

/*
 * A run: a byte of flags, then numbers of 7 bits a byte, low ones first: ns since the last one's
 * begin; of a thread its id, less that of the thread before, with the sign lowest; its root id.
 * Each block begins as if the last time was the block's and the last id 0.
 */

enum { BLOCK_RUNS = 64, MAX_RUN_BYTES = 1 + 10 + 5 + 5 };

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

static bool begin_block(struct who_runs *l, struct clew_perf_ns from)
{
	if (l->nr % BLOCK_RUNS)
		return true;
	l->last = from;
	l->last_id = (struct who_local_id){0};
	return vec_push(&l->blocks, (struct who_run_block){from, l->bytes.nr});
}

bool who_runs_add(struct who_runs *l, const struct who_run *r)
{
	struct clew_perf_ns from = l->nr && r->from.ns < l->last.ns ? l->last : r->from;
	uint8_t *p;

	if (!vec_reserve(&l->bytes, l->bytes.nr + MAX_RUN_BYTES) || !begin_block(l, from))
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

void who_runs_done(struct who_runs *l)
{
	vec_done(&l->bytes);
	vec_done(&l->blocks);
	*l = (struct who_runs){0};
}

uint64_t who_runs_bytes(const struct who_runs *l)
{
	return l->bytes.cap + l->blocks.cap * sizeof(*l->blocks.data);
}

/** The run at c->at into next; @p last is when the one before began. */
static void read_next(struct who_run_cursor *c, struct clew_perf_ns last)
{
	const uint8_t *p = c->line->bytes.data + c->at;
	uint8_t flags = *p++;
	uint64_t v;

	if (c->index % BLOCK_RUNS == 0) {
		last = c->line->blocks.data[c->index / BLOCK_RUNS].from;
		c->last_id = (struct who_local_id){0};
	}
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
	c->at = (uint64_t)(p - c->line->bytes.data);
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

static bool begin(const struct who_runs *l, size_t block, struct who_run_cursor *c)
{
	*c = (struct who_run_cursor){.line = l};
	if (!l->nr)
		return false;
	c->at = l->blocks.data[block].at;
	c->index = (uint64_t)block * BLOCK_RUNS;
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

bool who_runs_seek(const struct who_runs *l, struct clew_perf_ns time, struct who_run_cursor *c)
{
	size_t after = search_first(l->blocks.nr, i, l->blocks.data[i].from.ns >= time.ns);

	/* A block early, so that the run before is known. */
	return begin(l, after > 1 ? after - 2 : 0, c);
}
