/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_order.h"

#include <assert.h>

#include "base/map_u64.h"
#include "base/mem.h"
#include "base/search.h"

enum { DEFAULT_LIMIT = 4 << 20 };

struct entry { /* the record's type is read again from its bytes, and its size: `resized` */
	uint64_t time;
	const uint8_t *data;
	struct perf_block *block;
	uint64_t offset : 48; /* no file is larger */
	uint64_t misc   : 16; /* the reader may have changed it */
};

struct entries {
	VEC(struct entry);
};

/** The two newest times. */
struct newest {
	uint64_t first, second;
	uint64_t nr; /* times that were first or second: 2 and more: both are there */
};

enum {
	ENTRY_BYTES = 3 * 2 * sizeof(struct entry), /* of three lists, which double */
	MIN_LIMIT = 1 << 14,
};

struct perf_order {
	struct entries sorted;   /* by time, equal times in file order; [first, ready) may go */
	struct entries incoming; /* in file order, since the last sort */
	struct entries scratch;
	struct map_u64 resized; /* address -> size that the reader gave, where it is another */
	size_t first, ready;
	uint64_t limit;
	struct newest samples, others; /* of this round */
	struct newest last;            /* of the round before */
	uint64_t promised;             /* no record to come is older */
	uint64_t newest_popped;
	bool swap, was_refused;
	struct budget *budget;
	struct perf_order_counts counts;
};

struct perf_order *perf_order_new(uint64_t limit)
{
	struct perf_order *o = mem_zalloc(sizeof(*o));

	if (o)
		o->limit = limit ? limit : DEFAULT_LIMIT;
	return o;
}

void perf_order_set_budget(struct perf_order *o, struct budget *budget)
{
	uint64_t most = budget_part(budget, UINT64_MAX) / ENTRY_BYTES;

	o->budget = budget;
	if (most < MIN_LIMIT)
		most = MIN_LIMIT;
	if (o->limit > most)
		o->limit = most;
}

static void release_all(const struct entries *v, size_t from)
{
	for (size_t i = from; i < v->nr; i++)
		perf_block_release(v->data[i].block);
}

void perf_order_free(struct perf_order *o)
{
	if (!o)
		return;
	release_all(&o->sorted, o->first);
	release_all(&o->incoming, 0);
	vec_done(&o->sorted);
	vec_done(&o->incoming);
	vec_done(&o->scratch);
	map_u64_done(&o->resized);
	mem_free(o);
}

/* Merge the sorted a[0, na) and a[na, na + nb) into out; of equal times those of the first part
 * come first. */
static void merge(const struct entry *a, size_t na, size_t nb, struct entry *out)
{
	const struct entry *b = a + na, *a_end = b, *b_end = b + nb;

	while (a < a_end && b < b_end)
		*out++ = b->time < a->time ? *b++ : *a++;
	memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
	out += a_end - a;
	memcpy(out, b, (size_t)(b_end - b) * sizeof(*b));
}

static size_t run_length(const struct entry *e, size_t n)
{
	size_t i = 1;

	while (i < n && e[i - 1].time <= e[i].time)
		i++;
	return n ? i : 0;
}

/* One pass of a natural merge sort: neighbouring runs become one. @return the number of runs left.
 */
static size_t merge_runs(const struct entry *from, struct entry *to, size_t n)
{
	size_t runs = 0;

	for (size_t at = 0; at < n; runs++) {
		size_t na = run_length(from + at, n - at),
		       nb = run_length(from + at + na, n - at - na);

		merge(from + at, na, nb, to + at);
		at += na + nb;
	}
	return runs;
}

/*
 * Sort what is waiting together with what came in. The input is a few ascending runs, one per CPU
 * buffer, so few passes do. Needs scratch to be as large as both.
 */
static void sort_all(struct perf_order *o)
{
	size_t kept = o->sorted.nr - o->first, n = kept + o->incoming.nr;
	struct entries swap;

	assert(o->sorted.cap >= n && o->scratch.cap >= n); /* perf_order_push() reserved both */
	if (!n) {
		o->sorted.nr = o->first = o->ready = 0;
		return;
	}
	memmove(o->sorted.data, o->sorted.data + o->first, kept * sizeof(struct entry));
	memcpy(o->sorted.data + kept, o->incoming.data, o->incoming.nr * sizeof(struct entry));
	o->sorted.nr = n;
	o->incoming.nr = o->first = o->ready = 0;
	while (run_length(o->sorted.data, n) < n) {
		merge_runs(o->sorted.data, o->scratch.data, n);
		o->scratch.nr = n;
		swap = o->sorted;
		o->sorted = o->scratch;
		o->scratch = swap;
	}
}

/* First index with a time above @p time. */
static size_t upper_bound(const struct entries *v, uint64_t time)
{
	return search_first(v->nr, i, v->data[i].time > time);
}

/* One record may keep a large block: only when all have gone it is free again. */
static void let_all_go(struct perf_order *o)
{
	sort_all(o);
	o->ready = o->sorted.nr;
	if (!o->was_refused)
		budget_refuse(o->budget, 0, "a part of the order in time of", "");
	o->was_refused = true;
}

static struct entry entry_of(const struct perf_record *r, uint64_t time)
{
	return (struct entry){.time = time,
			      .data = r->data,
			      .block = r->block,
			      .offset = r->offset & (((uint64_t)1 << 48) - 1),
			      .misc = r->misc};
}

static void note_time(struct newest *n, uint64_t time)
{
	if (time > n->first || !n->nr) {
		n->second = n->first;
		n->first = time;
		n->nr++;
	} else if (time > n->second || n->nr == 1) {
		n->second = time;
		n->nr++;
	}
}

static __attribute__((noinline)) bool keep_resized(struct perf_order *o,
						   const struct perf_record *r)
{
	return map_u64_put(&o->resized, (uintptr_t)r->data, r->size);
}

static inline bool keep_size(struct perf_order *o, const struct perf_record *r)
{
	return __builtin_expect(r->size == load_u16(r->data + 6, r->swap), 1) || keep_resized(o, r);
}

/* Of the record that was just popped: few have another size than their bytes say. */
static __attribute__((noinline)) bool take_resized(struct perf_order *o, struct perf_record *r)
{
	const uint64_t *kept = map_u64_get(&o->resized, (uintptr_t)r->data);

	if (kept) {
		r->size = (uint16_t)*kept;
		map_u64_remove(&o->resized, (uintptr_t)r->data);
	}
	return true;
}

enum clew_err perf_order_push(struct perf_order *o, const struct perf_record *r, uint64_t time)
{
	size_t waiting = o->sorted.nr - o->first + o->incoming.nr + 1;

	if (!vec_reserve(&o->sorted, waiting + o->first) || !vec_reserve(&o->scratch, waiting) ||
	    !keep_size(o, r) || !vec_push(&o->incoming, entry_of(r, time)))
		return CLEW_NO_MEMORY;
	perf_block_hold(r->block);
	o->swap = r->swap;
	note_time(r->type == PERF_RECORD_SAMPLE ? &o->samples : &o->others, time);
	if (waiting > o->counts.peak_queue)
		o->counts.peak_queue = waiting;
	if (r->block && budget_holds_much(o->budget)) {
		let_all_go(o);
	} else if (waiting >= o->limit) {
		sort_all(o);
		o->ready = (o->sorted.nr + 1) / 2;
	}
	return CLEW_OK;
}

/*
 * No record of later rounds is older than the newest of the round before this one. A damaged record
 * may have any time, and one too far ahead would let all others go early: so samples alone count
 * where a round has any, and where all of this round are older than the newest of the one before,
 * the second newest counts. To wait for longer does no harm. Two marks in a row let all go.
 */
static void end_round(struct perf_order *o)
{
	const struct newest now = o->samples.nr ? o->samples : o->others;
	const struct newest *last = &o->last;

	if (last->nr && (!now.nr || last->first <= now.first))
		o->promised = last->first;
	else if (last->nr > 1)
		o->promised = last->second;
	if (now.nr)
		o->last = now;
	o->samples = o->others = (struct newest){0};
}

void perf_order_round(struct perf_order *o)
{
	sort_all(o);
	end_round(o);
	o->ready = upper_bound(&o->sorted, o->promised);
}

void perf_order_finish(struct perf_order *o)
{
	sort_all(o);
	o->ready = o->sorted.nr;
}

bool perf_order_pop(struct perf_order *o, struct perf_record *ret, uint64_t *ret_time)
{
	const struct entry *e;

	if (o->first >= o->ready)
		return false;
	e = &o->sorted.data[o->first++];
	*ret = (struct perf_record){
		.data = e->data,
		.type = load_u32(e->data, o->swap),
		.misc = e->misc,
		.size = load_u16(e->data + 6, o->swap),
		.swap = o->swap,
		.offset = e->offset,
		.block = e->block,
	};
	*ret_time = e->time;
	if (e->time < o->newest_popped)
		o->counts.nr_late++;
	else
		o->newest_popped = e->time;
	return __builtin_expect(o->resized.nr == 0, 1) || take_resized(o, ret);
}

const struct perf_order_counts *perf_order_counts(const struct perf_order *o)
{
	return &o->counts;
}
