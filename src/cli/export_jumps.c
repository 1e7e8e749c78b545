/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/export_jumps.h"

#include "cli/code_profile.h"
#include "cli/common/message.h"
#include "profile/code_jumps.h"

struct gathering {
	struct cli_jumps *to;
	const struct counted_binary *of;
	const char *path;
};

static bool take_jump(void *ctx, const struct code_jump *j)
{
	const struct gathering *g = ctx;
	const struct export_jump jump = {.path = g->path,
					 .build_id = g->of->build_id,
					 .from = j->from,
					 .to = j->to,
					 .nr = j->nr,
					 .nr_run = j->nr_run,
					 .is_conditional = j->is_conditional};

	return vec_push(&g->to->all, jump);
}

static bool take_binary(struct cli_jumps *to, const struct counted_binary *b)
{
	uint32_t path = intern_str(&to->paths, b->path);
	struct gathering g = {to, b, NULL};

	if (path == INTERN_FAILED)
		return false;
	g.path = intern_get(&to->paths, path);
	return code_jumps_walk(b, take_jump, &g);
}

int cli_jumps_read(struct cli_jumps *j, struct export_run *r)
{
	const struct ana_opts opts = r->in.opts;
	struct code_profile p = {.in = &r->in,
				 .nr_threads = 1,
				 .no_trace = r->itrace.is_off,
				 .is_of_branches = true,
				 .samples = {.event = r->opts.event}};
	bool ok = true;
	int status;

	if (!r->opts.has_addresses || r->opts.keys || (!r->in.input.data && !r->in.is_snapshot))
		return CLI_OK;
	status = code_profile_read(&p);
	vec_for_each (&p.code.binaries, b)
		ok = ok && take_binary(j, b);
	code_profile_done(&p);
	r->in.opts = opts;
	if (ok || status != CLI_OK)
		return status;
	cli_error("out of memory");
	return CLI_FAILED;
}

void cli_jumps_done(struct cli_jumps *j)
{
	vec_done(&j->all);
	intern_done(&j->paths);
}
