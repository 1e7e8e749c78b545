/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/event/event_aux.h"

#include "perfdata/aux_layout.h"
#include "record/plan/aux_pmu.h"
#include "record/plan/soft_pmu.h"

enum { SPE_PERIOD = 4096 };

uint64_t event_aux_mask(const struct os_pmu *pmu, const char *name)
{
	const struct os_pmu_format *f = os_pmu_format_find(pmu, name, strlen(name));

	return f && f->config == 0 ? f->mask : 0;
}

/* Spec: Linux 7.3 tools/perf/arch/arm64/util/arm-spe.c. */
static void set_arm_spe(const struct os_pmu *pmu, struct rec_event *e)
{
	uint64_t v;

	if (!os_pmu_number(pmu, "caps/min_interval", &v) || !v)
		v = SPE_PERIOD;
	e->attr.sample_period = v;
	e->attr.sample_type |= PERF_SAMPLE_DATA_SRC;
	e->attr.config |= event_aux_mask(pmu, "ts_enable");
}

/* Its packets are written by ourselves: what we write is fixed. */
static void set_soft(struct rec_event *e)
{
	e->attr.sample_period = 1;
	e->attr.config = AUX_PT_CONFIG_PT | AUX_PT_CONFIG_TSC | AUX_PT_CONFIG_NORETCOMP |
			 AUX_PT_CONFIG_BRANCH | SOFT_PMU_PSB_DEFAULT << SOFT_PMU_PSB_SHIFT;
}

static enum clew_err check_soft(struct event_parse *p, const struct rec_event *e)
{
	const uint64_t fixed = AUX_PT_CONFIG_TSC | AUX_PT_CONFIG_NORETCOMP;

	if ((e->attr.config & fixed) == fixed)
		return CLEW_OK;
	return event_fail(p, p->start, CLEW_INVALID,
			  "soft_pt always writes times (tsc=1) and no compressed returns "
			  "(noretcomp=1)");
}

static uint32_t kind_of(const struct rec_event *e)
{
	return e->aux ? e->aux->info : 0;
}

void event_aux_set(const struct os_pmu *pmu, struct rec_event *e)
{
	if (e->aux && e->aux->is_soft) {
		set_soft(e);
		return;
	}
	switch (kind_of(e)) {
	case 0:
		return;
	case PERF_AUXTRACE_INTEL_PT:
		event_intel_pt_set(pmu, e);
		break;
	case PERF_AUXTRACE_CS_ETM:
		event_cs_etm_set(pmu, e);
		break;
	case PERF_AUXTRACE_ARM_SPE:
		set_arm_spe(pmu, e);
		break;
	default:
		e->attr.sample_period = 1;
		break;
	}
}

enum clew_err event_aux_check(struct event_parse *p, const struct os_pmu *pmu, struct rec_event *e)
{
	if (e->aux && e->aux->is_soft)
		return check_soft(p, e);
	switch (kind_of(e)) {
	case PERF_AUXTRACE_INTEL_PT:
		return event_intel_pt_check(p, pmu, e);
	case PERF_AUXTRACE_CS_ETM:
		return event_cs_etm_check(p, pmu, e);
	case PERF_AUXTRACE_ARM_SPE:
		if (e->attr.config & event_aux_mask(pmu, "pa_enable"))
			e->attr.sample_type |= PERF_SAMPLE_PHYS_ADDR;
		return CLEW_OK;
	default:
		return CLEW_OK;
	}
}
