/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "packet/etm/etm_packet.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/units_etm.h"

/*
 * Does the trace have ids of threads? Metadata says only what the recorder asked for: outside the
 * initial PID namespace the driver omits ids without an error. The first context of each unit shows
 * whether they are there.
 */

enum { MAX_LOOK = 64 << 20 }; /* bytes of units that show none yet */

struct look {
	struct units_etm *units;
	uint32_t first; /* unit of the input that is units[0] */
	struct etm_packets *packets;
	bool *is_known;
	size_t nr_unknown;
	uint64_t nr_bytes;
};

static bool has_ids(const struct units_etm *u, uint32_t unit, const struct etm_context *c)
{
	return u->formats[unit] == ETM_PID_CID2 ? c->has_vmid : c->has_cid;
}

static enum clew_err take_bytes(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	struct look *l = ctx;
	uint32_t own = (uint32_t)unit - l->first;
	struct etm_packet k;

	(void)offset;
	l->nr_bytes += bytes_left(&in);
	while (!l->is_known[own] && !etm_packets_next(&l->packets[own], &in, &k)) {
		if (!k.context.has_payload)
			continue;
		l->is_known[own] = true;
		l->units->lacks_ids[own] = !has_ids(l->units, own, &k.context);
		l->nr_unknown--;
	}
	return l->nr_unknown && l->nr_bytes < MAX_LOOK ? CLEW_OK : CLEW_END;
}

static enum clew_err restart(void *ctx, size_t unit, uint64_t offset)
{
	struct look *l = ctx;

	etm_packets_reset(&l->packets[unit - l->first], offset);
	return CLEW_OK;
}

static void begin(struct look *l, const struct perf_trace *p, bool *skips)
{
	for (uint32_t i = 0; i < p->units.nr; i++)
		skips[i] = true;
	for (uint32_t i = 0; i < l->units->meta.cpus.nr; i++) {
		l->units->lacks_ids[i] = l->units->formats[i] == ETM_PID_NONE;
		l->is_known[i] =
			l->units->lacks_ids[i] || !p->units.data[l->first + i].is_decodable;
		l->nr_unknown += !l->is_known[i];
		skips[l->first + i] = l->is_known[i];
		etm_packets_init(&l->packets[i], &l->units->configs[i]);
	}
}

bool etm_find_ids(void *units, struct perf_trace *p, uint32_t first)
{
	struct units_etm *u = units;
	size_t nr = u->meta.cpus.nr;
	struct look l = {.units = u,
			 .first = first,
			 .packets = mem_calloc(nr + 1, sizeof(*l.packets)),
			 .is_known = mem_calloc(nr + 1, sizeof(*l.is_known))};
	bool *skips = mem_calloc(p->units.nr + 1, sizeof(*skips));
	const struct trace_sink sink = {
		.bytes = take_bytes, .restart = restart, .skips = skips, .ctx = &l};
	bool is_ok = l.packets && l.is_known && skips;
	enum clew_err err = CLEW_OK;

	if (is_ok)
		begin(&l, p, skips);
	if (is_ok && l.nr_unknown)
		err = aux_streams_run(&p->trace, &sink, NULL);
	mem_free(l.packets);
	mem_free(l.is_known);
	mem_free(skips);
	return is_ok && err != CLEW_NO_MEMORY;
}
