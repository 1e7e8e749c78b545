/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_SCRIPT_ARGS_H
#define CLI_SCRIPT_ARGS_H

#include "cli/common/input.h"
#include "cli/itrace.h"
#include "format/script/script_around.h"
#include "format/script/script_json.h"
#include "format/script/script_text.h"

/** One run of clew script: what the command line asked for, and what reads and writes. */
struct script {
	struct cli_input in;
	struct script_text_opts text;
	uint64_t max_stack, max_events;
	bool has_inlines, has_header, is_header_only, is_full_header, is_json, is_dump, has_fields;
	bool has_columns; /* of text alone: fields but who */
	bool is_merging, is_stats, waits_all;
	struct cli_itrace itrace;
	struct analyze *analysis; /* NULL: of a snapshot */
	struct tracepoints *tracepoints;
	bool has_read_tracepoints; /* good or bad: once */
	bool has_form;             /* --call-trace or one like it */
	char around_names[1024];   /* --around; empty: all events */
	uint32_t around_nr;
	struct script_around *around;
	struct script_text *writer; /* one of both */
	struct script_json *json;
	struct clew_diag sink_diag;
};

/** argv is permuted. @return the exit status where the command is to end now, else -1. */
int script_args_parse(struct script *s, int argc, char **argv);

#endif
