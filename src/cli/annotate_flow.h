/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_ANNOTATE_FLOW_H
#define CLI_ANNOTATE_FLOW_H

#include "annotate/annotation.h"
#include "cli/common/input.h"
#include "profile/branch_edges.h"

/** What ran, of the recording's trace, else of its branch stacks: read in a second pass. Zeroed
 * struct = nothing known. */
struct annotate_flow {
	struct counted_code code;
	struct analyze *analysis; /* its binaries are the first one's */
	struct trace_input *trace;
	struct branch_sources sources;
	struct branch_edges_totals stacks;
	enum ann_flow kind;
};

/** @p first: the analysis that was run. A pipe cannot be read again: nothing is known of it.
 * @return CLI_OK, or an exit status after its own message. */
int annotate_flow_read(struct annotate_flow *f, const struct cli_input *in, struct analyze *first,
		       bool has_trace);
/** @return false when memory is short. */
bool annotate_flow_add(const struct annotate_flow *f, struct annotation *a);
void annotate_flow_done(struct annotate_flow *f);

#endif
