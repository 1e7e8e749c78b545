/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_steps.h"

void ana_step_event(const struct ana_batch *b, const struct ana_event *ev, size_t i,
		    struct ana_step_event *ret)
{
	const struct ana_step *step = &b->steps[ev->steps->ids[i]];

	ret->event = *ev;
	ret->event.steps = NULL;
	ret->event.record.misc = step->misc;
	ret->event.sample = &ret->sample;
	ret->event.synth = &ret->synth;
	ret->event.loc = step->loc;
	ret->event.addr = step->to;
	ret->sample = (struct perf_sample){
		.sample_type = ev->evsel->attr.sample_type,
		.ip = step->ip,
		.addr = step->addr,
		.time = ev->time.ns,
		.id = UINT64_MAX,
		.stream_id = UINT64_MAX,
		.period = ev->period,
		.pid = ev->pid,
		.tid = ev->tid,
		.cpu = ev->cpu,
		.misc = step->misc,
	};
	ret->synth = (struct ana_synth){
		.flow = step->flow,
		.depth = ev->steps->depths[i],
		.isa = step->isa,
		.insn_bytes = step->insn_bytes,
	};
	memcpy(ret->synth.insn, step->insn, sizeof(step->insn));
}
