/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "analyze/analyze_impl.h"
#include "perfdata/perf_record.h"

enum { MAX_CPUS = 1 << 20, MAX_GAPS = 1 << 16 };

/* NULL: no memory, or more CPUs than any machine. */
static struct ana_aux_cpu *cpu_of(struct ana_aux *x, uint32_t cpu)
{
	const struct ana_aux_cpu none = {
		.cpu = cpu, .first = clew_perf_ns_none(), .last = clew_perf_ns_none()};
	size_t i, nr = x->cpus.nr;

	if (!vec_reserve(&x->cpus, nr + 1) || !map_u64_number(&x->by_cpu, cpu, nr, MAX_CPUS, &i))
		return NULL;
	if (i == nr)
		x->cpus.data[x->cpus.nr++] = none;
	return &x->cpus.data[i];
}

static void end_gap(struct ana_aux *x, struct ana_aux_cpu *c, struct clew_perf_ns time)
{
	const uint64_t *at = map_u64_get(&x->open, c->cpu);
	struct ana_aux_gap *g = at ? &x->gaps.data[*at] : NULL;

	if (!g)
		return;
	map_u64_remove(&x->open, c->cpu);
	g->to = time;
	c->gap_ns += time.ns > g->from.ns ? time.ns - g->from.ns : 0;
}

static bool add_gap(struct ana_aux *x, struct ana_aux_cpu *c, struct clew_perf_ns time,
		    uint64_t flags)
{
	const struct ana_aux_gap g = {time, clew_perf_ns_none(), c->cpu, (uint32_t)flags};

	c->nr_gaps++;
	return x->gaps.nr >= MAX_GAPS ||
	       (vec_push(&x->gaps, g) && map_u64_put(&x->open, c->cpu, x->gaps.nr - 1));
}

/* A record says when its bytes end: tracing may have begun again any time before that. */
static bool take_gap(struct ana_aux *x, struct ana_aux_cpu *c, struct clew_perf_ns time,
		     uint64_t flags)
{
	if (!clew_perf_ns_is_known(time))
		return true;
	end_gap(x, c, time);
	return !(flags & PERF_AUX_FLAG_TRUNCATED) || add_gap(x, c, time, flags);
}

enum clew_err ana_aux_take(struct ana_aux *x, const struct perf_record *r,
			   const struct perf_sample_id *id)
{
	enum {
		DAMAGED = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION
	};
	struct ana_aux_cpu *c;
	struct perf_aux aux;

	if (perf_aux_parse(r, &aux) != CLEW_OK)
		return CLEW_BAD_FILE;
	c = cpu_of(x, id->cpu);
	if (!c)
		return x->cpus.nr >= MAX_CPUS ? CLEW_OK : CLEW_NO_MEMORY;
	c->nr++;
	c->nr_truncated += (aux.flags & PERF_AUX_FLAG_TRUNCATED) != 0;
	c->nr_partial += (aux.flags & PERF_AUX_FLAG_PARTIAL) != 0;
	c->nr_collision += (aux.flags & PERF_AUX_FLAG_COLLISION) != 0;
	if (aux.flags & DAMAGED)
		ana_note_time(&c->first, &c->last, (struct clew_perf_ns){id->time});
	return take_gap(x, c, (struct clew_perf_ns){id->time}, aux.flags) ? CLEW_OK
									  : CLEW_NO_MEMORY;
}

static int by_cpu(const void *a, const void *b)
{
	const struct ana_aux_cpu *x = a, *y = b;

	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct ana_aux_gap *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->from.ns > y->from.ns) - (x->from.ns < y->from.ns);
}

void ana_aux_sort(struct ana_aux *x)
{
	if (x->gaps.nr)
		qsort(x->gaps.data, x->gaps.nr, sizeof(*x->gaps.data), by_cpu_and_time);
	if (x->cpus.nr)
		qsort(x->cpus.data, x->cpus.nr, sizeof(*x->cpus.data), by_cpu);
}

void ana_aux_done(struct ana_aux *x)
{
	map_u64_done(&x->by_cpu);
	map_u64_done(&x->open);
	vec_done(&x->gaps);
	vec_done(&x->cpus);
}
