/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "format/header/evlist_text.h"
#include "format/script/tracepoint.h"

struct evlist_command {
	struct cli_input in;
	bool is_verbose, has_freq, has_groups, has_trace_fields, is_json;
};

/* A pipe's events come with its first records, and their names with the features behind them. */
static enum clew_err read_header_records(struct perf_file *f, struct clew_diag *diag)
{
	enum clew_err err = CLEW_OK;
	struct perf_record r;

	while (perf_file_is_pipe(f) && err == CLEW_OK)
		err = perf_file_next(f, &r, diag);
	return err == CLEW_END ? CLEW_OK : err;
}

static bool add_trace_fields(void *tracepoints, uint64_t id, struct buf *out)
{
	return tracepoints && tracepoint_add_field_names(tracepoints, id, out);
}

static void print(const struct evlist_command *c, struct perf_file *f)
{
	const struct perf_evlist *l = perf_file_evlist(f);
	struct evlist_text_opts opts = {
		.is_verbose = c->is_verbose,
		.has_freq = c->has_freq,
		.has_groups = c->has_groups,
	};
	struct tracepoints *t = NULL;
	struct buf out = {0};

	if (c->has_trace_fields) {
		t = tracepoints_new(perf_file_features(f)->section[PERF_FEAT_TRACING_DATA]);
		opts.trace_fields = add_trace_fields;
		opts.ctx = t;
	}
	if (c->is_json) {
		evlist_json(&out, l);
		buf_char(&out, '\n');
	} else {
		evlist_text(&out, l, &opts);
		if (evlist_has_tracepoints(l) && !c->has_trace_fields)
			buf_str(&out, "# Tip: use 'clew evlist --trace-fields' to show fields for "
				      "tracepoint events\n");
	}
	tracepoints_free(t);
	fputs(buf_cstr(&out), stdout);
	buf_done(&out);
}

static int run(struct evlist_command *c)
{
	struct clew_diag diag = {0};
	struct perf_file *f = NULL;
	int status = cli_input_open(&c->in);
	enum clew_err err;

	if (status != CLI_OK)
		return status;
	if (perf_file_open(&f, &c->in.input, &diag) != CLEW_OK) {
		cli_input_fail(&c->in, &diag);
		cli_input_done(&c->in);
		return CLI_FAILED;
	}
	err = read_header_records(f, &diag);
	if (err == CLEW_TRUNCATED)
		cli_warn("%s: %s, at offset 0x%llx; everything before it was read", c->in.path,
			 diag.what, (unsigned long long)diag.offset);
	else if (err != CLEW_OK)
		status = cli_input_fail(&c->in, &diag);
	cli_progress_end(); /* what follows goes to standard output */
	print(c, f);
	perf_file_free(f);
	cli_input_done(&c->in);
	return status;
}

int cmd_evlist(int argc, char **argv)
{
	struct evlist_command c = {0};
	/* clang-format off */
	const struct cli_option options[] = {
		{'i', "input", "FILE", "recording to read; - is standard input (default: perf.data)",
		 CLI_STRING, &c.in.path},
		{'f', "force", NULL, NULL, CLI_FLAG, &c.in.is_forced},
		CLI_MAX_MEMORY_OPTION(&c.in),
		{'v', "verbose", NULL, "every field of the events' attributes", CLI_FLAG, &c.is_verbose},
		{'F', "freq", NULL, "sample frequency or period", CLI_FLAG, &c.has_freq},
		{'g', "group", NULL, "groups as {a,b}; names only", CLI_FLAG, &c.has_groups},
		{0, "trace-fields", NULL, "names of the fields of tracepoint events",
		 CLI_FLAG, &c.has_trace_fields},
		{0, "json", NULL, "one JSON object", CLI_FLAG, &c.is_json},
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "evlist",
		.usage = "[-i FILE] [-v | -F | -g | --trace-fields | --json]",
		.summary = "List the events of a recording.",
		.options = options,
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	if (first < argc) {
		cli_error("evlist takes no argument '%s'", argv[first]);
		cli_hint("name the recording with -i %s", argv[first]);
		return CLI_USAGE;
	}
	if (c.has_groups && (c.is_verbose || c.has_freq || c.has_trace_fields)) {
		cli_error("-g prints names only and excludes all other options");
		return CLI_USAGE;
	}
	return run(&c);
}
