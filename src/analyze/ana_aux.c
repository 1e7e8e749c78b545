/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "analyze/analyze_impl.h"
#include "perfdata/perf_record.h"

enum { MAX_CPUS = 1 << 20 };

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
	return CLEW_OK;
}

static int by_cpu(const void *a, const void *b)
{
	const struct ana_aux_cpu *x = a, *y = b;

	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

void ana_aux_sort(struct ana_aux *x)
{
	if (x->cpus.nr)
		qsort(x->cpus.data, x->cpus.nr, sizeof(*x->cpus.data), by_cpu);
}

void ana_aux_done(struct ana_aux *x)
{
	map_u64_done(&x->by_cpu);
	vec_done(&x->cpus);
}
