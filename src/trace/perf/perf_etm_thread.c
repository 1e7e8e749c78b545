/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/perf_etm_thread.h"

#include "base/search.h"
#include "perfdata/perf_clock.h"
#include "trace/perf/perf_etm_impl.h"

enum {
	TS_SOURCE_VIRTUAL = 1, /* TRFCR_EL1.TS: CNTVCT, the clock of TIME_CONV */
	MAX_SAME_TIME = 1024,  /* chunks of one instant that are looked at: one a CPU is real */
};

bool pe_time(const struct perf_etm *p, uint32_t unit, uint64_t ticks, uint64_t *ret_ns)
{
	const struct pe_cpu *c = &p->meta.cpus.data[p->more[unit].cpu_index];
	struct clew_cntvct t = {ticks};
	struct clew_perf_ns ns;

	if (!p->has_time_conv || c->ts_source != TS_SOURCE_VIRTUAL || !ticks ||
	    !perf_ns_of_cntvct(&p->time_conv, t, &ns))
		return false;
	*ret_ns = ns.ns;
	return true;
}

/** The chunk of trace that ended at @p bound, and that may hold some of the unit's. */
static const struct pe_chunk *chunk_at(const struct perf_etm *p, uint32_t cpu, uint64_t bound)
{
	const struct pe_chunk *c = p->queues.chunks.data, *other = NULL;
	size_t nr = p->queues.chunks.nr, at = search_first(nr, i, c[i].time >= bound);

	for (size_t end = at + MAX_SAME_TIME; at < nr && at < end && c[at].time == bound; at++) {
		if (c[at].buffer == PE_NONE)
			continue;
		if (c[at].cpu == cpu)
			return &c[at];
		if (!other && !pe_chunk_is_raw(&c[at]))
			other = &c[at];
	}
	return other;
}

struct pe_span pe_span_of(const struct perf_etm *p, uint32_t unit, uint64_t ticks, uint64_t bound)
{
	uint32_t cpu = p->meta.cpus.data[p->more[unit].cpu_index].cpu;
	struct pe_span s = {.to = bound ? bound : UINT64_MAX};
	uint64_t ns;

	s.chunk = bound ? chunk_at(p, cpu, bound) : NULL;
	if (s.chunk)
		s.from = s.chunk->since;
	if (p->has_clock && pe_time(p, unit, ticks, &ns) && ns <= s.to) {
		s.from = ns;
		s.is_ticks = true;
	}
	return s;
}

/** The time to ask the history for. */
uint64_t pe_span_time(const struct pe_span *s)
{
	return s->is_ticks ? s->from : s->to;
}

/*
 * In order: the register the trace carries; the thread whose events these are, when they follow
 * threads; who was switched to on that CPU.
 */
uint32_t pe_tid_of(const struct perf_etm *p, uint32_t unit, const struct pe_span *s, bool has_cid,
		   uint32_t cid, bool has_vmid, uint32_t vmid)
{
	const struct pe_unit *u = &p->more[unit];
	uint32_t cpu = p->meta.cpus.data[u->cpu_index].cpu;
	uint64_t at = pe_span_time(s);

	if (u->pid_format == PE_PID_CID2 && has_vmid)
		return vmid;
	if (u->pid_format == PE_PID_CID && has_cid)
		return cid;
	if (p->is_of_tasks)
		return s->chunk ? s->chunk->tid : PE_NONE;
	return who_history_runner(&p->history, cpu, s->is_ticks ? at : s->from, at);
}
