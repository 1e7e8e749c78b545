/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/pt_decoder.h"

#include "flow/pt/ipt_flow.h"
#include "flow/pt/ipt_insns.h"

static struct flow *flow_new_of(const void *config, const struct flow_opts *flow,
				bool splits_source_ranges)
{
	const struct ipt_flow_opts opts = {.flow = *flow, .config = config};

	(void)splits_source_ranges;
	return ipt_flow_new(&opts);
}

const struct trace_decoder pt_decoder = {.flow_new = flow_new_of,
					 .insns = &ipt_insns,
					 .arch = CODE_X86};
