/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_info_impl.h"
#include "record/plan/etm_unit.h"

/* Where perf takes a CPU's trace ID from that the kernel has not yet reported. Spec: Linux 7.3
 * include/linux/coresight-pmu.h, CORESIGHT_LEGACY_CPU_TRACE_ID. */
static uint64_t legacy_trace_id(uint32_t cpu)
{
	return 0x10 + 2 * (uint64_t)cpu;
}

/*
 * TRCCONFIGR as the driver sets it for the event's terms.
 * Spec: Arm IHI 0064 (ETMv4), "TRCCONFIGR"; Linux 7.3 drivers/hwtracing/coresight/coresight-etm4x
 * -core.c, "etm4_parse_event_config".
 */
static uint64_t configr_of(const struct aux_info_from *f)
{
	static const struct {
		const char *term;
		uint64_t bits;
	} terms[] = {
		{"branch_broadcast", 1 << 3          },
                {"cycacc",           1 << 4          },
                {"contextid1",       1 << 6          },
		{"contextid2",       1 << 7 | 1 << 15},
                {"timestamp",        1 << 11         },
                {"retstack",         1 << 12         },
	};
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (f->config & aux_info_mask(f, terms[i].term))
			bits |= terms[i].bits;
	/* Before Linux 5.11 there is one term, for EL1. */
	if (!aux_info_mask(f, "contextid1") && f->config & aux_info_mask(f, "contextid"))
		bits |= 1 << 6;
	return bits;
}

static enum clew_err put_register(const struct aux_info_from *f, uint32_t cpu, const char *file,
				  struct buf *b, struct rec_error *error)
{
	uint64_t v;

	if (!etm_unit_hex(f->pmu, cpu, file, &v))
		return rec_fail(error, CLEW_OS,
				"'%s': the trace unit of CPU %u cannot be described: "
				"%s/cpu%u/%s cannot be read",
				f->pmu->name, cpu, f->pmu->dir, cpu, file);
	buf_u64(b, v);
	return CLEW_OK;
}

static enum clew_err put_registers(const struct aux_info_from *f, uint32_t cpu,
				   const char *const *files, struct buf *b, struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	for (; *files && err == CLEW_OK; files++)
		err = put_register(f, cpu, *files, b, error);
	return err;
}

static enum clew_err put_etm4(const struct aux_info_from *f, uint32_t cpu, bool is_ete,
			      struct buf *b, struct rec_error *error)
{
	static const char *const etm4[] = {"trcidr/trcidr0", "trcidr/trcidr1",     "trcidr/trcidr2",
					   "trcidr/trcidr8", "mgmt/trcauthstatus", NULL},
				 *const ete[] = {"mgmt/trcdevarch", NULL};
	enum clew_err err;

	buf_u64(b, is_ete ? AUX_ETE_MAGIC : AUX_ETM4_MAGIC);
	buf_u64(b, cpu);
	buf_u64(b, is_ete ? AUX_ETE_WORDS : AUX_ETM4_WORDS);
	buf_u64(b, configr_of(f));
	buf_u64(b, legacy_trace_id(cpu));
	err = put_registers(f, cpu, etm4, b, error);
	if (err == CLEW_OK && is_ete)
		err = put_registers(f, cpu, ete, b, error);
	buf_u64(b, (uint64_t)etm_unit_ts_source(f->pmu, cpu));
	return err;
}

/* The terms of attr.config are bits of ETMCR. */
static enum clew_err put_etm3(const struct aux_info_from *f, uint32_t cpu, struct buf *b,
			      struct rec_error *error)
{
	static const char *const files[] = {"mgmt/etmccer", "mgmt/etmidr", NULL};

	buf_u64(b, AUX_ETM3_MAGIC);
	buf_u64(b, cpu);
	buf_u64(b, AUX_ETM3_WORDS);
	buf_u64(b, f->config);
	buf_u64(b, legacy_trace_id(cpu));
	return put_registers(f, cpu, files, b, error);
}

static enum clew_err put_unit(const struct aux_info_from *f, uint32_t cpu, struct buf *b,
			      struct rec_error *error)
{
	enum etm_unit_kind kind = etm_unit_kind(f->pmu, cpu);

	switch (kind) {
	case ETM_UNIT_ETM4:
	case ETM_UNIT_ETE:
		return put_etm4(f, cpu, kind == ETM_UNIT_ETE, b, error);
	case ETM_UNIT_ETM3:
		return put_etm3(f, cpu, b, error);
	case ETM_UNIT_NONE:
		break;
	}
	rec_advise(error,
		   "choose other CPUs with -C; `ls -d %s/cpu*` shows those with a trace unit",
		   f->pmu->dir);
	return rec_fail(error, CLEW_NOT_FOUND, "'%s': CPU %u has no trace unit", f->pmu->name, cpu);
}

enum clew_err aux_info_cs_etm(const struct aux_info_from *f, struct buf *b, struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	buf_u64(b, AUX_ETM_NEWEST);
	buf_u64(b, (uint64_t)f->pmu->type << 32 | f->cpus->nr);
	buf_u64(b, f->is_snapshot);
	for (size_t i = 0; i < f->cpus->nr && err == CLEW_OK; i++)
		err = put_unit(f, (uint32_t)f->cpus->data[i], b, error);
	return err;
}
