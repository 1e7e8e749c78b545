/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_intervals.h"

#include "base/err.h"
#include "os/create.h"
#include "os/file.h"
#include "perfdata/perf_record.h"

enum {
	UNKNOWN = PAGE_NR_INTERVAL_KINDS,
	/* Lengths are counted by their highest bit and the next ones. */
	FINE_BITS = 8,
	NR_LENGTHS = 65 << FINE_BITS
};

void page_intervals_done(struct page_intervals *v)
{
	if (v->fd > 0)
		os_close(v->fd);
	map_u64_done(&v->state_of);
	vec_done(&v->states);
}

static enum clew_err flush(struct page_intervals *v)
{
	if (!v->fd)
		v->fd = os_create_unnamed();
	if (v->fd < 0)
		v->os_errno = v->fd;
	if (!v->os_errno)
		v->os_errno = os_write_all(v->fd, v->batch, v->nr_waiting * sizeof(*v->batch));
	v->nr_waiting = 0;
	return v->os_errno ? CLEW_OS : CLEW_OK;
}

enum clew_err page_intervals_put(struct page_intervals *v, const struct page_interval *i)
{
	v->nr++;
	v->batch[v->nr_waiting++] = *i;
	return v->nr_waiting == PAGE_INTERVAL_BATCH ? flush(v) : CLEW_OK;
}

static enum clew_err put(struct page_intervals *v, const struct page_interval *state,
			 uint64_t first, uint64_t end)
{
	uint64_t from = state->end > first ? state->end : first;
	struct page_interval i = *state;

	if (!first || state->kind == UNKNOWN || end <= from)
		return CLEW_OK;
	i.end = end;
	i.length = end - from;
	return page_intervals_put(v, &i);
}

/* NULL: no memory. */
static struct page_interval *state_of(struct page_intervals *v, uint64_t who)
{
	uint64_t *at = map_u64_get(&v->state_of, who);

	if (at)
		return &v->states.data[*at];
	if (!vec_push(&v->states, (struct page_interval){.who = who, .kind = UNKNOWN}) ||
	    !map_u64_put(&v->state_of, who, v->states.nr - 1))
		return NULL;
	return &v->states.data[v->states.nr - 1];
}

static bool next_kind(const struct ana_event *e, uint8_t *ret)
{
	struct perf_switch s;

	*ret = UNKNOWN;
	if (e->record.type == PERF_RECORD_EXIT)
		return true;
	if ((e->record.type != PERF_RECORD_SWITCH &&
	     e->record.type != PERF_RECORD_SWITCH_CPU_WIDE) ||
	    perf_switch_parse(&e->record, &s) != CLEW_OK)
		return false;
	*ret = !s.is_out ? PAGE_RUNNING : s.is_preempt ? PAGE_RUNNABLE : PAGE_SLEEPING;
	return true;
}

enum clew_err page_intervals_record(struct page_intervals *v, const struct ana_event *e,
				    uint64_t first)
{
	struct page_interval *state;
	enum clew_err err;
	uint8_t kind;

	if (!next_kind(e, &kind) || !e->tid || e->tid == UINT32_MAX)
		return CLEW_OK; /* what is idle is no thread */
	state = state_of(v, (uint64_t)e->pid << 32 | e->tid);
	if (!state)
		return CLEW_NO_MEMORY;
	err = put(v, state, first, e->time.ns);
	if (e->time.ns > v->last)
		v->last = e->time.ns;
	state->end = e->time.ns;
	state->kind = kind;
	return err;
}

struct page_interval *page_intervals_next(struct page_interval_reader *r)
{
	struct page_intervals *v = r->of;
	uint64_t left = v->nr - r->at;

	if (r->next < r->nr)
		return &r->batch[r->next++];
	r->nr = left < PAGE_INTERVAL_BATCH ? (size_t)left : PAGE_INTERVAL_BATCH;
	r->next = 0;
	if (!r->nr)
		return NULL;
	v->os_errno = os_read_all_at(v->fd, r->batch, r->nr * sizeof(*r->batch),
				     r->at * sizeof(*r->batch));
	r->at += r->nr;
	return v->os_errno ? NULL : &r->batch[r->next++];
}

enum clew_err page_intervals_each(struct page_intervals *v, const struct map_u64 *thread_of,
				  void (*take)(void *ctx, const struct page_interval *i), void *ctx)
{
	struct page_interval_reader r = {.of = v};
	struct page_interval *i;

	while ((i = page_intervals_next(&r))) {
		const uint64_t *thread = thread_of ? map_u64_get(thread_of, i->who) : &i->who;

		if (!thread || i->length < v->least)
			continue;
		i->thread = (uint32_t)*thread;
		take(ctx, i);
	}
	return v->os_errno ? CLEW_OS : CLEW_OK;
}

/* As a number of few digits: its highest bit, and those after it. */
static uint32_t length_class(uint64_t length)
{
	unsigned int bits = length ? 64 - (unsigned int)__builtin_clzll(length) : 0;
	uint64_t fine = bits > FINE_BITS + 1 ? length >> (bits - FINE_BITS - 1)
					     : length << (FINE_BITS + 1 - bits);

	return bits << FINE_BITS | (uint32_t)(fine & ((1 << FINE_BITS) - 1));
}

/* The smallest length of a class, or of the next one that has any. */
static uint64_t least_of(uint32_t class)
{
	unsigned int bits = class >> FINE_BITS, shift;
	uint64_t fine = (class & ((1 << FINE_BITS) - 1)) | 1 << FINE_BITS;

	if (!bits)
		return class ? 1 : 0;
	if (bits > FINE_BITS + 1)
		return fine << (bits - FINE_BITS - 1);
	shift = FINE_BITS + 1 - bits;
	return (fine + (1u << shift) - 1) >> shift;
}

struct lengths {
	uint64_t nr[NR_LENGTHS];
};

static void count_length(void *ctx, const struct page_interval *i)
{
	struct lengths *l = ctx;

	l->nr[length_class(i->length)]++;
}

static enum clew_err choose_lengths(struct page_intervals *v, const struct map_u64 *thread_of,
				    uint64_t max)
{
	struct lengths *l;
	uint32_t least = NR_LENGTHS;
	uint64_t nr = 0;
	enum clew_err err;

	if (v->nr <= max)
		return CLEW_OK;
	l = mem_zalloc(sizeof(*l));
	if (!l)
		return CLEW_NO_MEMORY;
	err = page_intervals_each(v, thread_of, count_length, l);
	while (least > 0 && nr + l->nr[least - 1] <= max)
		nr += l->nr[--least];
	v->least = least == NR_LENGTHS ? UINT64_MAX : least_of(least);
	for (uint32_t i = 0; i < least; i++)
		v->nr_hidden += l->nr[i];
	mem_free(l);
	return err;
}

struct measured {
	struct page_intervals *intervals;
	uint64_t last;
};

static void measure(void *ctx, const struct page_interval *i)
{
	struct measured *m = ctx;
	struct page_intervals *v = m->intervals;
	uint64_t gap = i->end > m->last ? i->end - m->last : 0;

	v->nr_shown++;
	if (gap > v->max_gap)
		v->max_gap = gap;
	if (i->length > v->max_length)
		v->max_length = i->length;
	m->last = i->end > m->last ? i->end : m->last;
}

enum clew_err page_intervals_choose(struct page_intervals *v, uint64_t first,
				    const struct map_u64 *thread_of, uint64_t max)
{
	struct measured m = {v, first};
	enum clew_err err = v->nr ? flush(v) : CLEW_OK;

	if (err == CLEW_OK)
		err = choose_lengths(v, thread_of, max);
	return err == CLEW_OK ? page_intervals_each(v, thread_of, measure, &m) : err;
}

enum clew_err page_intervals_finish(struct page_intervals *v, uint64_t first, uint64_t last,
				    const struct map_u64 *thread_of, uint64_t max)
{
	enum clew_err err = CLEW_OK;

	last = v->last > last ? v->last : last;
	for (size_t i = 0; i < v->states.nr && err == CLEW_OK; i++)
		err = put(v, &v->states.data[i], first, last);
	return err == CLEW_OK ? page_intervals_choose(v, first, thread_of, max) : err;
}
