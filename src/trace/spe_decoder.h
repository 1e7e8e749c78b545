/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SPE_DECODER_H
#define TRACE_SPE_DECODER_H

#include "trace/trace_ops.h"

/** trace_unit.config of SPE: the core that wrote the records. */
struct spe_config {
	uint32_t midr;         /* MIDR_EL1; with has_midr */
	uint64_t event_filter; /* which events the core reports: PMSEVFR's bits; 0: unknown */
	bool has_midr;
	const char *why_unnamed; /* why data sources have no names; NULL: they have */
};

extern const struct trace_decoder spe_decoder;

/** NULL: the unit is of another protocol. */
static inline const struct spe_config *spe_config_of(const struct trace_unit *u)
{
	return u->decoder == &spe_decoder ? u->config : NULL;
}

/** Does the core give data sources a known meaning? */
bool spe_names_sources(const struct spe_config *c);

/**
 * Fill in op->data_src and op->source_name of what else @p op says. Level, snoop and TLB are as
 * perf 7 derives them, except that a missing data source is not an L1 hit.
 */
void spe_set_data_src(const struct spe_config *c, struct ana_op *op);

#endif
