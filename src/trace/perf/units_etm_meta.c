/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/units_etm_meta.h"

#include "base/err.h"
#include "perfdata/aux_layout.h"
#include "trace/perf/aux_words.h"

enum {
	ETM3_WORDS_V0 = 4,
	ETM4_WORDS_V0 = 7,
	TRACE_ID_BITS = 0x7f /* above: perf's mark of an ID that it never learnt */
};

static struct etm_cpu cpu_of(uint32_t cpu, uint64_t magic, const struct aux_words *block)
{
	struct etm_cpu c = {.cpu = cpu, .is_etm3 = magic == AUX_ETM3_MAGIC, .ts_source = -1};

	if (c.is_etm3)
		return c;
	c.regs.configr = (uint32_t)aux_words_at(block, AUX_ETM4_CONFIGR, 0);
	c.regs.traceidr = (uint32_t)aux_words_at(block, AUX_ETM4_TRACEIDR, 0) & TRACE_ID_BITS;
	c.regs.idr0 = (uint32_t)aux_words_at(block, AUX_ETM4_IDR0, 0);
	c.regs.idr1 = (uint32_t)aux_words_at(block, AUX_ETM4_IDR1, 0x4100f403);
	c.regs.idr2 = (uint32_t)aux_words_at(block, AUX_ETM4_IDR2, 0);
	c.regs.idr8 = (uint32_t)aux_words_at(block, AUX_ETM4_IDR8, 0);
	c.ts_source = (int64_t)aux_words_at(block, AUX_ETM4_TS_SOURCE, UINT64_MAX);
	if (magic != AUX_ETE_MAGIC)
		return c;
	c.ts_source = (int64_t)aux_words_at(block, AUX_ETE_TS_SOURCE, UINT64_MAX);
	c.regs.devarch = (uint32_t)aux_words_at(block, AUX_ETE_DEVARCH, 0x47705a13);
	/* simpleperf writes ETMv4 units down in ETE's layout too. */
	c.regs.is_ete = (c.regs.devarch >> 12 & 0xf) != 4;
	return c;
}

/** @return CLEW_BAD_FILE where the block does not fit. */
static enum clew_err take_block(struct etm_meta *m, struct aux_words *w)
{
	uint64_t magic, cpu, nr;
	struct aux_words block;

	if (!aux_words_next(w, &magic) || !aux_words_next(w, &cpu) || cpu >= UINT32_MAX)
		return CLEW_BAD_FILE;
	if (m->version == 0)
		nr = magic == AUX_ETM3_MAGIC ? ETM3_WORDS_V0 : ETM4_WORDS_V0;
	else if (!aux_words_next(w, &nr))
		return CLEW_BAD_FILE;
	if (magic != AUX_ETM3_MAGIC && magic != AUX_ETM4_MAGIC && magic != AUX_ETE_MAGIC &&
	    m->version == 0)
		return CLEW_BAD_FILE;
	if (!aux_words_take(w, nr, &block))
		return CLEW_BAD_FILE;
	if (magic != AUX_ETM3_MAGIC && magic != AUX_ETM4_MAGIC && magic != AUX_ETE_MAGIC)
		return CLEW_OK; /* a kind of trace unit to come: not ours */
	if (etm_meta_cpu(m, (uint32_t)cpu))
		return CLEW_OK;
	return vec_push(&m->cpus, cpu_of((uint32_t)cpu, magic, &block)) ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err etm_meta_take_info(struct etm_meta *m, const struct perf_record *r,
				 const struct perf_auxtrace_info *info, struct clew_diag *diag)
{
	uint64_t second, snapshot, nr;
	struct aux_words w = aux_words_of(r, info);

	if (!aux_words_next(&w, &m->version) || !aux_words_next(&w, &second) ||
	    !aux_words_next(&w, &snapshot))
		return clew_fail(diag, CLEW_BAD_FILE, r->offset, "AUXTRACE_INFO is too short");
	if (m->version > AUX_ETM_NEWEST)
		return clew_fail(diag, CLEW_UNSUPPORTED, r->offset,
				 "the description of the trace units is of a newer perf");
	nr = second & UINT32_MAX;
	for (uint64_t i = 0; i < nr && i < ETM_MAX_CPUS; i++) {
		enum clew_err err = take_block(m, &w);

		if (err == CLEW_BAD_FILE)
			return clew_fail(diag, err, r->offset,
					 "AUXTRACE_INFO describes a trace unit beyond its end");
		if (err != CLEW_OK)
			return clew_fail(diag, err, r->offset, "out of memory");
	}
	return CLEW_OK;
}

struct etm_cpu *etm_meta_cpu(const struct etm_meta *m, uint32_t cpu)
{
	size_t low = 0;

	/* CPUs are mostly in order and without gaps. */
	if (cpu < m->cpus.nr && m->cpus.data[cpu].cpu == cpu)
		return &m->cpus.data[cpu];
	for (; low < m->cpus.nr; low++) {
		if (m->cpus.data[low].cpu == cpu)
			return &m->cpus.data[low];
	}
	return NULL;
}

/*
 * hw_id: 7:0 trace ID, 39:8 sink (minor version 1), 59:56 minor version, 63:60 major version.
 * Spec: Linux 7.3 include/linux/coresight-pmu.h.
 */
void etm_meta_take_hw_id(struct etm_meta *m, uint32_t cpu, uint64_t hw_id)
{
	struct etm_cpu *c = etm_meta_cpu(m, cpu);
	uint32_t id = hw_id & 0xff;

	if (hw_id >> 60 || !c || !id || id >= 0x70)
		return;
	if (c->has_id && c->regs.traceidr != id)
		return;
	c->has_id = m->has_ids = true;
	c->regs.traceidr = id;
	if (hw_id >> 56 & 0xf)
		c->sink = (uint32_t)(hw_id >> 8);
}
