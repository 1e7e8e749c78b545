/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <unistd.h>

#include <clew/session.h>

#include "cli/commands.h"
#include "cli/common/input.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "format/header/evlist_text.h"

struct evlist_command {
	struct cli_input in;
	struct evlist_text_opts text;
	bool is_json;
};

static void print(const struct evlist_command *c, struct clew_session *s)
{
	struct buf out = {0};

	if (c->is_json) {
		evlist_json(&out, s);
		buf_char(&out, '\n');
	} else {
		evlist_text(&out, s, &c->text);
		if (evlist_has_tracepoints(s) && !c->text.has_trace_fields)
			buf_str(&out, "# Tip: use 'clew evlist --trace-fields' to show fields for "
				      "tracepoint events\n");
	}
	fputs(buf_cstr(&out), stdout);
	buf_done(&out);
}

static int open_session(struct evlist_command *c, struct clew_session **ret)
{
	const struct clew_session_opts opts = {
		.size = sizeof(opts),
		.max_memory = c->in.budget.limit,
	};
	struct clew_diag diag = {0};
	enum clew_err err;

	cli_progress_begin("opening", 0);
	cli_input_find(&c->in);
	if (c->in.is_snapshot)
		return cli_input_refuse_snapshot(&c->in);
	if (c->in.is_stdin)
		err = clew_session_open_fd(ret, STDIN_FILENO, &opts, &diag);
	else
		err = clew_session_open(ret, c->in.path, &opts, &diag);
	return err == CLEW_OK ? CLI_OK : cli_input_fail_open(&c->in, &diag);
}

static int print_all(struct evlist_command *c, struct clew_session *s)
{
	struct clew_diag diag = {0};
	enum clew_err err = clew_session_read_events(s, &diag);
	int status = CLI_OK;

	if (err == CLEW_TRUNCATED)
		cli_warn("%s: %s, at offset 0x%llx; everything before it was read", c->in.path,
			 diag.what, (unsigned long long)diag.offset);
	else if (err != CLEW_OK)
		status = cli_input_fail(&c->in, &diag);
	cli_progress_end(); /* what follows goes to standard output */
	print(c, s);
	cli_input_warn_left_out(&c->in, clew_session_summary(s)->left_out);
	return status;
}

static int run(struct evlist_command *c)
{
	struct clew_session *s = NULL;
	int status = open_session(c, &s);

	if (status == CLI_OK)
		status = print_all(c, s);
	cli_progress_end();
	clew_session_free(s);
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
		{'v', "verbose", NULL, "every field of the events' attributes", CLI_FLAG, &c.text.is_verbose},
		{'F', "freq", NULL, "sample frequency or period", CLI_FLAG, &c.text.has_freq},
		{'g', "group", NULL, "groups as {a,b}; names only", CLI_FLAG, &c.text.has_groups},
		{0, "trace-fields", NULL, "names of the fields of tracepoint events",
		 CLI_FLAG, &c.text.has_trace_fields},
		{0, "json", NULL, "one JSON object", CLI_FLAG, &c.is_json},
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "evlist",
		.usage = "[-i FILE] [-v | -F | -g | --trace-fields | --json]",
		.summary = "List the events of a recording.",
		.options = options,
		.examples =
			"  clew evlist -F                  events of perf.data and their frequencies\n"
			"  clew evlist -v -i other.data    every field of their attributes\n",
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	if (first < argc) {
		cli_error("evlist takes no argument '%s'", argv[first]);
		cli_hint("name the recording with -i %s", argv[first]);
		return CLI_USAGE;
	}
	if (c.text.has_groups &&
	    (c.text.is_verbose || c.text.has_freq || c.text.has_trace_fields)) {
		cli_error("-g prints names only and excludes all other options");
		return CLI_USAGE;
	}
	return run(&c);
}
