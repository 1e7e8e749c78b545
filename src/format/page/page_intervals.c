/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_intervals.h"

#include "base/err.h"
#include "os/create.h"
#include "os/file.h"
#include "perfdata/perf_record.h"

enum { UNKNOWN = PAGE_NR_INTERVAL_KINDS, NR_LENGTHS = 65 /* by the number of bits */ };

void page_intervals_done(struct page_intervals *v)
{
	if (v->fd > 0)
		os_close(v->fd);
	map_u64_done(&v->state_of);
	vec_done(&v->states);
}

static unsigned int bits_of(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
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

static enum clew_err put(struct page_intervals *v, const struct page_interval *state,
			 uint64_t first, uint64_t end)
{
	uint64_t from = state->end > first ? state->end : first;
	struct page_interval i = *state;

	if (!first || state->kind == UNKNOWN || end <= from)
		return CLEW_OK;
	i.end = end;
	i.length = end - from;
	v->nr++;
	v->batch[v->nr_waiting++] = i;
	return v->nr_waiting == PAGE_INTERVAL_BATCH ? flush(v) : CLEW_OK;
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

enum clew_err page_intervals_each(struct page_intervals *v, const struct map_u64 *thread_of,
				  void (*take)(void *ctx, const struct page_interval *i), void *ctx)
{
	size_t n;

	for (uint64_t at = 0; at < v->nr; at += n) {
		n = v->nr - at < PAGE_INTERVAL_BATCH ? (size_t)(v->nr - at) : PAGE_INTERVAL_BATCH;
		v->os_errno = os_read_all_at(v->fd, v->batch, n * sizeof(*v->batch),
					     at * sizeof(*v->batch));
		if (v->os_errno)
			return CLEW_OS;
		for (size_t i = 0; i < n; i++) {
			const uint64_t *thread = map_u64_get(thread_of, v->batch[i].who);

			if (!thread || bits_of(v->batch[i].length) < v->least_bits)
				continue;
			v->batch[i].thread = (uint32_t)*thread;
			take(ctx, &v->batch[i]);
		}
	}
	return CLEW_OK;
}

static void count_length(void *ctx, const struct page_interval *i)
{
	uint64_t *of_length = ctx;

	of_length[bits_of(i->length)]++;
}

static enum clew_err choose_lengths(struct page_intervals *v, const struct map_u64 *thread_of,
				    uint64_t max)
{
	uint64_t of_length[NR_LENGTHS] = {0}, nr = 0;
	unsigned int least = NR_LENGTHS;
	enum clew_err err;

	if (v->nr <= max)
		return CLEW_OK;
	err = page_intervals_each(v, thread_of, count_length, of_length);
	while (least > 0 && nr + of_length[least - 1] <= max)
		nr += of_length[--least];
	v->least_bits = least;
	for (unsigned int i = 0; i < least; i++)
		v->nr_hidden += of_length[i];
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

enum clew_err page_intervals_finish(struct page_intervals *v, uint64_t first, uint64_t last,
				    const struct map_u64 *thread_of, uint64_t max)
{
	struct measured m = {v, first};
	enum clew_err err = CLEW_OK;

	last = v->last > last ? v->last : last;
	for (size_t i = 0; i < v->states.nr && err == CLEW_OK; i++)
		err = put(v, &v->states.data[i], first, last);
	if (err == CLEW_OK && v->nr)
		err = flush(v);
	if (err == CLEW_OK)
		err = choose_lengths(v, thread_of, max);
	return err == CLEW_OK ? page_intervals_each(v, thread_of, measure, &m) : err;
}
