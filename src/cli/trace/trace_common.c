/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/message.h"
#include "cli/trace/trace.h"
#include "format/sink_flush.h"

enum clew_err trace_write(struct trace_command *c, struct buf *out)
{
	return sink_flush(&c->sink, out, 0);
}

enum clew_err trace_note_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct trace_command *c = ctx;

	return cli_etm_note_warning(&c->etm.warnings, what, number, offset);
}

struct trace_decode_opts trace_opts_of(struct trace_command *c, bool notes_warnings)
{
	return (struct trace_decode_opts){
		.nr_threads = c->nr_threads > UINT16_MAX ? 0 : (unsigned int)c->nr_threads,
		.splits_source_ranges = c->splits_source_ranges,
		.skips = c->etm.skips,
		.listener = {notes_warnings ? trace_note_warning : NULL, c},
	};
}

void trace_report_operations(const struct trace_command *c)
{
	cli_note("%s: Arm SPE samples operations, and has no ranges and edges of execution",
		 c->etm.in.path);
	cli_hint("'clew script -i %s' shows the operations, 'clew inject' counts branches",
		 c->etm.in.path);
}
