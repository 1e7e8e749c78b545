/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_losses.h"

#include "analyze/ana_read.h"
#include "base/u64.h"
#include "perfdata/perf_record.h"

enum { MAX_CPUS = 1 << 16, MAX_THREADS = 1 << 20, MAX_LOSSES = 1 << 16 };

/* Of the ring, when its newest record was; NULL: no memory, or more rings than are kept. */
static uint64_t *newest_of(struct ana_losses *x, uint32_t cpu, uint32_t tid)
{
	uint64_t *known;

	if (cpu < MAX_CPUS)
		return vec_reach(&x->of_cpu, cpu + 1u) ? &x->of_cpu.data[cpu] : NULL;
	known = map_u64_get(&x->of_thread, tid);
	if (known || x->of_thread.nr >= MAX_THREADS || !map_u64_put(&x->of_thread, tid, 0))
		return known;
	return map_u64_get(&x->of_thread, tid);
}

/* Damaged recordings have late records. */
static void advance(uint64_t *newest, uint64_t time)
{
	if (newest && *newest < time)
		*newest = time;
}

bool ana_losses_sample(struct ana_losses *x, uint32_t cpu, uint32_t tid, uint64_t time)
{
	uint64_t *newest;

	if (time == UINT64_MAX)
		return true;
	newest = newest_of(x, cpu, tid);
	advance(newest, time);
	return newest || x->of_thread.nr >= MAX_THREADS;
}

static enum clew_err add(struct ana_losses *x, const struct perf_sample_id *id, uint64_t nr,
			 uint64_t time)
{
	uint64_t *newest = newest_of(x, id->cpu, id->tid);
	bool is_known = newest && *newest && *newest < time;
	struct ana_loss l = {.from = {is_known ? *newest : time},
			     .to = {time},
			     .cpu = id->cpu,
			     .tid = id->cpu < MAX_CPUS ? UINT32_MAX : id->tid,
			     .nr = nr};

	advance(newest, time);
	x->sums.nr++;
	x->sums.nr_records = u64_sum(x->sums.nr_records, nr);
	x->sums.ns = u64_sum(x->sums.ns, time - l.from.ns);
	return x->all.nr >= MAX_LOSSES || vec_push(&x->all, l) ? CLEW_OK : CLEW_NO_MEMORY;
}

/*
 * What found no room is counted twice from Linux 6.0 on: in a LOST record as soon as there is room
 * again, and by event (PERF_FORMAT_LOST), which the recorder reads and writes at the end as
 * LOST_SAMPLES without a time. The last loss of a ring is in the second one alone. What a BPF
 * filter did not want is no loss.
 */
enum clew_err ana_losses_take(struct ana_losses *x, const struct perf_record *r,
			      const struct perf_sample_id *id, struct clew_perf_ns time)
{
	bool has_place = ana_has_place(time);
	struct perf_lost l;
	uint64_t *to;

	if (perf_lost_parse(r, &l) != CLEW_OK)
		return CLEW_BAD_FILE;
	to = l.is_bpf_filtered           ? &x->bpf_filtered
	   : r->type == PERF_RECORD_LOST ? &x->noted
	   : has_place                   ? &x->dropped
					 : &x->totals;
	*to = u64_sum(*to, l.lost);
	return has_place && l.lost && !l.is_bpf_filtered ? add(x, id, l.lost, time.ns) : CLEW_OK;
}

uint64_t ana_losses_nr(const struct ana_losses *x)
{
	return u64_sum(x->noted > x->totals ? x->noted : x->totals, x->dropped);
}

void ana_losses_done(struct ana_losses *x)
{
	vec_done(&x->of_cpu);
	map_u64_done(&x->of_thread);
	vec_done(&x->all);
}
