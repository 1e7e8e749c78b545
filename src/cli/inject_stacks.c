/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/inject_stacks.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/merge_file.h"

static int refuse_plain(const struct cli_input *in)
{
	cli_error("%s: it has no deferred user stacks", in->path);
	cli_hint("every reader of perf.data can read it as it is: nothing was written");
	return CLI_FAILED;
}

static int fail(const struct cli_input *in, const char *to, const struct merge_file *m,
		const struct clew_diag *diag)
{
	if (m->signal) {
		cli_error("%s: interrupted: nothing was written", to);
		return CLI_FAILED;
	}
	if (diag->code == CLEW_INVALID) {
		cli_error("-o %s: not a plain file", to);
		cli_hint("the header of a recording is written last, which a pipe does not allow");
		return CLI_USAGE;
	}
	return diag->code == CLEW_OS ? cli_fail(to, diag) : cli_input_fail(in, diag);
}

static void report(const struct cli_input *in, const char *to, const struct merge_file *m)
{
	const struct stack_merge_counts *c = &m->counts;

	cli_note(
		"%s: %llu of %llu samples have their user stacks now, %llu are without; %llu bytes, "
		"before %llu",
		to, (unsigned long long)c->nr_merged, (unsigned long long)c->nr_samples,
		(unsigned long long)(c->nr_marked - c->nr_merged), (unsigned long long)m->bytes,
		(unsigned long long)m->bytes_before);
	merge_file_report_losses(to, m);
	if (c->end.code == CLEW_TRUNCATED)
		cli_warn("%s: cut off: everything before was written", in->path);
}

static int merge(struct cli_input *in, const char *to)
{
	struct clew_diag diag = {0};
	struct merge_file m;

	if (!in->input.data) {
		cli_error("stacks are merged in files: a pipe cannot be read twice");
		cli_hint("save the recording to a file, and name it with -i FILE");
		return CLI_USAGE;
	}
	diag.code = merge_file_to(&in->input, to, &m, &diag);
	if (diag.code != CLEW_OK)
		return fail(in, to, &m, &diag);
	if (!m.counts.nr_marked && !stack_merge_is_deferred(&in->input)) {
		merge_file_undo(to, &m);
		return refuse_plain(in);
	}
	report(in, to, &m);
	return CLI_OK;
}

int inject_stacks(struct cli_input *in, const char *to)
{
	int status;

	if (!to || !strcmp(to, "-")) {
		cli_error("--merge-stacks writes a recording: name it with -o FILE");
		return CLI_USAGE;
	}
	status = cli_input_open(in);
	if (status != CLI_OK)
		return status;
	status = merge(in, to);
	cli_input_done(in);
	return status;
}
