/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_events_impl.h"

/* Which of the recorded fields the events made of the trace have, too.
 * Spec: tools/perf/util/cs-etm.c, cs_etm__synth_events (Linux 6.1). */
#define KEPT_FIELDS                                                                         \
 (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | \
  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER)

/* A snapshot's ticks have no clock to go by. */
static bool has_times(const struct trace_events *e)
{
	const struct trace_input *t = e->trace;

	if (e->opts.itrace.is_timeless || !(e->opts.recorded || e->opts.itrace.is_kernel_time))
		return false;
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].is_decodable && t->units[i].has_timestamps)
			return true;
	}
	return false;
}

static bool has_cpus(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].cpu != UINT32_MAX)
			return true;
	}
	return false;
}

/* As perf does it for Intel PT alone. */
static bool is_of_threads(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		const struct trace_unit *u = &t->units[i];

		if (!u->decoder || u->decoder->arch != CODE_X86 || u->cpu != UINT32_MAX)
			return false;
	}
	return t->nr_units;
}

/* The event that recorded the trace: the first of a PMU of its own. */
static const struct perf_evsel *source_of(const struct perf_evlist *l)
{
	for (size_t i = 0; l && i < l->evsels.nr; i++) {
		if (l->evsels.data[i]->attr.type >= PERF_TYPE_MAX_STATIC)
			return l->evsels.data[i];
	}
	return NULL;
}

struct perf_attr trace_events_attr(const struct trace_events *e)
{
	const struct perf_evsel *from = source_of(e->opts.recorded);
	struct perf_attr a = {.type = PERF_TYPE_HARDWARE, .size = sizeof(a)};

	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	if (from) {
		a.sample_type |= PERF_SAMPLE_TID | (from->attr.sample_type & KEPT_FIELDS);
		a.flags = from->attr.flags & (PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_KERNEL |
					      PERF_ATTR_EXCLUDE_HV | PERF_ATTR_EXCLUDE_HOST |
					      PERF_ATTR_EXCLUDE_GUEST | PERF_ATTR_SAMPLE_ID_ALL);
		a.read_format = from->attr.read_format;
	} else if (has_cpus(e->trace)) {
		a.sample_type |= PERF_SAMPLE_CPU;
	}
	if (is_of_threads(e->trace))
		a.sample_type &= ~(uint64_t)PERF_SAMPLE_CPU;
	if (has_times(e))
		a.sample_type |= PERF_SAMPLE_TIME;
	else
		a.sample_type &= ~(uint64_t)PERF_SAMPLE_TIME;
	return a;
}
