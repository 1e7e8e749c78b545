/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TRACE_TRACE_H
#define CLI_TRACE_TRACE_H

#include "cli/common/pager.h"
#include "cli/trace/etm_input.h"
#include "format/trace/trace_ranges_text.h"
#include "trace/trace_decode.h"

/* Shared by the trace_*.c files: one `clew trace`. */

struct trace_command {
	struct cli_etm etm;
	bool is_ranges, is_digest, is_edges, is_json, splits_source_ranges, wants_who;
	const char *events;
	uint64_t nr_threads, piece_bytes;
	uint32_t wanted_events; /* bit per enum clew_trace_kind */
	struct clew_sink sink;
	struct clew_diag sink_diag;
};

/** Give what @p out holds to standard output, and empty it. */
enum clew_err trace_write(struct trace_command *c, struct buf *out);

/** The options for a decoding, filled in but for batch, unit_end and ctx. Warnings are noted where
 * @p notes_warnings. */
struct trace_decode_opts trace_opts_of(struct trace_command *c, bool notes_warnings);

/** For trace_listener; @p ctx: struct trace_command *. */
enum clew_err trace_note_warning(void *ctx, const char *what, uint64_t number, uint64_t offset);

/** A note that sampled operations are not shown. */
void trace_report_operations(const struct trace_command *c);

enum clew_err trace_print_summary(struct trace_command *c, struct clew_diag *diag);
enum clew_err trace_print_digest(struct trace_command *c, struct clew_diag *diag);
enum clew_err trace_print_edges(struct trace_command *c, struct clew_diag *diag);

/** `clew trace --ranges`, by the public API. @return the exit status. */
int trace_ranges(struct trace_command *c);

#endif
