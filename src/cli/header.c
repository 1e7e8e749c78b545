/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/common/input.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "format/header/header_text.h"

struct header_command {
	struct cli_input in;
	bool is_full, is_header_only, is_json;
};

static void read_records(struct header_facts *h)
{
	struct perf_record r;

	h->has_records = true;
	while ((h->end = perf_file_next(h->file, &r, &h->diag)) == CLEW_OK)
		cli_progress_at(r.offset);
}

static void print(const struct header_command *c, const struct header_facts *h)
{
	struct buf out = {0};

	if (c->is_json) {
		header_json(&out, h);
		buf_char(&out, '\n');
	} else {
		header_text(&out, h);
		if (!c->is_header_only)
			header_text_records(&out, h);
	}
	fputs(buf_cstr(&out), stdout);
	buf_done(&out);
}

/* A truncated file is a warning, as all whole records were read; a damaged one is an error. */
static int report_end(const struct header_command *c, const struct header_facts *h)
{
	if (h->end == CLEW_OK || h->end == CLEW_END)
		return CLI_OK;
	if (h->end != CLEW_TRUNCATED)
		return cli_input_fail(&c->in, &h->diag);
	cli_warn("%s: %s, at offset 0x%llx; everything before it was read", c->in.path,
		 h->diag.what, (unsigned long long)h->diag.offset);
	return CLI_OK;
}

static int run(struct header_command *c)
{
	struct header_facts h = {.is_full = c->is_full};
	int status = cli_input_open(&c->in);
	char time_text[64];

	if (status != CLI_OK)
		return status;
	if (perf_file_open(&h.file, &c->in.input, &h.diag) != CLEW_OK) {
		cli_input_fail(&c->in, &h.diag);
		cli_input_done(&c->in);
		return CLI_FAILED;
	}
	h.captured_on = cli_input_date(&c->in, time_text, sizeof(time_text));
	cli_progress_begin("reading", c->in.input.size);
	if (!c->is_header_only || perf_file_is_pipe(h.file))
		read_records(&h);
	cli_progress_end(); /* what follows goes to standard output */
	print(c, &h);
	status = report_end(c, &h);
	perf_file_free(h.file);
	cli_input_done(&c->in);
	return status;
}

int cmd_header(int argc, char **argv)
{
	struct header_command c = {0};
	/* clang-format off */
	const struct cli_option options[] = {
		{'i', "input", "FILE", "recording to read; - is standard input (default: perf.data)",
		 CLI_STRING, &c.in.path},
		{'f', "force", NULL, NULL, CLI_FLAG, &c.in.is_forced},
		CLI_MAX_MEMORY_OPTION(&c.in),
		{'I', "full", NULL, "CPU topology, caches and memory in full", CLI_FLAG, &c.is_full},
		{0, "header-only", NULL, "do not read the records: only machine, events, "
					 "namespaces, guests",
		 CLI_FLAG, &c.is_header_only},
		{0, "json", NULL, "one JSON object", CLI_FLAG, &c.is_json},
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "header",
		.usage = "[-i FILE] [-I] [--header-only] [--json]",
		.summary = "Show where, when and how a recording was made, and whether it is "
			   "complete.",
		.options = options,
		.examples = "  clew header                       of perf.data\n"
			    "  clew header -I -i other.data      with the machine in full\n"
			    "  clew header --json | jq .cpudesc     for other programs\n",
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	if (first < argc) {
		cli_error("header takes no argument '%s'", argv[first]);
		cli_hint("name the recording with -i %s", argv[first]);
		return CLI_USAGE;
	}
	return run(&c);
}
