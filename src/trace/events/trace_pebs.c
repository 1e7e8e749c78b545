/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"
#include "trace/events/trace_events_impl.h"

/* PEBS records that come with the trace (aux-output) as samples of their event.
 * Spec: Intel SDM volume 3, "Block Item Packet (BIP)", "Adaptive PEBS". */

/** BBP, Type. */
enum { BLOCK_REGS = 1, BLOCK_BASIC = 4, BLOCK_MEMORY = 5 };

enum { BASIC_IP = 0, BASIC_TSC = 2, MEMORY_ADDRESS = 0, MEMORY_LATENCY = 2 };

enum { ABI_64 = 2 };
/** Operation, level, snoop, lock and TLB are not available. */
#define MEM_UNKNOWN UINT64_C(0x1e05080021)

/** PEBS's number of a register, by perf's: PERF_REG_X86_AX to FLAGS, R8 to R15; -1: not in PEBS.
 * Spec: arch/x86/include/uapi/asm/perf_regs.h (Linux 6.1). */
static const int8_t pebs_regs[] = {
	2, 5, 3, 4, 8, 9, 7, 6, 1, 0, -1, -1, -1, -1, -1, -1, 10, 11, 12, 13, 14, 15, 16, 17,
};
enum { NR_REGS = sizeof(pebs_regs) };

const struct perf_evsel *trace_pebs_evsel(const struct trace_events *e)
{
	const struct perf_evlist *l = e->opts.recorded;
	const struct perf_evsel *ret = NULL;

	for (size_t i = 0; l && i < l->evsels.nr; i++) {
		if (!(l->evsels.data[i]->attr.flags & PERF_ATTR_AUX_OUTPUT))
			continue;
		if (ret)
			return NULL;
		ret = l->evsels.data[i];
	}
	return ret;
}

static void take(uint64_t *field, bool *has, uint64_t value)
{
	*field = value;
	*has = true;
}

void trace_pebs_item(struct trace_synth *s, const struct flow_event *e)
{
	struct trace_pebs *p = &s->pebs;
	unsigned int item = e->count & 0xff;

	switch (e->count >> 8) {
	case BLOCK_REGS:
		if (item >= TRACE_NR_PEBS_REGS)
			break;
		p->regs[item] = e->value;
		p->has_regs |= 1u << item;
		break;
	case BLOCK_BASIC:
		if (item == BASIC_IP)
			take(&p->ip, &p->has_ip, e->value);
		else if (item == BASIC_TSC)
			take(&p->tsc, &p->has_tsc, e->value);
		break;
	case BLOCK_MEMORY:
		if (item == MEMORY_ADDRESS)
			take(&p->address, &p->has_address, e->value);
		else if (item == MEMORY_LATENCY)
			take(&p->latency, &p->has_latency, e->value);
		break;
	default:
		break;
	}
}

/** Those of @p wanted that were written, in perf's order. @return false: no memory. */
static bool add_regs(struct trace_synth *s, uint64_t wanted, struct perf_sample *ret)
{
	const struct trace_pebs *p = &s->pebs;
	uint64_t *words = arena_alloc(&s->events->batch_memory, NR_REGS * sizeof(*words));
	uint32_t nr = 0;

	if (!words)
		return false;
	for (unsigned int i = 0; i < NR_REGS; i++) {
		if (!(wanted >> i & 1) || pebs_regs[i] < 0 || !(p->has_regs >> pebs_regs[i] & 1))
			continue;
		ret->regs_intr.mask |= UINT64_C(1) << i;
		words[nr++] = p->regs[pebs_regs[i]];
	}
	ret->regs_intr.abi = nr ? ABI_64 : 0;
	ret->regs_intr.words = (struct perf_words){.data = (const uint8_t *)words, .nr = nr};
	return true;
}

void trace_pebs_take(struct trace_synth *s, const struct flow_event *e)
{
	const struct perf_evsel *evsel = s->events->pebs;
	const struct trace_pebs *p = &s->pebs;
	struct trace_who who = *trace_exec_who(s);
	struct perf_sample with = {.weight = p->latency, .data_src = MEM_UNKNOWN};
	struct synth_fields t = {.ip = p->has_ip ? p->ip : e->end,
				 .addr = p->address,
				 .who = &who,
				 .space = s->space,
				 .period = 1};

	if (evsel && (p->has_ip || e->has_end)) {
		if (p->has_tsc)
			who.time = trace_events_time_or_none(s->events, s->index,
							     (struct clew_ticks){p->tsc});
		if (!(evsel->attr.flags & PERF_ATTR_FREQ) && evsel->attr.sample_period)
			t.period = evsel->attr.sample_period;
		t.loc = trace_locate(s->events, s->space, t.ip);
		if (s->events->opts.wants_addr && p->has_address)
			t.to = trace_locate(s->events, s->space, t.addr);
		if (add_regs(s, evsel->attr.sample_regs_intr, &with))
			trace_emit_recorded(s, evsel, &t, &with);
		else
			s->events->err = CLEW_NO_MEMORY;
	}
	s->pebs = (struct trace_pebs){0};
}
