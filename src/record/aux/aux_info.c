/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "perfdata/record_put.h"
#include "record/aux/aux_info_impl.h"
#include "record/aux/aux_map.h"
#include "record/plan/soft_pmu.h"

/* A record's size has 16 bits. */
enum { MAX_RECORD = UINT16_MAX / 8 * 8 };

uint64_t aux_info_mask(const struct aux_info_from *f, const char *name)
{
	const struct os_pmu_format *found = os_pmu_format_find(f->pmu, name, strlen(name));

	return found && found->config == 0 ? found->mask : 0;
}

static enum clew_err put_words(const struct aux_info_from *f, struct buf *b,
			       struct rec_error *error)
{
	switch (f->info) {
	case PERF_AUXTRACE_INTEL_PT:
		return aux_info_intel_pt(f, b, error);
	case PERF_AUXTRACE_CS_ETM:
		return aux_info_cs_etm(f, b, error);
	case PERF_AUXTRACE_ARM_SPE:
		return aux_info_arm_spe(f, b, error);
	default:
		return rec_fail(error, CLEW_UNSUPPORTED,
				"it is unknown what a decoder must know of PMU '%s'", f->pmu->name);
	}
}

enum clew_err aux_info_put(const struct aux_info_from *f, struct buf *ret, struct rec_error *error)
{
	size_t at = perf_record_begin(ret, PERF_RECORD_AUXTRACE_INFO, 0);
	enum clew_err err;

	buf_u32(ret, f->info);
	buf_u32(ret, 0);
	err = put_words(f, ret, error);
	if (err == CLEW_OK && ret->nr - at > MAX_RECORD)
		err = rec_fail(error, CLEW_INVALID,
			       "'%s': a recording cannot describe the trace units of %zu CPUs: "
			       "choose fewer with -C",
			       f->pmu->name, f->cpus->nr);
	if (err != CLEW_OK)
		ret->nr = at;
	else
		perf_record_end(ret, at);
	return err;
}

static enum aux_pt_switches switches_of(const struct rec_counters *c)
{
	enum aux_pt_switches found = AUX_PT_NO_SWITCHES;

	vec_for_each (&c->list, e) {
		if (e->attr.flags & PERF_ATTR_CONTEXT_SWITCH)
			return c->target->is_system_wide ? AUX_PT_CPU_WIDE_SWITCHES
							 : AUX_PT_OWN_SWITCHES;
		if (e->event && e->event->is_tracepoint && !strcmp(e->name, "sched:sched_switch"))
			found = AUX_PT_SCHED_SWITCH;
	}
	return found;
}

static void take_ring(const struct rec_counters *c, const struct rec_counter *e,
		      struct aux_info_from *f)
{
	vec_for_each (&c->rings, r) {
		if (r->owner != e)
			continue;
		f->has_clock = os_ring_clock(&r->ring, &f->clock);
		f->is_snapshot = r->ring.is_aux_overwrite && !rec_aux_is_sampled(c, e);
		return;
	}
}

/* The CPUs of the rings; of tasks that may run anywhere: all that are online. */
static enum clew_err take_cpus(const struct rec_counters *c, struct os_pmus *pmus,
			       struct rec_ints *online, struct aux_info_from *f,
			       struct rec_error *error)
{
	const char *text;

	f->cpus = &c->target->cpus;
	f->is_per_cpu = c->target->cpus.data[0] >= 0;
	if (f->is_per_cpu)
		return CLEW_OK;
	f->cpus = online;
	text = os_pmus_cpu_line(pmus, "online");
	return rec_cpus_parse(text ? text : "0", online, error);
}

enum clew_err rec_aux_info(const struct rec_counters *c, const struct rec_counter *e,
			   struct buf *records, struct rec_error *error)
{
	struct os_pmus pmus = {0};
	struct rec_ints online = {0};
	struct aux_info_from f = {.pmus = &pmus,
				  .info = e->aux->info,
				  .config = e->attr.config,
				  .switches = switches_of(c),
				  .ratio = os_tsc_ratio(),
				  .filter = e->event->filter};
	enum clew_err err = os_pmus_read(c->events->sysfs, &pmus, NULL);
	struct os_pmu soft = soft_pmu();

	if (e->aux->is_soft) {
		os_pmus_done(&pmus);
		f.has_clock = true; /* its ticks are nanoseconds of the clock of the events */
		f.clock = (struct os_ring_clock){.mult = 1};
		f.ratio = (struct os_tsc_ratio){0};
		f.pmu = &soft;
		return aux_info_put(&f, records, error);
	}
	f.pmu = err ? NULL : os_pmus_find(&pmus, e->event->pmu, strlen(e->event->pmu));
	if (!f.pmu || os_pmu_load(&pmus, f.pmu))
		err = rec_fail(error, CLEW_OS, "PMU '%s' cannot be read in sysfs", e->event->pmu);
	if (err == CLEW_OK)
		err = take_cpus(c, &pmus, &online, &f, error);
	if (err == CLEW_OK) {
		take_ring(c, e, &f);
		err = aux_info_put(&f, records, error);
	}
	vec_done(&online);
	os_pmus_done(&pmus);
	return err;
}
