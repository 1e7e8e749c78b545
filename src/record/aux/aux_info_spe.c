/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "record/aux/aux_info_impl.h"
#include "record/plan/aux_pmu.h"

static bool has_cpu(const struct rec_ints *cpus, uint32_t cpu)
{
	vec_for_each (cpus, c)
		if ((uint32_t)*c == cpu)
			return true;
	return false;
}

/* Machines with two kinds of cores have a PMU for each kind. */
static enum clew_err pmu_of(const struct aux_info_from *f, uint32_t cpu, const struct os_pmu **ret,
			    struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	*ret = NULL;
	vec_for_each (&f->pmus->pmus, pmu) {
		const struct aux_pmu *kind = aux_pmu_find(pmu->name);
		struct rec_ints cpus = {0};

		if (!kind || kind->info != PERF_AUXTRACE_ARM_SPE)
			continue;
		if (pmu->cpus)
			err = rec_cpus_parse(pmu->cpus, &cpus, error);
		if (err == CLEW_OK && (!pmu->cpus || has_cpu(&cpus, cpu)))
			*ret = pmu;
		vec_done(&cpus);
		if (err != CLEW_OK || *ret)
			break;
	}
	return err;
}

static enum clew_err put_cpu(const struct aux_info_from *f, uint32_t cpu, struct buf *b,
			     struct rec_error *error)
{
	uint64_t midr = 0, min_interval = 0, event_filter = 0;
	const struct os_pmu *pmu;
	enum clew_err err = pmu_of(f, cpu, &pmu, error);
	char file[64];

	snprintf(file, sizeof(file), "cpu%u/regs/identification/midr_el1", cpu);
	os_pmus_cpu_hex(f->pmus, file, &midr);
	if (pmu) {
		os_pmu_number(pmu, "caps/min_interval", &min_interval);
		os_pmu_hex(pmu, "caps/event_filter", &event_filter);
	}
	buf_u64(b, AUX_SPE_MAGIC);
	buf_u64(b, cpu);
	buf_u64(b, AUX_SPE_WORDS);
	buf_u64(b, midr);
	buf_u64(b, pmu ? pmu->type : UINT64_MAX);
	buf_u64(b, min_interval);
	buf_u64(b, event_filter);
	return err;
}

enum clew_err aux_info_arm_spe(const struct aux_info_from *f, struct buf *b,
			       struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	buf_u64(b, AUX_SPE_NEWEST);
	buf_u64(b, AUX_SPE_HEADER_WORDS);
	buf_u64(b, f->pmu->type);
	buf_u64(b, f->cpus->nr);
	for (size_t i = 0; i < f->cpus->nr && err == CLEW_OK; i++)
		err = put_cpu(f, (uint32_t)f->cpus->data[i], b, error);
	return err;
}
