/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/err.h"
#include "perfdata/perf_clock.h"
#include "perfdata/perf_features.h"
#include "trace/perf/aux_streams.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/units_spe_meta.h"
#include "trace/spe_decoder.h"

/* The units of arm_spe: one per AUX ring, of a CPU or of a thread. */

struct units_spe {
	struct spe_meta meta;
	struct spe_config *configs; /* of each unit */
};

struct pass {
	bool is_begun;
};

static void *units_new(void)
{
	return mem_zalloc(sizeof(struct units_spe));
}

static void units_free(void *units)
{
	struct units_spe *u = units;

	vec_done(&u->meta.cpus);
	mem_free(u->configs);
	mem_free(u);
}

static enum clew_err take_info(void *units, const struct perf_record *r,
			       const struct perf_auxtrace_info *info, struct clew_diag *diag)
{
	return spe_meta_take_info(&((struct units_spe *)units)->meta, r, info, diag);
}

static bool pmu_type(const void *units, uint32_t *ret)
{
	const struct spe_meta *m = &((const struct units_spe *)units)->meta;

	*ret = m->pmu_type;
	return m->has_pmu_type;
}

/** "0x00000000410fd490": of the CPU the recorder ran on, for all. */
static bool midr_of_header(const struct perf_trace *p, uint32_t *ret)
{
	const char *text = perf_features_string(perf_file_features(p->file), PERF_FEAT_CPUID);
	char *end = NULL;
	unsigned long long midr = text ? strtoull(text, &end, 16) : 0;

	*ret = (uint32_t)midr;
	return end && end != text && midr && midr <= UINT32_MAX;
}

static const char *set_config(const struct units_spe *u, const struct perf_trace *p,
			      const struct aux_ring *ring, struct spe_config *ret)
{
	const struct spe_meta *m = &u->meta;
	const struct spe_cpu *cpu = spe_meta_cpu(m, ring->cpu);

	if (m->is_unknown)
		return "the description of the CPUs is of a newer perf";
	if (m->version == 1)
		ret->has_midr = midr_of_header(p, &ret->midr);
	else if (cpu)
		*ret = (struct spe_config){cpu->midr, cpu->event_filter, true, NULL};
	else if (ring->cpu == AUX_NONE)
		ret->has_midr = spe_meta_only(m, &ret->midr, &ret->event_filter);
	if (ret->has_midr)
		return spe_names_sources(ret) ? NULL : "the core is unknown";
	if (m->version != 1 && ring->cpu == AUX_NONE)
		return "the buffer is a thread's, which may run on different kinds of CPUs";
	return "the recording does not say which CPU it is";
}

/** Of the events that wrote the records. */
static bool has_timestamps(const struct units_spe *u, const struct perf_trace *p)
{
	enum { TS_ENABLE = 1 };
	const struct perf_evlist *l = perf_file_evlist(p->file);
	bool has_some = false;

	vec_for_each (&l->evsels, e) {
		if ((*e)->attr.type != u->meta.pmu_type || (*e)->attr.type < PERF_TYPE_MAX_STATIC)
			continue;
		has_some = true;
		if ((*e)->attr.config & TS_ENABLE)
			return true;
	}
	return !has_some;
}

static bool add_units(void *units, struct perf_trace *p)
{
	struct units_spe *u = units;
	uint32_t protocol = perf_trace_protocol(p, PERF_AUXTRACE_ARM_SPE), nr = 0;
	bool has_times = has_timestamps(u, p);

	u->configs = mem_calloc(p->chunks.rings.nr + 1, sizeof(*u->configs));
	if (!u->configs)
		return false;
	vec_for_each (&p->chunks.rings, ring) {
		struct trace_unit unit = {.cpu = ring->cpu,
					  .tid = ring->cpu == AUX_NONE ? ring->tid : AUX_NONE,
					  .is_decodable = true,
					  .has_timestamps = has_times,
					  .decoder = &spe_decoder,
					  .config = &u->configs[nr]};

		if (ring->protocol != protocol)
			continue;
		u->configs[nr].why_unnamed = set_config(u, p, ring, &u->configs[nr]);
		nr++;
		ring->unit = (uint32_t)p->units.nr;
		if (!perf_trace_add_unit(p, &unit))
			return false;
	}
	return true;
}

/** A record with an EL2 context is of a host with its kernel at EL2; EL1 is a guest's then. */
static struct aux_who who(const void *units, uint32_t unit, const struct code_context *context)
{
	const struct code_arm_context *c = &context->arm; /* SPE has no other */

	(void)units, (void)unit;
	return (struct aux_who){
		.is_user = !c->el,
		.is_firmware = c->el == 3 || c->security != ARM_NONSECURE,
		.has_el1 = c->has_cid,
		.has_el2 = c->has_vmid,
		.el1 = c->cid,
		.el2 = c->vmid,
		.way = {.level = (enum who_level)(c->el & 3),
			.upper = (enum who_level)(c->upper_el & 3),
			.entry = aux_entry_of(c->entry),
			.start = WHO_WORLD_UNKNOWN}
        };
}

static bool time_of(const void *units, uint32_t unit, const struct perf_time_conv *conv,
		    struct clew_ticks ticks, struct clew_perf_ns *ret)
{
	(void)units, (void)unit;
	return perf_ns_of_cntvct(conv, (struct clew_cntvct){ticks.ticks}, ret);
}

/* --- a pass --- */

static void *reader_new(struct trace_steps *r)
{
	return aux_streams_own(r, PERF_AUXTRACE_ARM_SPE);
}

static void reader_free(void *reader)
{
	(void)reader; /* the pass's */
}

static void restart(void *reader, uint64_t offset)
{
	(void)reader, (void)offset;
}

/** Once per pass. */
static enum clew_err warn(struct trace_steps *r, const struct units_spe *u)
{
	struct pass *pass = aux_streams_own(r, PERF_AUXTRACE_ARM_SPE);
	const struct aux_units *all =
		&r->p->protocols[perf_trace_protocol(r->p, PERF_AUXTRACE_ARM_SPE)];
	enum clew_err err = CLEW_OK;

	if (pass->is_begun)
		return CLEW_OK;
	pass->is_begun = true;
	if (u->meta.is_unknown)
		err = aux_streams_warn(r,
				       "the description of the CPUs is of a newer perf: data "
				       "sources have no names",
				       u->meta.version, 0);
	for (uint32_t i = 0; !err && i < all->nr; i++) {
		if (u->configs[i].why_unnamed && r->p->units.data[all->first + i].tid != AUX_NONE &&
		    u->meta.version == 2 && !u->configs[i].has_midr)
			return aux_streams_warn(r,
						"data sources have no names: the buffer is a "
						"thread's, and the CPUs differ",
						0, 0);
	}
	return err;
}

/** The bytes are at their offset in the ring: alignment packets count from there. */
static enum clew_err take(struct trace_steps *r, struct aux_stream *s, struct bytes in,
			  uint64_t offset)
{
	const struct trace_sink *k = r->sink;
	const struct aux_units *all = &r->p->protocols[s->chunk->protocol];
	uint32_t unit = r->p->chunks.rings.data[s->chunk->ring].unit;
	enum clew_err err = warn(r, all->units);

	if (err || unit == AUX_NONE)
		return err;
	r->offsets[unit] = s->from - bytes_left(&in);
	err = aux_streams_begin(r, s, unit);
	if (!err && k->mark)
		err = k->mark(k->ctx, unit, r->offsets[unit], offset);
	return err ? err : aux_streams_give(r, unit, in);
}

const struct aux_protocol units_spe = {
	.type = PERF_AUXTRACE_ARM_SPE,
	.takes_uncovered = true,
	.units_new = units_new,
	.units_free = units_free,
	.take_info = take_info,
	.pmu_type = pmu_type,
	.add_units = add_units,
	.who = who,
	.time = time_of,
	.pass_bytes = sizeof(struct pass),
	.reader_new = reader_new,
	.reader_free = reader_free,
	.restart = restart,
	.take = take,
};
