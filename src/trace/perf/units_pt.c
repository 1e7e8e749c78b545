/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "base/err.h"
#include "packet/pt/ipt_clock.h"
#include "packet/pt/ipt_sync.h"
#include "perfdata/aux_filter.h"
#include "perfdata/aux_layout.h"
#include "perfdata/perf_clock.h"
#include "perfdata/perf_features.h"
#include "trace/perf/aux_streams.h"
#include "trace/perf/aux_words.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/pt_decoder.h"

enum { BUS_HZ = 100000000 };
#define NS_PER_S UINT64_C(1000000000)

/* The units of intel_pt: one per AUX ring, of a CPU or of a thread. */

struct units_pt {
	struct ipt_config config;
	uint32_t pmu_type;
	bool has_pmu_type;
	struct perf_time_conv conv;
	struct aux_filters filters;
	uint64_t tsc_bit, cyc_bit, mtc_mask; /* of attr.config */
	bool has_times, has_cycles;
};

static void *units_new(void)
{
	return mem_zalloc(sizeof(struct units_pt));
}

static void units_free(void *units)
{
	struct units_pt *u = units;

	aux_filters_done(&u->filters);
	mem_free(u);
}

/** Older recorders do not write all of it. */
static void take_timing(struct ipt_timing *t, const struct aux_words *w)
{
	uint64_t n = aux_words_at(w, AUX_PT_TSC_CTC_NUMERATOR, 0);
	uint64_t d = aux_words_at(w, AUX_PT_TSC_CTC_DENOMINATOR, 0);
	uint64_t shift = aux_words_at(w, AUX_PT_TIME_SHIFT, 0);
	uint64_t mult = aux_words_at(w, AUX_PT_TIME_MULT, 0);
	uint64_t ratio = aux_words_at(w, AUX_PT_MAX_NONTURBO_RATIO, 0);

	if (n && d && n <= UINT32_MAX && d <= UINT32_MAX) {
		t->numerator = (uint32_t)n;
		t->denominator = (uint32_t)d;
	}
	if (!ratio && mult && shift < 34)
		ratio = ((NS_PER_S << shift) / mult + BUS_HZ / 2) / BUS_HZ;
	t->max_ratio = ratio <= UINT8_MAX ? (uint8_t)ratio : 0;
}

static enum clew_err take_filters(struct units_pt *u, const struct perf_record *r,
				  const struct aux_words *w, struct clew_diag *diag)
{
	uint64_t bytes = aux_words_at(w, AUX_PT_FILTER_BYTES, 0);
	size_t at = 8 * (size_t)AUX_PT_FILTER;

	if (!bytes)
		return CLEW_OK;
	if (bytes_left(&w->in) < at || bytes_left(&w->in) - at < bytes)
		return clew_fail(diag, CLEW_BAD_FILE, r->offset,
				 "AUXTRACE_INFO has an address filter that does not fit in it");
	return aux_filters_parse(&u->filters, (const char *)w->in.pos + at, (size_t)bytes)
		     ? CLEW_OK
		     : clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
}

static enum clew_err take_info(void *units, const struct perf_record *r,
			       const struct perf_auxtrace_info *info, struct clew_diag *diag)
{
	struct aux_words w = aux_words_of(r, info);
	struct units_pt *u = units;
	uint64_t type = aux_words_at(&w, AUX_PT_PMU_TYPE, UINT64_MAX);

	if (type >= UINT32_MAX)
		return clew_fail(diag, CLEW_BAD_FILE, r->offset, "AUXTRACE_INFO is too short");
	u->pmu_type = (uint32_t)type;
	u->has_pmu_type = true;
	u->tsc_bit = aux_words_at(&w, AUX_PT_TSC_BIT, 0);
	u->cyc_bit = aux_words_at(&w, AUX_PT_CYC_BIT, 0);
	u->mtc_mask = aux_words_at(&w, AUX_PT_MTC_PERIOD_MASK, 0);
	take_timing(&u->config.timing, &w);
	u->conv = (struct perf_time_conv){
		.shift = aux_words_at(&w, AUX_PT_TIME_SHIFT, 0),
		.mult = aux_words_at(&w, AUX_PT_TIME_MULT, 0),
		.zero = aux_words_at(&w, AUX_PT_TIME_ZERO, 0),
		.mask = UINT64_MAX,
		.has_zero = aux_words_at(&w, AUX_PT_CAP_USER_TIME_ZERO, 0),
	};
	return take_filters(u, r, &w, diag);
}

static bool time_conv(const void *units, struct perf_time_conv *ret)
{
	const struct units_pt *u = units;

	*ret = u->conv;
	return u->conv.has_zero && perf_time_conv_is_usable(&u->conv);
}

static bool pmu_type(const void *units, uint32_t *ret)
{
	const struct units_pt *u = units;

	*ret = u->pmu_type;
	return u->has_pmu_type;
}

/** "GenuineIntel,6,158,10" */
static uint16_t errata_of(const struct perf_trace *p)
{
	const char *text = perf_features_string(perf_file_features(p->file), PERF_FEAT_CPUID);
	unsigned int family, model;

	if (!text || sscanf(text, "GenuineIntel,%u,%u", &family, &model) != 2)
		return 0;
	return ipt_errata_of(family, model);
}

/** What the event that traced was asked for. Times are of use only where all events have some. */
static void take_events(struct units_pt *u, const struct perf_trace *p)
{
	const struct perf_evlist *l = perf_file_evlist(p->file);
	bool all_have_times = true, has_tsc = false;

	vec_for_each (&l->evsels, e) {
		const struct perf_attr *a = &(*e)->attr;

		all_have_times &= (a->sample_type & PERF_SAMPLE_TIME) != 0;
		if (a->type != u->pmu_type)
			continue;
		has_tsc |= (a->config & u->tsc_bit) != 0;
		u->has_cycles |= (a->config & u->cyc_bit) != 0;
		u->config.has_event_trace |= (a->config & AUX_PT_CONFIG_EVENT) != 0;
		u->config.has_no_tnt |= (a->config & AUX_PT_CONFIG_NO_TNT) != 0;
		u->config.has_no_branches |=
			(a->config & (AUX_PT_CONFIG_PT | AUX_PT_CONFIG_BRANCH)) == AUX_PT_CONFIG_PT;
		if (u->mtc_mask)
			u->config.timing.mtc_shift =
				(a->config & u->mtc_mask) >> __builtin_ctzll(u->mtc_mask) & 15;
	}
	u->has_times = all_have_times && has_tsc && u->conv.has_zero;
}

static uint32_t tsc_khz(const struct perf_time_conv *c)
{
	uint64_t khz = c->mult && c->shift < 34 ? (NS_PER_S << c->shift) / c->mult / 1000 : 0;

	return khz <= UINT32_MAX ? (uint32_t)khz : 0;
}

/** NULL: instructions can be followed. */
static const char *why_points(const struct ipt_config *c)
{
	return c->has_no_branches ? "its branches were not traced (branch=0)"
	     : c->has_no_tnt      ? "its conditional branches were not traced (notnt)"
				  : NULL;
}

static bool add_units(void *units, struct perf_trace *p)
{
	uint32_t protocol = perf_trace_protocol(p, PERF_AUXTRACE_INTEL_PT);
	struct units_pt *u = units;

	u->config.errata = errata_of(p);
	take_events(u, p);
	vec_for_each (&p->chunks.rings, ring) {
		struct trace_unit unit = {.cpu = ring->cpu,
					  .tid = ring->cpu == AUX_NONE ? ring->tid : AUX_NONE,
					  .is_decodable = true,
					  .why_points = why_points(&u->config),
					  .has_timestamps = u->has_times,
					  .has_cycles = u->has_cycles,
					  .max_ratio = u->config.timing.max_ratio,
					  .tsc_khz = tsc_khz(&u->conv),
					  .decoder = &pt_decoder,
					  .config = &u->config};

		if (ring->protocol != protocol)
			continue;
		ring->unit = (uint32_t)p->units.nr;
		if (!perf_trace_add_unit(p, &unit))
			return false;
		if (u->filters.ranges.nr)
			perf_trace_set_filters(p, ring->unit, &u->filters);
	}
	return true;
}

static struct aux_who who(const void *units, uint32_t unit, const struct code_context *context)
{
	const struct code_x86_context *c = &context->x86; /* Intel PT has no other */
	enum who_level level = c->is_kernel ? WHO_EL1 : WHO_EL0;

	(void)units, (void)unit;
	return (struct aux_who){
		.is_user = !c->is_kernel,
		.is_guest = c->is_guest,
		.way = {.level = level, .upper = level, .start = WHO_WORLD_UNKNOWN}
        };
}

static bool time_of(const void *units, uint32_t unit, const struct perf_time_conv *conv,
		    struct clew_ticks ticks, struct clew_perf_ns *ret)
{
	(void)units, (void)unit;
	return perf_ns_of_tsc(conv, (struct clew_tsc){ticks.ticks}, ret);
}

/* --- the index --- */

_Static_assert((int)AUX_SYNC_TIME == (int)IPT_SYNC_TSC && (int)AUX_SYNC_ON == (int)IPT_SYNC_ON &&
		       (int)AUX_SYNC_BRANCH == (int)IPT_SYNC_BRANCH &&
		       (int)AUX_SYNC_ALL == (int)IPT_SYNC_ALL,
	       "the bits of a place are those of its PSB+");

static bool find_sync(const void *units, struct bytes in, size_t from, struct aux_found *ret)
{
	const struct units_pt *u = units;
	struct ipt_sync s;

	if (!ipt_sync_find(&u->config, in, from, &s))
		return false;
	*ret = (struct aux_found){s.at, s.tsc, s.has};
	return true;
}

static uint64_t sync_ticks(const void *units, uint64_t stamp, uint64_t before)
{
	const struct units_pt *u = units;

	return ipt_clock_whole_tsc(stamp, before ? before : u->config.timing.reference);
}

/* --- a pass --- */

static void *reader_new(struct trace_steps *r)
{
	return aux_streams_own(r, PERF_AUXTRACE_INTEL_PT);
}

static void reader_free(void *reader)
{
	(void)reader; /* the pass's */
}

static void restart(void *reader, uint64_t offset)
{
	(void)reader, (void)offset;
}

static enum clew_err take(struct trace_steps *r, struct aux_stream *s, struct bytes in,
			  uint64_t offset)
{
	const struct trace_sink *k = r->sink;
	uint32_t unit = r->p->chunks.rings.data[s->chunk->ring].unit;
	enum clew_err err;

	if (unit == AUX_NONE)
		return CLEW_OK;
	r->offsets[unit] = s->from - bytes_left(&in);
	err = aux_streams_begin(r, s, unit);
	if (!err && k->mark)
		err = k->mark(k->ctx, unit, r->offsets[unit], offset);
	return err ? err : aux_streams_give(r, unit, in);
}

const struct aux_protocol units_pt = {
	.type = PERF_AUXTRACE_INTEL_PT,
	.arch = CODE_X86,
	.takes_uncovered = true,
	.continues = true,
	.units_new = units_new,
	.units_free = units_free,
	.take_info = take_info,
	.pmu_type = pmu_type,
	.time_conv = time_conv,
	.add_units = add_units,
	.who = who,
	.time = time_of,
	.find_sync = find_sync,
	.sync_ticks = sync_ticks,
	.pass_bytes = 1,
	.reader_new = reader_new,
	.reader_free = reader_free,
	.restart = restart,
	.take = take,
};
