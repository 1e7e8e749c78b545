/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/units_etm_meta.h"

#include "base/err.h"

/*
 * AUXTRACE_INFO of cs_etm: words, in the file's byte order.
 *
 *   0  version of this layout      1  PMU type << 32 | number of blocks      2  snapshot mode
 *   then a block for each CPU: magic, CPU, from version 1 on the number of words that follow, words
 *
 * Spec: Linux 7.3 tools/perf/util/cs-etm.h, include/linux/coresight-pmu.h.
 */
#define MAGIC_ETM3 0x3030303030303030u
#define MAGIC_ETM4 0x4040404040404040u
#define MAGIC_ETE  0x5050505050505050u

enum {
	NEWEST_VERSION = 2,
	ETM3_WORDS_V0 = 4,
	ETM4_WORDS_V0 = 7,
	MAX_WORDS = 1 << 16, /* of a block */
	TRACE_ID_BITS = 0x7f /* above: perf's mark of an ID that it never learnt */
};

/** The words of a block, in order. ETE has its DEVARCH where ETMv4 has the time source. */
enum word {
	CONFIGR,
	TRACEIDR,
	IDR0,
	IDR1,
	IDR2,
	IDR8,
	AUTHSTATUS,
	TS_SOURCE_OR_DEVARCH,
	ETE_TS_SOURCE
};

struct words {
	struct bytes in;
	bool swap;
};

static bool next_word(struct words *w, uint64_t *ret)
{
	return bytes_u64(&w->in, w->swap, ret);
}

/** Word @p i of a block; @p otherwise where the block ends before it. */
static uint64_t word_at(const struct words *block, enum word i, uint64_t otherwise)
{
	size_t at = 8 * (size_t)i;

	return bytes_left(&block->in) < at + 8 ? otherwise
					       : load_u64(block->in.pos + at, block->swap);
}

static struct etm_cpu cpu_of(uint32_t cpu, uint64_t magic, const struct words *block)
{
	struct etm_cpu c = {.cpu = cpu, .is_etm3 = magic == MAGIC_ETM3, .ts_source = -1};

	if (c.is_etm3)
		return c;
	c.regs.configr = (uint32_t)word_at(block, CONFIGR, 0);
	c.regs.traceidr = (uint32_t)word_at(block, TRACEIDR, 0) & TRACE_ID_BITS;
	c.regs.idr0 = (uint32_t)word_at(block, IDR0, 0);
	c.regs.idr1 = (uint32_t)word_at(block, IDR1, 0x4100f403);
	c.regs.idr2 = (uint32_t)word_at(block, IDR2, 0);
	c.regs.idr8 = (uint32_t)word_at(block, IDR8, 0);
	c.ts_source = (int64_t)word_at(block, TS_SOURCE_OR_DEVARCH, UINT64_MAX);
	if (magic != MAGIC_ETE)
		return c;
	c.ts_source = (int64_t)word_at(block, ETE_TS_SOURCE, UINT64_MAX);
	c.regs.devarch = (uint32_t)word_at(block, TS_SOURCE_OR_DEVARCH, 0x47705a13);
	/* simpleperf writes ETMv4 units down in ETE's layout too. */
	c.regs.is_ete = (c.regs.devarch >> 12 & 0xf) != 4;
	return c;
}

static bool take_words(struct words *w, uint64_t nr, struct words *ret)
{
	ret->swap = w->swap;
	return nr <= MAX_WORDS && bytes_take(&w->in, 8 * (size_t)nr, &ret->in);
}

/** @return CLEW_BAD_FILE where the block does not fit. */
static enum clew_err take_block(struct etm_meta *m, struct words *w)
{
	uint64_t magic, cpu, nr;
	struct words block;

	if (!next_word(w, &magic) || !next_word(w, &cpu) || cpu >= UINT32_MAX)
		return CLEW_BAD_FILE;
	if (m->version == 0)
		nr = magic == MAGIC_ETM3 ? ETM3_WORDS_V0 : ETM4_WORDS_V0;
	else if (!next_word(w, &nr))
		return CLEW_BAD_FILE;
	if (magic != MAGIC_ETM3 && magic != MAGIC_ETM4 && magic != MAGIC_ETE && m->version == 0)
		return CLEW_BAD_FILE;
	if (!take_words(w, nr, &block))
		return CLEW_BAD_FILE;
	if (magic != MAGIC_ETM3 && magic != MAGIC_ETM4 && magic != MAGIC_ETE)
		return CLEW_OK; /* a kind of trace unit to come: not ours */
	if (etm_meta_cpu(m, (uint32_t)cpu))
		return CLEW_OK;
	return vec_push(&m->cpus, cpu_of((uint32_t)cpu, magic, &block)) ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err etm_meta_take_info(struct etm_meta *m, const struct perf_record *r,
				 const struct perf_auxtrace_info *info, struct clew_diag *diag)
{
	uint64_t second, snapshot, nr;
	struct words w;

	w = (struct words){bytes_of(info->priv, 8 * (size_t)info->nr_priv), r->swap};
	if (!next_word(&w, &m->version) || !next_word(&w, &second) || !next_word(&w, &snapshot))
		return clew_fail(diag, CLEW_BAD_FILE, r->offset, "AUXTRACE_INFO is too short");
	if (m->version > NEWEST_VERSION)
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
