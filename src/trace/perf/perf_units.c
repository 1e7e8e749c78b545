/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "trace/perf/perf_trace_impl.h"

/** A unit's name, and the code it ran. */
struct unit_parts {
	char name[24];
	struct trace_unit_code code;
};

bool perf_trace_add_unit(struct perf_trace *p, const struct trace_unit *u)
{
	struct unit_parts *parts = arena_zalloc(&p->memory, sizeof(*parts));
	uint32_t index = (uint32_t)p->units.nr;
	struct trace_unit unit = *u;

	if (!parts)
		return false;
	if (u->cpu == AUX_NONE)
		snprintf(parts->name, sizeof(parts->name), "thread %u", u->tid);
	else
		snprintf(parts->name, sizeof(parts->name), "cpu %u", u->cpu);
	parts->code = (struct trace_unit_code){
		p,
		index,
		{.space = trace_code_space,
		  .find = trace_code_find,
		  .ctx = &parts->code,
		  .why = trace_code_why,
		  .landmark = trace_code_landmark}
        };
	unit.name = parts->name;
	unit.code = &parts->code.source;
	return vec_push(&p->units, unit);
}

void perf_trace_set_filters(struct perf_trace *p, uint32_t unit, const struct aux_filters *filters)
{
	struct trace_unit_code *code = p->units.data[unit].code->ctx;

	code->filters = filters;
	code->source.is_traced = trace_code_is_traced;
}

static bool note_cpus(struct perf_trace *p, uint32_t protocol)
{
	const struct aux_units *u = &p->protocols[protocol];

	for (uint32_t i = u->first; i < u->first + u->nr; i++) {
		uint64_t key = perf_trace_cpu_key(protocol, p->units.data[i].cpu);

		if (!map_u64_put(&p->by_cpu, key, i))
			return false;
	}
	return true;
}

bool perf_trace_make_units(struct perf_trace *p)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < p->nr_protocols; i++) {
		struct aux_units *u = &p->protocols[i];

		u->first = (uint32_t)p->units.nr;
		ok = u->protocol->add_units(u->units, p);
		u->nr = (uint32_t)p->units.nr - u->first;
		ok = ok && note_cpus(p, i);
	}
	p->trace.units = p->units.data;
	p->trace.nr_units = p->units.nr;
	return ok;
}
