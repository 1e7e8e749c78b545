/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SPE_OPS_H
#define TRACE_SPE_OPS_H

#include "trace/trace_ops.h"

/* Records of packet/spe as operations of the pipeline. */

struct spe_record;
struct spe_config;

/** The unit that wrote the records. */
struct spe_of_unit {
	const struct spe_config *config;
	uint32_t cpu;
};

/** ana_op.has of what @p x has. */
uint32_t spe_op_has(const struct spe_record *x);

/** @p has: spe_op_has(). */
void spe_set_op(const struct spe_of_unit *u, const struct spe_record *x, uint32_t has,
		struct trace_op *to);

#endif
