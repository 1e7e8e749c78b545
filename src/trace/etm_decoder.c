/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/etm_decoder.h"

#include "flow/etm/etm_flow.h"
#include "flow/etm/etm_insns.h"

static struct flow *flow_new_of(const void *config, const struct flow_opts *flow,
				bool splits_source_ranges)
{
	const struct etm_flow_opts opts = {
		.flow = *flow, .config = config, .splits_source_ranges = splits_source_ranges};

	return etm_flow_new(&opts);
}

const struct trace_decoder etm_decoder = {.flow_new = flow_new_of, .insns = &etm_insns};
