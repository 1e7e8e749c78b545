/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/units_spe_meta.h"

#include "base/err.h"
#include "perfdata/aux_layout.h"
#include "trace/perf/aux_words.h"

enum { MAX_CPUS = 1 << 16 };

static void take_pmu_type(struct spe_meta *m, uint64_t type)
{
	m->has_pmu_type = type < UINT32_MAX;
	m->pmu_type = (uint32_t)type;
}

static enum clew_err take_block(struct spe_meta *m, struct aux_words *w)
{
	struct aux_words block;
	uint64_t magic, cpu, nr;
	struct spe_cpu c;

	if (!aux_words_next(w, &magic) || !aux_words_next(w, &cpu) || !aux_words_next(w, &nr) ||
	    cpu >= UINT32_MAX || !aux_words_take(w, nr, &block))
		return CLEW_BAD_FILE;
	/* All ones: a CPU without SPE. */
	if (magic != AUX_SPE_MAGIC ||
	    aux_words_at(&block, AUX_SPE_PMU_TYPE, UINT64_MAX) == UINT64_MAX ||
	    spe_meta_cpu(m, (uint32_t)cpu))
		return CLEW_OK;
	c = (struct spe_cpu){(uint32_t)cpu, (uint32_t)aux_words_at(&block, AUX_SPE_MIDR, 0),
			     aux_words_at(&block, AUX_SPE_EVENT_FILTER, 0)};
	return vec_push(&m->cpus, c) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_v2(struct spe_meta *m, struct aux_words *w)
{
	uint64_t header, type, nr;
	struct aux_words skipped;
	enum clew_err err = CLEW_OK;

	if (!aux_words_next(w, &header) || !aux_words_next(w, &type) || !aux_words_next(w, &nr) ||
	    header < AUX_SPE_HEADER_WORDS || header > AUX_MAX_WORDS ||
	    !aux_words_take(w, header - AUX_SPE_HEADER_WORDS, &skipped))
		return CLEW_BAD_FILE;
	take_pmu_type(m, type);
	for (uint64_t i = 0; !err && i < nr && i < MAX_CPUS; i++)
		err = take_block(m, w);
	return err;
}

enum clew_err spe_meta_take_info(struct spe_meta *m, const struct perf_record *r,
				 const struct perf_auxtrace_info *info, struct clew_diag *diag)
{
	struct aux_words w = aux_words_of(r, info);
	uint64_t first;
	enum clew_err err;

	if (!aux_words_next(&w, &first))
		return clew_fail(diag, CLEW_BAD_FILE, r->offset, "AUXTRACE_INFO is too short");
	if (info->nr_priv == AUX_SPE_V1_WORDS) {
		m->version = 1;
		take_pmu_type(m, first);
		return CLEW_OK;
	}
	m->version = first;
	m->is_unknown = first != AUX_SPE_NEWEST;
	if (m->is_unknown)
		return CLEW_OK;
	err = take_v2(m, &w);
	if (err == CLEW_BAD_FILE)
		return clew_fail(diag, err, r->offset,
				 "AUXTRACE_INFO describes a CPU beyond its end");
	return err ? clew_fail(diag, err, r->offset, "out of memory") : CLEW_OK;
}

const struct spe_cpu *spe_meta_cpu(const struct spe_meta *m, uint32_t cpu)
{
	/* CPUs are mostly in order and without gaps. */
	if (cpu < m->cpus.nr && m->cpus.data[cpu].cpu == cpu)
		return &m->cpus.data[cpu];
	vec_for_each (&m->cpus, c) {
		if (c->cpu == cpu)
			return c;
	}
	return NULL;
}

bool spe_meta_only(const struct spe_meta *m, uint32_t *ret_midr, uint64_t *ret_event_filter)
{
	uint64_t filter = UINT64_MAX;

	if (!m->cpus.nr)
		return false;
	*ret_midr = m->cpus.data[0].midr;
	vec_for_each (&m->cpus, c) {
		/* Variant and revision do not matter. */
		if ((c->midr ^ *ret_midr) & 0xff00fff0)
			return false;
		filter &= c->event_filter;
	}
	*ret_event_filter = filter;
	return true;
}
