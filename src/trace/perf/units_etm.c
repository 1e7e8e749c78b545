/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/units_etm.h"

#include "base/err.h"
#include "perfdata/perf_clock.h"
#include "trace/etm_decoder.h"
#include "trace/perf/perf_trace_impl.h"

enum { TS_SOURCE_VIRTUAL = 1 }; /* TRFCR_EL1.TS: CNTVCT, the clock of TIME_CONV */

static void *units_new(void)
{
	return mem_zalloc(sizeof(struct units_etm));
}

static void units_free(void *units)
{
	struct units_etm *u = units;

	vec_done(&u->meta.cpus);
	mem_free(u->configs);
	mem_free(u->formats);
	mem_free(u->lacks_ids);
	map_u64_done(&u->by_id);
	mem_free(u);
}

static enum clew_err take_info(void *units, const struct perf_record *r,
			       const struct perf_auxtrace_info *info, struct clew_diag *diag)
{
	return etm_meta_take_info(&((struct units_etm *)units)->meta, r, info, diag);
}

static void take_hw_id(void *units, uint32_t cpu, uint64_t hw_id)
{
	etm_meta_take_hw_id(&((struct units_etm *)units)->meta, cpu, hw_id);
}

static enum etm_pid_format pid_format_of(const struct etm_config *c)
{
	if (c->has_vmid && c->vmid_is_cid2)
		return ETM_PID_CID2;
	return c->has_cid ? ETM_PID_CID : ETM_PID_NONE;
}

static const char *why_not(const struct units_etm *u, const struct etm_cpu *c)
{
	if (c->is_etm3)
		return "an ETMv3: only ETMv4 and ETE are decoded";
	if (u->meta.has_ids && !c->has_id)
		return "it was not traced: no AUX_OUTPUT_HW_ID record";
	return NULL;
}

static bool add_unit(struct units_etm *u, uint32_t index, struct perf_trace *p)
{
	const struct etm_cpu *c = &u->meta.cpus.data[index];
	struct etm_config *config = &u->configs[index];
	uint32_t number = (uint32_t)p->units.nr;
	struct trace_unit unit = {.id = (uint8_t)c->regs.traceidr, .cpu = c->cpu, .tid = AUX_NONE};
	uint64_t key = etm_id_key(c->sink, c->regs.traceidr);
	const char *why = why_not(u, c);

	if (why)
		clew_fail(&unit.why, CLEW_UNSUPPORTED, 0, why);
	else
		unit.is_decodable = etm_config_init(config, &c->regs, &unit.why) == CLEW_OK;
	unit.decoder = &etm_decoder;
	unit.config = config;
	unit.has_timestamps = config->has_timestamps;
	unit.has_cycles = config->has_cycle_counts;
	u->formats[index] = pid_format_of(config);
	return perf_trace_add_unit(p, &unit) &&
	       (map_u64_get(&u->by_id, key) || map_u64_put(&u->by_id, key, number));
}

static bool add_units(void *units, struct perf_trace *p)
{
	struct units_etm *u = units;
	size_t nr = u->meta.cpus.nr;

	u->configs = mem_calloc(nr + 1, sizeof(*u->configs));
	u->formats = mem_calloc(nr + 1, sizeof(*u->formats));
	u->lacks_ids = mem_calloc(nr + 1, sizeof(*u->lacks_ids));
	if (!u->configs || !u->formats || !u->lacks_ids)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!add_unit(u, (uint32_t)i, p))
			return false;
	}
	return true;
}

static struct aux_who who(const void *units, uint32_t unit, const struct code_context *context)
{
	const struct units_etm *u = units;
	const struct code_arm_context *c = &context->arm; /* ETM has no other */
	bool has_vmid = u->configs[unit].has_vmid && c->has_vmid;
	bool is_cid2 = u->formats[unit] == ETM_PID_CID2;

	return (struct aux_who){
		.is_user = !c->el,
		.is_firmware = c->el == 3 || c->security != ARM_NONSECURE,
		.has_el1 = u->configs[unit].has_cid && c->has_cid,
		.has_el2 = has_vmid && is_cid2,
		.el1 = c->cid,
		.el2 = c->vmid,
		.way = {.level = (enum who_level)(c->el & 3),
			.upper = (enum who_level)(c->upper_el & 3),
			.entry = aux_entry_of(c->entry),
			.start = WHO_WORLD_UNKNOWN,
			.has_vmid = has_vmid && !is_cid2,
			.vmid = c->vmid},
	};
}

static enum who_level kernel_level(const void *units, uint32_t unit)
{
	static const enum who_level levels[] = {[ETM_PID_NONE] = WHO_LEVEL_UNKNOWN,
						[ETM_PID_CID] = WHO_EL1,
						[ETM_PID_CID2] = WHO_EL2};

	return levels[((const struct units_etm *)units)->formats[unit]];
}

static bool has_ids(const void *units, uint32_t unit)
{
	return !((const struct units_etm *)units)->lacks_ids[unit];
}

static bool time_of(const void *units, uint32_t unit, const struct perf_time_conv *conv,
		    struct clew_ticks ticks, struct clew_perf_ns *ret)
{
	const struct units_etm *u = units;
	struct clew_cntvct virtual = {ticks.ticks};

	return u->meta.cpus.data[unit].ts_source == TS_SOURCE_VIRTUAL &&
	       perf_ns_of_cntvct(conv, virtual, ret);
}

/** Frames have trace of all that share a sink. */
static bool is_shared(const struct aux_chunk *c)
{
	return !etm_is_raw(c);
}

const struct aux_protocol units_etm = {
	.type = PERF_AUXTRACE_CS_ETM,
	.formats = ETM_FORMAT_RAW,
	.units_new = units_new,
	.units_free = units_free,
	.take_info = take_info,
	.take_hw_id = take_hw_id,
	.add_units = add_units,
	.who = who,
	.kernel_level = kernel_level,
	.find_ids = etm_find_ids,
	.has_ids = has_ids,
	.time = time_of,
	.is_shared = is_shared,
	.pass_bytes = sizeof(struct etm_pass),
	.reader_new = etm_reader_new,
	.reader_free = etm_reader_free,
	.restart = etm_reader_restart,
	.take = etm_reader_take,
	.end = etm_reader_end,
};
